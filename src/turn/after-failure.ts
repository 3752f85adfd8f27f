/** What becomes of a turn whose attempt failed or was lost (pure). */
import { backoffMs } from '../base/backoff.ts';
import { limits } from '../base/limits.ts';
import type { StopMode } from '../event/turn-state.ts';
import type { CancelReason } from './end.ts';
import type { TurnRow } from './turn-row.ts';
import type { TurnError } from './turns.ts';

/** How the attempt ended without settling its turn. */
export type Failure =
  /** It said so itself. */
  | { readonly kind: 'failed'; readonly error: TurnError; readonly isRetryable: boolean }
  /** Its lease ran out. */
  | { readonly kind: 'lost' }
  /** It was asked to stop, and did not. */
  | { readonly kind: 'ignored_stop' }
  /** Its turn's time is over. */
  | { readonly kind: 'overdue' };

export type Consequence =
  | { readonly kind: 'retry'; readonly inMs: number; readonly error: TurnError | undefined }
  | { readonly kind: 'fail'; readonly error: TurnError }
  | { readonly kind: 'cancel'; readonly reason: CancelReason };

const pause = { firstMs: limits.retryPauseMs, capMs: limits.retryPauseCapMs };

/** A stop that was asked for wins over everything: the person wants no more of it. `random` in [0, 1). */
export function afterFailure(
  turn: Pick<TurnRow, 'policy' | 'attempts' | 'maxAttempts' | 'totalAttempts'>,
  stop: StopMode | undefined,
  failure: Failure,
  random: number,
): Consequence {
  if (failure.kind === 'ignored_stop') return { kind: 'cancel', reason: 'forced' };
  if (stop !== undefined) return { kind: 'cancel', reason: stop === 'stop' ? 'stopped' : 'interrupted' };
  if (failure.kind === 'overdue') {
    return { kind: 'fail', error: { code: 'deadline', message: 'the turn took longer than it may' } };
  }
  const tries = turn.attempts === 1 ? 'its one try' : `${turn.attempts} tries`;
  const error: TurnError =
    failure.kind === 'failed'
      ? failure.error
      : { code: 'worker_lost', message: `the worker was lost in ${tries} without progress` };
  if (failure.kind === 'failed' && !failure.isRetryable) return { kind: 'fail', error };
  if (turn.policy === 'once' || turn.attempts >= turn.maxAttempts) return { kind: 'fail', error };
  if (turn.totalAttempts >= limits.totalAttempts) {
    return { kind: 'fail', error: { code: 'attempts', message: `it was tried ${turn.totalAttempts} times` } };
  }
  return {
    kind: 'retry',
    inMs: Math.round(backoffMs(pause, turn.attempts - 1, random)),
    error: failure.kind === 'failed' ? failure.error : undefined,
  };
}
