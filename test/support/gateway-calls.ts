/** What tests ask of a gateway over HTTP, each request on a connection of its own, so that a killed server leaves none behind. */
import { request } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';

/** Where a gateway is, and the key of its internal side. */
export interface Place {
  readonly internalUrl: string;
  readonly key: string;
}

export interface CallAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** A request without an answer after this long is a hang, which no test accepts. */
const HANG_MS = 60_000;

/** By the internal key, unless the headers say otherwise. Rejects when the connection is lost. */
export function call(
  place: Place,
  method: string,
  path: string,
  body?: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<CallAnswer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      new URL(path, place.internalUrl),
      {
        method,
        agent: false,
        timeout: HANG_MS,
        headers: { authorization: `Bearer ${place.key}`, 'content-type': 'application/json', ...headers },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
        });
      },
    );
    outgoing.on('timeout', () => outgoing.destroy(new Error(`no answer to ${method} ${path} in ${HANG_MS} ms`)));
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

export const createSession = (place: Place, session: string): Promise<CallAnswer> =>
  call(place, 'POST', '/sessions', JSON.stringify({ session }));

export const closeSession = (place: Place, session: string): Promise<CallAnswer> =>
  call(place, 'POST', `/sessions/${session}/close`);

export const deleteSession = (place: Place, session: string): Promise<CallAnswer> =>
  call(place, 'DELETE', `/sessions/${session}`);

/** Each payload is JSON text. */
export function append(place: Place, session: string, ...payloads: readonly string[]): Promise<CallAnswer> {
  const events = payloads.map((data) => `{"type":"text.delta","data":${data}}`);
  return call(place, 'POST', `/internal/sessions/${session}/events`, `{"events":[${events.join(',')}]}`);
}

/** The code of a problem document. */
export function codeOf(answer: CallAnswer): string | undefined {
  const { type } = JSON.parse(answer.text) as { type?: string };
  return type?.replace('urn:ledgerline:problem:', '');
}

/** The sum of a metric's samples whose labels hold all the given words. */
export async function metric(place: Place, name: string, ...labels: readonly string[]): Promise<number> {
  const { text } = await call(place, 'GET', '/metrics');
  const samples = text
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .filter((line) => labels.every((label) => line.includes(label)));
  return samples.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}

export const residentBytes = (place: Place): Promise<number> =>
  metric(place, 'ledgerline_process_resident_memory_bytes');
