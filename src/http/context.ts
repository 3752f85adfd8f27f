/** What a request carries on its way through the routes. */
import type { Http2Bindings, HttpBindings } from '@hono/node-server';
import type { Context, Hono } from 'hono';

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
    /** Of an answer that was written to the socket past Hono. */
    status: number | undefined;
  };
}

export type App = Hono<AppEnvironment>;
export type AppContext = Context<AppEnvironment>;
export type Handler = (c: AppContext) => Response | Promise<Response>;
