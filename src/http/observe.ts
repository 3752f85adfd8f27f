/** What happens around every request: its id, the protocol's version, one log line, one count; and errors become problems. */
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { assert } from '../base/assert.ts';
import { randomId } from '../base/clock.ts';
import type { Clock } from '../base/clock.ts';
import { LedgerlineError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import { readTraceparent, traceIdOf } from '../event/trace.ts';
import { headerOf } from './context.ts';
import type { AnswerHeaders, App, AppContext, Handler, Notes } from './context.ts';
import { problem, told } from './problem.ts';

export const PROTOCOL_HEADER = 'Ledgerline-Protocol';
export const PROTOCOL_VERSION = '1';

const answerHeaders = (byName: Readonly<Record<string, string>>): AnswerHeaders => ({
  byName,
  inARow: Object.entries(byName).flat(),
});

const everyAnswer = answerHeaders({
  [PROTOCOL_HEADER]: PROTOCOL_VERSION,
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
});
const lastAnswer = answerHeaders({ ...everyAnswer.byName, Connection: 'close' });

export interface Observer {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
  /** A draining server sends its kept connections elsewhere. */
  readonly isDraining: () => boolean;
}

/** Comes before every route of an app; an answer of its own ends the request there. */
export type Before = (c: AppContext) => Response | undefined;

type Around = (route: string, handler: Handler) => Handler;

const arounds = new WeakMap<App, Around>();

/** From now on whatever is mounted on the app is observed. */
export function observe(app: App, observer: Observer, before?: Before): void {
  const refuse = (thrown: unknown, c: AppContext): Response => {
    const error = told(thrown);
    observer.metrics.refusals.inc({ code: error.code });
    logFault(observer.log, error, c);
    return answerProblem(c, error);
  };
  const around = surround(observer, refuse, before);
  arounds.set(app, around);
  app.notFound(around('none', notFound));
  // What fails beside a handler has no answer here: the listener logs it, and answers.
  app.onError((thrown) => {
    throw thrown;
  });
}

/**
 * A handler with all that happens around every request of its app. Not a middleware of Hono's: a route of one handler takes
 * a shorter way through Hono, where nothing is composed and nothing awaited [bench].
 */
export function observed(app: App, route: string, handler: Handler): Handler {
  const around = arounds.get(app);
  assert(around !== undefined, 'an app is observed before anything is mounted on it');
  return around(route, handler);
}

const notFound: Handler = () => {
  throw new LedgerlineError('not_found', 'there is no such route');
};

/** A fault of ours is logged with what it was; its caller learns the request's id alone. */
export function logFault(log: Log, error: LedgerlineError, c: AppContext): void {
  if (problem(error).status !== 500) return;
  const notes = c.get('notes');
  log.error({ err: error.cause ?? error, requestId: notes.requestId, route: notes.route }, 'a request failed');
}

function answerProblem(c: AppContext, error: LedgerlineError): Response {
  const { status, headers, body } = problem(error, c.get('notes').requestId);
  return c.body(body, status, headers);
}

type Refuse = (thrown: unknown, c: AppContext) => Response;

function surround(observer: Observer, refuse: Refuse, before: Before | undefined): Around {
  const { clock } = observer;
  return (route, handler) => (c) => {
    const startedMs = clock.now();
    const notes = begin(observer, c, route);
    const end = (answer: Response): Response => {
      finish(observer, c, notes, answer, startedMs);
      return answer;
    };
    try {
      const answer = before?.(c) ?? handler(c);
      return answer instanceof Promise ? answer.then(end, (thrown: unknown) => end(refuse(thrown, c))) : end(answer);
    } catch (thrown) {
      return end(refuse(thrown, c));
    }
  };
}

function begin({ isDraining }: Observer, c: AppContext, route: string): Notes {
  const traceparent = readTraceparent(headerOf(c, 'traceparent'));
  const isLeaving = isDraining() && c.env.incoming.httpVersionMajor === 1;
  const notes: Notes = {
    requestId: randomId(),
    route,
    session: undefined,
    headers: isLeaving ? lastAnswer : everyAnswer,
    traceparent,
    traceId: traceparent && traceIdOf(traceparent),
    facts: undefined,
    status: undefined,
  };
  c.set('notes', notes);
  return notes;
}

function finish({ log, metrics, clock }: Observer, c: AppContext, notes: Notes, answer: Response, startedMs: number) {
  if (answer !== RESPONSE_ALREADY_SENT) complete(answer.headers, notes.headers.byName);
  const { requestId, route, session, traceId, facts, status = answer.status } = notes;
  metrics.requests.count(route, String(status));
  const level = quiet.has(route) ? 'debug' : 'info';
  if (!log.isLevelEnabled(level)) return;
  const ms = Math.round((clock.now() - startedMs) * 100) / 100;
  log[level]({ requestId, method: c.req.method, route, status, ms, session, traceId, ...facts }, 'request');
}

/** What a route says of its answer goes before what every answer says. */
function complete(headers: Headers, added: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(added)) if (!headers.has(name)) headers.set(name, value);
}

/** Asked every few seconds by machines. */
const quiet: ReadonlySet<string> = new Set([
  '/healthz',
  '/readyz',
  '/metrics',
  '/internal/turns/claim',
  '/internal/turns/renew',
]);
