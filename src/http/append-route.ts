/** POST /internal/sessions/:session/events: the one way into the ledger. */
import type { ServerResponse } from 'node:http';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { parseAppendBody } from '../event/append-body.ts';
import { appendRefusal } from './append-outcome.ts';
import { isNdjson } from './body.ts';
import type { ReadJsonBody } from './body.ts';
import type { AppContext } from './context.ts';
import type { SessionHandler } from './door.ts';
import { ndjsonRoute } from './ndjson-route.ts';
import type { NdjsonOptions } from './ndjson-route.ts';

/** One append a request, or one request of lines for as long as its producer lives. */
export function appendRoute(options: NdjsonOptions, readJsonBody: ReadJsonBody): SessionHandler {
  const { sessions } = options;
  const readLines = ndjsonRoute(options);
  return async (c, visit) => {
    const { session } = visit;
    if (isNdjson(c)) return readLines(c, visit);
    const body = parseAppendBody(await readJsonBody(c, 'appendBodyBytes'));
    const outcome = await sessions.append({ session, ...body });
    if (outcome.kind !== 'appended') throw appendRefusal(outcome);
    return created(c, { first: outcome.first, last: outcome.last });
  };
}

/**
 * Straight to Node's response: as a `Response`, whose body becomes a web stream and is read from it again, the same few
 * bytes cost a third of the CPU that the whole request does [bench].
 */
function created(c: AppContext, range: { first: number; last: number }): Response {
  const text = JSON.stringify(range);
  const headers = { ...c.get('headers'), 'Content-Type': 'application/json', 'Content-Length': String(text.length) };
  const outgoing = c.env.outgoing as ServerResponse;
  outgoing.writeHead(201, headers);
  outgoing.end(text);
  c.set('status', 201);
  return RESPONSE_ALREADY_SENT;
}
