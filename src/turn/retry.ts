/** A turn goes back to be claimed again, with the same id and the same inputs. */
import { assert } from '../base/assert.ts';
import type { Work } from './transaction.ts';
import { afterFailure } from './after-failure.ts';
import type { Failure } from './after-failure.ts';
import { doubtfulSteps } from './doubt.ts';
import { endCurrent } from './end.ts';
import { attemptEvent } from './turn-event.ts';
import { noteRetry, readTurn } from './turn-row.ts';
import type { Settled, TurnError } from './turns.ts';
import type { OwnedHead } from './under-lock.ts';

export interface Retry {
  readonly reason: 'failed' | 'lost' | 'released';
  readonly inMs: number;
  readonly error?: TurnError | undefined;
}

/** `isFenced`: the attempt may still write, and must not. */
export async function retryCurrent(work: Work, head: OwnedHead, retry: Retry, isFenced: boolean): Promise<Settled> {
  const { session, turn, fence } = head;
  const { reason, inMs, error } = retry;
  const event = attemptEvent('turn.retrying', { turn, attempt: fence }, { reason, error, inMs });
  const stored = await work.move(head, { to: 'ready', turn, inMs }, [event], isFenced);
  const isGivenBack = reason === 'released';
  await noteRetry(work.tx, session, turn, { sequence: stored?.last, error, isGivenBack });
  work.wake({ kind: 'ready', inMs });
  return { state: 'ready', status: 'open', sequence: stored?.last };
}

/** By what `afterFailure` makes of it. `isFenced` as above. */
export async function settleFailure(
  work: Work,
  head: OwnedHead,
  failure: Failure,
  random: number,
  isFenced: boolean,
): Promise<Settled> {
  const turn = await readTurn(work.tx, head.session, head.turn);
  assert(turn !== undefined, 'a turn that runs has its row');
  const consequence = afterFailure(turn, head.stop, failure, random);
  switch (consequence.kind) {
    case 'retry': {
      // Of a worker that is gone nobody learns what its call came to; one that says that it failed may still tell.
      const steps = failure.kind === 'lost' ? await doubtfulSteps(work.tx, head.session, head.turn) : [];
      if (steps.length > 0) return endCurrent(work, head, { status: 'in_doubt', steps }, isFenced);
      const reason = failure.kind === 'failed' ? 'failed' : 'lost';
      return retryCurrent(work, head, { reason, inMs: consequence.inMs, error: consequence.error }, isFenced);
    }
    case 'fail':
      return endCurrent(work, head, { status: 'failed', error: consequence.error }, isFenced);
    case 'cancel':
      return endCurrent(work, head, { status: 'cancelled', reason: consequence.reason }, isFenced);
  }
}
