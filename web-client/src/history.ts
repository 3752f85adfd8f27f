/** Pages of a session's history, and how they join what is known already. */
import { createSessionServer } from './session-server.ts';
import type { HistoryPage, HistoryRange, SessionServerOptions } from './session-server.ts';
import type { SessionEvent } from './session-event.ts';

export type { HistoryPage, HistoryRange };

export type HistoryOptions = Omit<SessionServerOptions, 'clock'> &
  HistoryRange & { readonly signal?: AbortSignal | undefined };

/** One page. Rejects with a `FollowError`: `refused` is final, `unavailable` and `token` may pass. */
export function readHistory(options: HistoryOptions): Promise<HistoryPage> {
  return createSessionServer(options).history(options, options.signal);
}

/**
 * The union of both, each once; both ascend, and so does it. What is known stays as it is, so that a page that comes
 * late overwrites nothing; `known` itself is returned when `more` adds nothing.
 */
export function mergeEvents(known: readonly SessionEvent[], more: readonly SessionEvent[]): readonly SessionEvent[] {
  if ((more.at(-1)?.sequence ?? Infinity) < (known[0]?.sequence ?? 0)) return more.concat(known);
  const all = new Map([...more, ...known].map((event) => [event.sequence, event]));
  return all.size === known.length ? known : [...all.values()].toSorted((one, other) => one.sequence - other.sequence);
}
