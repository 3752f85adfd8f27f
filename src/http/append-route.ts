/** POST /internal/sessions/:session/events: the one way into the ledger. */
import type { ServerResponse } from 'node:http';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { parseAppendBody } from '../event/append-body.ts';
import { traced } from '../event/trace.ts';
import type { Sessions } from '../session/sessions.ts';
import { appendRefusal } from './append-outcome.ts';
import { isNdjson } from './body.ts';
import type { ReadJsonBody } from './body.ts';
import type { AppContext, Notes } from './context.ts';
import type { SessionHandler } from './door.ts';

export interface AppendRouteOptions {
  readonly sessions: Pick<Sessions, 'append'>;
  readonly readJsonBody: ReadJsonBody;
  /** For a request of lines. */
  readonly readLines: SessionHandler;
}

/** One append a request, or one request of lines for as long as its producer lives. */
export function appendRoute({ sessions, readJsonBody, readLines }: AppendRouteOptions): SessionHandler {
  return async (c, visit) => {
    const { session } = visit;
    if (isNdjson(c)) return readLines(c, visit);
    const body = parseAppendBody(await readJsonBody(c, 'appendBodyBytes'));
    const notes = c.get('notes');
    const events = traced(body.events, notes.traceparent);
    const outcome = await sessions.append({ session, ...body, events });
    if (outcome.kind !== 'appended') throw appendRefusal(outcome);
    const { first, last, transaction } = outcome;
    notes.facts = { first, last, transaction };
    return created(c, notes, `{"first":${first},"last":${last}}`);
  };
}

/**
 * Straight to Node's response: as a `Response`, whose body becomes a web stream and is read from it again, the same few
 * bytes cost a third of the CPU that the whole request does [bench].
 */
function created(c: AppContext, notes: Notes, text: string): Response {
  const outgoing = c.env.outgoing as ServerResponse;
  const length = String(text.length);
  outgoing.writeHead(201, [...notes.headers.inARow, 'Content-Type', 'application/json', 'Content-Length', length]);
  // What is given to `end` goes out with an empty piece behind it, as a list: in the system and before it costs more than one
  // piece does [bench].
  outgoing.socket?.cork();
  outgoing.write(text, 'latin1');
  outgoing.socket?.uncork();
  outgoing.end();
  notes.status = 201;
  return RESPONSE_ALREADY_SENT;
}
