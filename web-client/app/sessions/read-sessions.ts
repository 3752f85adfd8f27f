/** The sessions that this browser's token may see, the one with the latest activity first. */
import { listSessions } from '../../src/session-list.ts';
import type { ListedSession } from '../../src/session-list.ts';
import { tokenOrNothing } from '../access/token.ts';

export interface SessionList {
  readonly sessions: readonly ListedSession[];
  readonly hasMore: boolean;
}

const MOST_A_PAGE = 200;

/** So many of them, in as few pages as it takes. Rejects with a `FollowError`. */
export async function readSessions(count: number, signal: AbortSignal): Promise<SessionList> {
  const found = new Map<string, ListedSession>();
  let after: string | null | undefined;
  let isGrowing = true;
  while (isGrowing && found.size < count && after !== null) {
    const before = found.size;
    const limit = Math.min(count - found.size, MOST_A_PAGE);
    const page = await listSessions({ url: '', token: tokenOrNothing, limit, after, signal });
    // One that was active between two pages is on both of them: its first place is the right one.
    for (const listed of page.sessions) if (!found.has(listed.session)) found.set(listed.session, listed);
    after = page.next;
    isGrowing = found.size > before;
  }
  return { sessions: [...found.values()], hasMore: typeof after === 'string' };
}
