/** The list of sessions, live: asked for every few seconds while the page is visible, and at once when something happened. */
import { useCallback, useMemo, useRef, useState } from 'react';
import type { FollowError } from '../../src/follow-error.ts';
import { usePoll } from '../base/use-poll.ts';
import { readSessions } from './read-sessions.ts';
import type { ListedSession } from '../../src/session-list.ts';
import { arrange } from './session-list.ts';

export interface UsedSessions {
  /** Undefined until the first answer. */
  readonly sessions: readonly ListedSession[] | undefined;
  readonly hasMore: boolean;
  /** Why the last question had no answer. */
  readonly error: FollowError | undefined;
  readonly more: () => void;
  readonly refresh: () => void;
  /** While the pointer is on the list, its rows stay where they are. */
  readonly hold: (isHeld: boolean) => void;
}

const POLL_MS = 3_000;
const STEP = 50;

export function useSessions(): UsedSessions {
  const count = useRef(STEP);
  const ask = useCallback((signal: AbortSignal) => readSessions(count.current, signal), []);
  const { value, error, refresh } = usePoll(ask, POLL_MS);
  const fresh = value?.sessions;
  /** As they stood when the pointer came. */
  const [held, setHeld] = useState<readonly ListedSession[]>();
  const sessions = useMemo(
    () => (held === undefined || fresh === undefined ? fresh : arrange(held, fresh)),
    [held, fresh],
  );
  const hold = useCallback((isHeld: boolean) => setHeld(isHeld ? sessions : undefined), [sessions]);
  const more = useCallback(() => {
    count.current += STEP;
    refresh();
  }, [refresh]);
  return { sessions, hasMore: value?.hasMore ?? false, error, more, refresh, hold };
}
