/** Reads of a session's history what a chat has yet to show: all after a cursor, or what is being written at the end. */
import { createChatLog } from './chat-log.ts';
import type { ChatLog } from './chat-log.ts';
import type { Clock } from './clock.ts';
import { FollowError } from './follow-error.ts';
import type { SessionEvent } from './session-event.ts';
import type { HistoryPage, HistoryRange, SessionServer } from './session-server.ts';
import { untilServed } from './until-served.ts';

export interface ChatHistory {
  /** Everything up to here is on the screen, or needs not be. */
  readonly cursor: number;
  /** What came after it, up to `last`. */
  readonly log: ChatLog;
  readonly last: number;
}

const PAGE = 1_000;

/** There is no such session, not yet or no longer. */
export const isAbsent = (error: unknown): boolean =>
  error instanceof FollowError && (error.problem === 'session_unknown' || error.problem === 'session_deleted');

/** Everything after the cursor; undefined when the session never had it, as after a restore from a backup. */
export async function readOn(
  server: SessionServer,
  cursor: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<ChatHistory | undefined> {
  const log = createChatLog();
  for (let last = cursor; ;) {
    const page = await pageOf(server, { after: last }, clock, signal);
    if (page.head < cursor) return undefined;
    for (const event of page.events) log.take(event);
    last = page.last ?? page.head;
    if (last >= page.head) return { cursor, log, last };
  }
}

/** Pages back from the head, no further than it takes to see where the answer that is being written begins. */
export async function findOpen(server: SessionServer, clock: Clock, signal: AbortSignal): Promise<ChatHistory> {
  const pages: (readonly SessionEvent[])[] = [];
  for (let before = Number.MAX_SAFE_INTEGER; ;) {
    const page = await pageOf(server, { before }, clock, signal);
    pages.unshift(page.events);
    const log = logOf(pages.flat());
    const isFirst = page.first === null || page.first <= page.floor + 1;
    if (log.isWhole || isFirst) {
      const last = pages.at(-1)?.at(-1)?.sequence ?? page.head;
      const cursor = cursorOf(log, last);
      return { cursor, last, log: logOf(pages.flat().filter(({ sequence }) => sequence > cursor)) };
    }
    before = page.first;
  }
}

/** The last event before what is still being written; the last one if nothing is. */
export const cursorOf = (log: ChatLog, last: number): number => (log.since === undefined ? last : log.since - 1);

function logOf(events: readonly SessionEvent[]): ChatLog {
  const log = createChatLog();
  for (const event of events) log.take(event);
  return log;
}

const pageOf = (server: SessionServer, range: HistoryRange, clock: Clock, signal: AbortSignal): Promise<HistoryPage> =>
  untilServed(() => server.history({ ...range, limit: PAGE }, signal), clock, signal);

/** Whether a chat would show anything of what lies between, but for the message with that id. */
export async function hasNews(
  server: SessionServer,
  { after, before, id }: { readonly after: number; readonly before: number; readonly id: string },
  clock: Clock,
  signal: AbortSignal,
): Promise<boolean> {
  const log = createChatLog();
  for (let last = after; last < before - 1;) {
    const page = await pageOf(server, { after: last }, clock, signal);
    for (const event of page.events) if (event.sequence < before) log.take(event);
    if (page.last === null) break;
    last = page.last;
  }
  return log.entries.some((entry) => entry.id !== id);
}
