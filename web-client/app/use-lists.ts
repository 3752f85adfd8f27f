/** The two lists beside the session, its neighbours and what needs a person: live, and asked for again when it changes them. */
import { useCallback, useEffect, useMemo } from 'react';
import { hasScope, tokenOrNothing } from './access/token.ts';
import type { ListedTurn } from './attention/turn-list.ts';
import { useTurns } from './attention/use-turns.ts';
import type { UsedPoll } from './base/use-poll.ts';
import { useSessions } from './sessions/use-sessions.ts';
import type { UsedSessions } from './sessions/use-sessions.ts';

export interface Lists {
  readonly sessions: UsedSessions;
  readonly attention: UsedPoll<readonly ListedTurn[]>;
  /** Undefined for who may do nothing about it. */
  readonly attentionCount: number | undefined;
  /** Sessions whose last turn failed, and nobody took note of it. */
  readonly failed: ReadonlySet<string>;
  readonly refresh: () => void;
}

/** `refuse`: the token is no longer taken. */
export function useLists(refuse: (reason: string) => void): Lists {
  const sessions = useSessions();
  const attention = useTurns('attention');
  const { value: turns } = attention;
  const failed = useMemo(
    () => new Set(turns?.filter(({ status }) => status === 'failed').map(({ session }) => session)),
    [turns],
  );
  const isRefused = sessions.error?.problem === 'unauthorized';
  const reason = sessions.error?.message;
  useEffect(() => {
    if (isRefused) refuse(reason ?? 'it is not taken');
  }, [isRefused, reason, refuse]);
  const { refresh: refreshSessions } = sessions;
  const { refresh: refreshTurns } = attention;
  const refresh = useCallback(() => {
    refreshSessions();
    refreshTurns();
  }, [refreshSessions, refreshTurns]);
  const attentionCount = hasScope(tokenOrNothing(), 'write') ? (turns?.length ?? 0) : undefined;
  return { sessions, attention, attentionCount, failed, refresh };
}
