/** How an attempt settles what it owns: finished, failed, waiting for a person, or given back. Each once, and again with the same answer. */
import { LedgerlineError } from '../base/errors.ts';
import type { NewEvent } from '../event/event.ts';
import type { TurnEvent } from '../ledger/turn-head.ts';
import { completeTurns } from '../ledger/turn-stamp.ts';
import type { Completion } from './completion-group.ts';
import { endCurrent } from './end.ts';
import { retryCurrent, settleFailure } from './retry.ts';
import type { Work } from './transaction.ts';
import { attemptEvent } from './turn-event.ts';
import type { Attempt, Settled, TurnError } from './turns.ts';
import { lockOwned, settledBefore } from './under-lock.ts';

/** What nearly every turn comes to, for many in one statement; undefined: nothing was done, and `finish` judges. */
export async function complete(work: Work, completions: readonly Completion[]): Promise<(Settled | undefined)[]> {
  const completed = await completeTurns(
    work.tx,
    completions.map(({ attempt, events }) => ({
      ...attempt,
      events: [...said(attempt, events), attemptEvent('turn.completed', attempt, {})],
    })),
  );
  return completed.map((one) => {
    if (one === undefined) return undefined;
    const { moved, isPending } = one;
    work.stored(moved);
    work.ended('done');
    if (isPending) work.wake({ kind: 'ready', inMs: 0 });
    return { state: isPending ? 'ready' : 'idle', status: 'done', sequence: moved.last };
  });
}

/** An attempt's number is in what it says last: readers keep what it had written. */
const said = ({ turn, attempt }: Attempt, events: readonly NewEvent[]): TurnEvent[] =>
  events.map((event) => ({ ...event, fence: { turn, attempt } }));

export async function finish(
  work: Work,
  attempt: Attempt,
  outcome: 'completed' | 'cancelled',
  events: readonly NewEvent[],
): Promise<Settled> {
  const head = await lockOwned(work.tx, attempt);
  if (head === undefined) {
    return settledBefore(work.tx, attempt, [outcome === 'completed' ? 'done' : 'cancelled', 'in_doubt']);
  }
  const last = said(attempt, events);
  if (outcome === 'completed') return endCurrent(work, head, { status: 'done', events: last });
  if (head.stop === undefined) {
    throw new LedgerlineError('turn_over', 'nobody asked the turn to stop: finish it as completed, or fail it', {
      turnStatus: 'open',
    });
  }
  const reason = head.stop === 'stop' ? 'stopped' : 'interrupted';
  return endCurrent(work, head, { status: 'cancelled', reason, events: last });
}

export async function fail(
  work: Work,
  attempt: Attempt,
  error: TurnError,
  isRetryable: boolean,
  random: number,
): Promise<Settled> {
  const head = await lockOwned(work.tx, attempt);
  if (head === undefined) return settledBefore(work.tx, attempt, ['open', 'failed', 'cancelled', 'in_doubt']);
  return settleFailure(work, head, { kind: 'failed', error, isRetryable }, random, false);
}

/**
 * For a worker that is asked to end. A turn that a person wants stopped is stopped instead. The fence stays: what does not
 * run takes no writes, and the next claim has a higher one; so the same release again is told from a stale one.
 */
export async function release(work: Work, attempt: Attempt): Promise<Settled> {
  const head = await lockOwned(work.tx, attempt);
  if (head === undefined) return settledBefore(work.tx, attempt, ['open', 'cancelled', 'in_doubt']);
  if (head.stop === undefined) return retryCurrent(work, head, { reason: 'released', inMs: 0 }, false);
  const reason = head.stop === 'stop' ? 'stopped' : 'interrupted';
  return endCurrent(work, head, { status: 'cancelled', reason });
}
