/** A request of lines to a gateway, as a long-lived producer keeps one open: written to and read from at the same time. */
import { request } from 'node:http';
import type { ClientRequest, IncomingHttpHeaders } from 'node:http';
import type { Place } from './gateway-calls.ts';
import { eventually } from './waits.ts';

export interface NdjsonCall {
  readonly request: ClientRequest;
  /** Resolves with the status. */
  readonly opened: Promise<number>;
  headers(): IncomingHttpHeaders;
  /** What came back so far, blank lines left out. */
  lines(): Record<string, unknown>[];
  /** All bytes, blank lines included. */
  text(): string;
  write(text: string | Buffer): boolean;
  /** Waits until the last line fits. */
  said(what: Record<string, unknown>): Promise<unknown>;
  /** Ends the request and resolves when the answer has ended. */
  end(): Promise<void>;
  readonly isOver: boolean;
}

export function openNdjson(place: Place, session: string, query: string, headers: object = {}): NdjsonCall {
  const url = new URL(`/internal/sessions/${session}/events?${query}`, place.internalUrl);
  let text = '';
  let isOver = false;
  let answered: IncomingHttpHeaders = {};
  const outgoing = request(url, {
    method: 'POST',
    agent: false,
    headers: { authorization: `Bearer ${place.key}`, 'content-type': 'application/x-ndjson', ...headers },
  });
  outgoing.setNoDelay(true);
  const closed = new Promise<void>((resolve) => {
    outgoing.once('close', () => {
      isOver = true;
      resolve();
    });
  });
  const opened = new Promise<number>((resolve, reject) => {
    outgoing.once('error', reject);
    outgoing.once('response', (response) => {
      answered = response.headers;
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('error', () => undefined); // a cut is what some tests are for
      resolve(response.statusCode ?? 0);
    });
  });
  opened.catch(() => undefined);
  outgoing.flushHeaders();
  const lines = () =>
    text
      .split('\n')
      .slice(0, -1)
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  return {
    request: outgoing,
    opened,
    headers: () => answered,
    lines,
    text: () => text,
    write: (bytes) => outgoing.write(bytes),
    said: (what) =>
      eventually(`the answer says ${JSON.stringify(what)}`, () => {
        const last = lines().at(-1) ?? {};
        return Object.entries(what).every(([name, value]) => last[name] === value);
      }),
    end() {
      outgoing.end();
      return closed;
    },
    get isOver() {
      return isOver;
    },
  };
}

/** A line of the request. */
export const line = (data: string, type = 'text.delta'): string => `{"type":"${type}","data":${data}}\n`;
