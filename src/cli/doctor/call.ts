/** One request of the doctor's and its whole answer, each on a connection of its own, as a new reader has one. */
import { request as requestHttp } from 'node:http';
import type { ClientRequest, IncomingHttpHeaders } from 'node:http';
import { request as requestHttps } from 'node:https';
import { toError } from '../../base/errors.ts';
import type { Clock } from '../../base/clock.ts';
import type { DoctorLimits } from '../../base/doctor-limits.ts';
import { inWords } from './finding.ts';

/** What every look at a deployment needs. */
export interface Wire {
  readonly clock: Clock;
  readonly stop: AbortSignal;
  readonly times: DoctorLimits;
}

export interface Question {
  /** Of a listener, with the path in front of its routes if a proxy has one; without a final slash. */
  readonly url: string;
  readonly path: string;
  readonly method?: 'GET' | 'POST' | 'DELETE' | 'OPTIONS';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
}

export interface Answer {
  readonly kind: 'answer';
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly tookMs: number;
  /** By this machine's clock, half way between the request and its answer. */
  readonly wallMs: number;
}

export type Outcome = Answer | { readonly kind: 'none'; readonly why: string };

export const bearer = (credential: string): Record<string, string> => ({ authorization: `Bearer ${credential}` });

/** Not `fetch`: it hides what a proxy did to the body, and whether the headers came before it. */
export function send({ url, path, method = 'GET', headers = {}, body }: Question): ClientRequest {
  const address = new URL(url + path);
  const text = body === undefined ? undefined : JSON.stringify(body);
  const described =
    text === undefined ? {} : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) };
  const make = address.protocol === 'https:' ? requestHttps : requestHttp;
  const outgoing = make(address, { method, agent: false, headers: { ...described, ...headers } });
  outgoing.end(text);
  return outgoing;
}

/** Never rejects: that there is no answer is what a diagnosis is about. */
export function ask({ clock, stop, times }: Wire, question: Question): Promise<Outcome> {
  return new Promise((resolve) => {
    if (stop.aborted) return resolve({ kind: 'none', why: 'interrupted' });
    const askedMs = clock.now();
    const askedWallMs = clock.wall();
    const outgoing = send(question);
    const settle = (outcome: Outcome): void => {
      timer.cancel();
      stop.removeEventListener('abort', hangUp);
      outgoing.destroy();
      resolve(outcome);
    };
    const none = (why: string): void => settle({ kind: 'none', why });
    const failed = (error: Error): void => none(reasonOf(error));
    const hangUp = (): void => none('interrupted');
    const timer = clock.after(times.answerMs, () => none(`no answer within ${inWords(times.answerMs)}`));
    stop.addEventListener('abort', hangUp, { once: true });
    outgoing.on('error', failed);
    outgoing.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (piece: string) => (text += text.length < times.answerLength ? piece : ''));
      response.on('error', failed);
      response.on('end', () => {
        const tookMs = clock.now() - askedMs;
        const wallMs = askedWallMs + tookMs / 2;
        settle({ kind: 'answer', status: response.statusCode ?? 0, headers: response.headers, text, tookMs, wallMs });
      });
    });
  });
}

/** Of a connection's failure; addresses and credentials are not in it. */
export function reasonOf(thrown: unknown): string {
  const { code, message } = toError(thrown) as NodeJS.ErrnoException;
  return code ?? message;
}

/** The code of a problem that Ledgerline answered with; undefined for whatever somebody else said. */
export function problemOf(outcome: Outcome): { readonly code: string; readonly detail: string } | undefined {
  if (outcome.kind === 'none' || !outcome.text.includes('urn:ledgerline:problem:')) return undefined;
  const [, code = ''] = /"type":"urn:ledgerline:problem:([a-z_]+)"/.exec(outcome.text) ?? [];
  const [, detail = ''] = /"detail":"((?:[^"\\]|\\.)*)"/.exec(outcome.text) ?? [];
  return { code, detail };
}

/** It was said by a gateway, and not by something in front of it. */
export const isLedgerline = (outcome: Outcome): outcome is Answer =>
  outcome.kind === 'answer' &&
  (outcome.headers['ledgerline-protocol'] !== undefined || problemOf(outcome) !== undefined);

/** For a finding's line. */
export function said(outcome: Outcome): string {
  if (outcome.kind === 'none') return `no answer (${outcome.why})`;
  const code = problemOf(outcome)?.code;
  return code === undefined ? `${outcome.status}, not by Ledgerline` : `${outcome.status} ${code}`;
}
