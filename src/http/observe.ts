/** What happens around every request: its id, the protocol's version, one log line, one count; and errors become problems. */
import type { Context, MiddlewareHandler } from 'hono';
import { randomId } from '../base/clock.ts';
import type { Clock } from '../base/clock.ts';
import { LedgerlineError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import { readTraceparent, traceIdOf } from '../event/trace.ts';
import type { App, AppContext, AppEnvironment } from './context.ts';
import { problem, told } from './problem.ts';

export const PROTOCOL_HEADER = 'Ledgerline-Protocol';
export const PROTOCOL_VERSION = '1';

const everyAnswer: Readonly<Record<string, string>> = {
  [PROTOCOL_HEADER]: PROTOCOL_VERSION,
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
};

export interface Observer {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
  /** A draining server sends its kept connections elsewhere. */
  readonly isDraining: () => boolean;
}

export function observe(app: App, observer: Observer): void {
  app.use('*', around(observer));
  const refuse = (error: LedgerlineError, c: AppContext): Response => {
    observer.metrics.refusals.inc({ code: error.code });
    logFault(observer.log, error, c);
    return answerProblem(c, error);
  };
  app.notFound((c) => refuse(new LedgerlineError('not_found', 'there is no such route'), c));
  app.onError((thrown, c) => refuse(told(thrown), c));
}

/** A fault of ours is logged with what it was; its caller learns the request's id alone. */
export function logFault(log: Log, error: LedgerlineError, c: AppContext): void {
  if (problem(error).status !== 500) return;
  log.error({ err: error.cause ?? error, requestId: c.get('requestId'), route: c.get('route') }, 'a request failed');
}

function answerProblem(c: Context<AppEnvironment>, error: LedgerlineError): Response {
  const { status, headers, body } = problem(error, c.get('requestId'));
  return c.body(body, status, headers);
}

function around({ log, metrics, clock, isDraining }: Observer): MiddlewareHandler<AppEnvironment> {
  return async (c, next) => {
    const startedAt = clock.now();
    c.set('requestId', randomId());
    c.set('route', 'none');
    const traceparent = readTraceparent(c.req.header('traceparent'));
    c.set('traceparent', traceparent);
    c.set('traceId', traceparent && traceIdOf(traceparent));
    const isLeaving = isDraining() && c.env.incoming.httpVersionMajor === 1;
    const headers = isLeaving ? { ...everyAnswer, Connection: 'close' } : everyAnswer;
    c.set('headers', headers);
    for (const [name, value] of Object.entries(headers)) c.header(name, value);
    await next();
    const route = c.get('route');
    const status = c.get('status') ?? c.res.status;
    metrics.requests.inc({ route, status: String(status) });
    log[quiet.has(route) ? 'debug' : 'info'](
      {
        requestId: c.get('requestId'),
        method: c.req.method,
        route,
        status,
        ms: Math.round((clock.now() - startedAt) * 100) / 100,
        session: c.get('session'),
        traceId: c.get('traceId'),
        ...c.get('facts'),
      },
      'request',
    );
  };
}

/** Asked every few seconds by machines. */
const quiet: ReadonlySet<string> = new Set([
  '/healthz',
  '/readyz',
  '/metrics',
  '/internal/turns/claim',
  '/internal/turns/renew',
]);
