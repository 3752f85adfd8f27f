/** The sessions that a token may see, page by page, and how far its subject has read each. */
import { createRequester } from './requester.ts';
import type { RequesterOptions } from './requester.ts';
import type { TurnFacts } from './session-server.ts';

export interface ListedSession {
  readonly session: string;
  readonly metadata: unknown;
  readonly state: 'open' | 'closed';
  readonly head: number;
  readonly turn: TurnFacts;
  /** When somebody said something, or the agent ended a turn or asked. */
  readonly activity: string;
  /** The sequence of the last end of a turn, or question. */
  readonly notable: number;
  readonly read: number;
  /** `notable` lies beyond `read`. */
  readonly unread: boolean;
}

export interface SessionPage {
  readonly sessions: readonly ListedSession[];
  /** What `after` takes for the following page; null on the last. */
  readonly next: string | null;
}

type Place = Omit<RequesterOptions, 'clock'> & { readonly signal?: AbortSignal | undefined };
export type ListOptions = Place & { readonly limit?: number | undefined; readonly after?: string | undefined };
export type ReadOptions = Place & { readonly session: string; readonly sequence: number };

/** The latest activity first. Rejects with a `FollowError`. */
export function listSessions(options: ListOptions): Promise<SessionPage> {
  const { limit, after, signal } = options;
  const query = new URLSearchParams();
  if (limit !== undefined) query.set('limit', String(limit));
  if (after !== undefined) query.set('after', after);
  const path = query.size === 0 ? '/sessions' : `/sessions?${query.toString()}`;
  return createRequester(options).json<SessionPage>(path, signal, ({ sessions }) => Array.isArray(sessions));
}

/** Says how far the reader has read, which never goes back. Resolves with how far that is. Rejects with a `FollowError`. */
export function markRead(options: ReadOptions): Promise<{ readonly read: number }> {
  const { session, sequence, signal } = options;
  const path = `/sessions/${encodeURIComponent(session)}/read`;
  const isRight = ({ read }: { readonly read: number }): boolean => Number.isSafeInteger(read);
  return createRequester(options).json(path, signal, isRight, { sequence });
}
