/** What a request carries on its way through the routes. */
import type { Http2Bindings, HttpBindings } from '@hono/node-server';
import type { Context, Hono } from 'hono';
import type { Traceparent } from '../event/trace.ts';

/** The same headers twice: by name, and name and value in turn, as Node takes them with the least work [bench]. */
export interface AnswerHeaders {
  readonly byName: Readonly<Record<string, string>>;
  readonly inARow: readonly string[];
}

/** What is noted of a request for its answer and for its line in the log. */
export interface Notes {
  /** Names this request in the log and in an `internal` problem. */
  readonly requestId: string;
  /** The pattern, never the path: a closed set of labels. */
  route: string;
  session: string | undefined;
  /** What every answer of this request carries. */
  readonly headers: AnswerHeaders;
  /** What the caller says of the trace that this belongs to, and its id for the log. */
  readonly traceparent: Traceparent | undefined;
  readonly traceId: string | undefined;
  /** What this request's line in the log also tells: sequences and ids, never a payload. */
  facts: Readonly<Record<string, string | number | undefined>> | undefined;
  /** Of an answer that was written to the socket past Hono. */
  status: number | undefined;
}

export interface AppEnvironment {
  Bindings: HttpBindings | Http2Bindings;
  /** One object: a variable of Hono is a look-up in a map, which grows with each. */
  Variables: { notes: Notes };
}

export type App = Hono<AppEnvironment>;
export type AppContext = Context<AppEnvironment>;
/**
 * A header of the request, by its name in small letters, for what is asked of every request: out of what Node has read anyway.
 * Hono's own look-up checks the name and the value by patterns each time [bench]. Several of one name are joined, by either.
 */
export function headerOf(c: AppContext, name: string): string | undefined {
  const value = c.env.incoming.headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

export type Handler = (c: AppContext) => Response | Promise<Response>;
