/** What the request for a stream says: from where, and whether it can bear a status other than 200 (pure). */
import { parseCursor, parseQueryCursor } from '../event/cursor.ts';
import type { RequestedCursor } from '../event/cursor.ts';

export interface StreamRequest {
  readonly requested: RequestedCursor;
  /** The client was here before: browsers and the common libraries send the header on a reconnect only. */
  readonly isReconnect: boolean;
  /** `Prefer: handling=strict` [spec: RFC 7240, 4.4]: real status codes, please. A browser's EventSource ends for ever on them. */
  readonly isStrict: boolean;
}

/** The names under which clients put the cursor into the URL. */
const queryNames = ['after', 'lastEventId', 'last_event_id'];

/** The header wins: a browser's reconnect repeats the URL it was opened with, whose cursor is old by then. */
export function readStreamRequest(
  header: (name: string) => string | undefined,
  query: (name: string) => readonly string[],
): StreamRequest {
  const lastEventId = header('last-event-id') ?? '';
  const isReconnect = lastEventId !== '';
  return {
    requested: isReconnect ? parseCursor(lastEventId) : queryCursor(queryNames.flatMap(query)),
    isReconnect,
    isStrict: isStrict(header('prefer')),
  };
}

function queryCursor(values: readonly string[]): RequestedCursor {
  const given = values.filter((value) => value !== '');
  return given.length > 1 ? { kind: 'malformed' } : parseQueryCursor(given[0]);
}

const isStrict = (prefer: string | undefined): boolean =>
  /(?:^|,) *handling *= *(?:strict|"strict") *(?:;[^,]*)?(?:$|,)/i.test(prefer ?? '');
