/** What a request carries on its way through the routes. */
import type { Http2Bindings, HttpBindings } from '@hono/node-server';
import type { Context, Hono } from 'hono';
import type { Traceparent } from '../event/trace.ts';

export interface AppEnvironment {
  Bindings: HttpBindings | Http2Bindings;
  Variables: {
    /** Names this request in the log and in an `internal` problem. */
    requestId: string;
    /** The pattern, never the path: a closed set of labels. */
    route: string;
    session: string;
    /** What every answer of this request carries. */
    headers: Readonly<Record<string, string>>;
    /** What the caller says of the trace that this belongs to, and its id for the log. */
    traceparent: Traceparent | undefined;
    traceId: string | undefined;
    /** What this request's line in the log also tells: sequences and ids, never a payload. */
    facts: Readonly<Record<string, string | number | undefined>> | undefined;
    /** Of an answer that was written to the socket past Hono. */
    status: number | undefined;
  };
}

export type App = Hono<AppEnvironment>;
export type AppContext = Context<AppEnvironment>;
export type Handler = (c: AppContext) => Response | Promise<Response>;
