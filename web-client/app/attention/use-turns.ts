/** The list of turns, asked for while the page is visible. */
import { useMemo } from 'react';
import { usePoll } from '../base/use-poll.ts';
import type { UsedPoll } from '../base/use-poll.ts';
import { readTurns } from './turn-list.ts';
import type { ListedTurn, Which } from './turn-list.ts';

const POLL_MS = 3_000;

/** Undefined asks nothing. */
export function useTurns(which: Which | undefined): UsedPoll<readonly ListedTurn[]> {
  const ask = useMemo(
    () => (which === undefined ? undefined : (signal: AbortSignal) => readTurns(which, signal)),
    [which],
  );
  return usePoll(ask, POLL_MS);
}
