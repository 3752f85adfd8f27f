/** What becomes of a turn whose attempt failed or was lost: a table without a hole. */
import { describe, expect, test } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { afterFailure } from '../../src/turn/after-failure.ts';
import type { Failure } from '../../src/turn/after-failure.ts';

const first = { policy: 'retry', attempts: 1, maxAttempts: 3, totalAttempts: 1 } as const;
const error = { code: 'x', message: 'no luck' };
const failed: Failure = { kind: 'failed', error, isRetryable: true };
const lost: Failure = { kind: 'lost' };

describe('an attempt that', () => {
  test('failed is followed by another, after a pause that grows up to its cap', () => {
    const pauses = [1, 2, 3, 9].map((attempts) =>
      afterFailure({ ...first, attempts, maxAttempts: 10 }, undefined, failed, 0.999),
    );
    expect(pauses.map((pause) => pause.kind === 'retry' && Math.round(pause.inMs / 100) / 10)).toEqual([1, 2, 4, 60]);
  });

  test.each([
    ['failed for good', first, { ...failed, isRetryable: false }],
    ['failed at its last try', { ...first, attempts: 3 }, failed],
    ['failed, of a turn that is tried once', { ...first, policy: 'once' as const }, failed],
  ] as const)('%s ends the turn with its own error', (_, turn, failure) => {
    expect(afterFailure(turn, undefined, failure, 0)).toEqual({ kind: 'fail', error });
  });

  test.each([
    ['at its last try', { ...first, attempts: 3 }],
    ['of a turn that is tried once', { ...first, policy: 'once' as const }],
  ])('was lost %s ends the turn, and says so', (_, turn) => {
    expect(afterFailure(turn, undefined, lost, 0)).toMatchObject({ kind: 'fail', error: { code: 'worker_lost' } });
  });

  test('made progress, again and again, ends the turn at the cap of all tries', () => {
    const turn = { ...first, totalAttempts: limits.totalAttempts };
    expect(afterFailure(turn, undefined, lost, 0)).toMatchObject({ kind: 'fail', error: { code: 'attempts' } });
  });

  test('outlives the deadline ends the turn, whatever tries are left', () => {
    const consequence = afterFailure(first, undefined, { kind: 'overdue' }, 0);
    expect(consequence).toMatchObject({ kind: 'fail', error: { code: 'deadline' } });
  });

  test.each([failed, lost, { kind: 'overdue' }, { ...failed, isRetryable: false }] as const)(
    'was asked to stop is cancelled, however it ended: %j',
    (failure) => {
      expect(afterFailure(first, 'stop', failure, 0)).toEqual({ kind: 'cancel', reason: 'stopped' });
      expect(afterFailure(first, 'interrupt', failure, 0)).toEqual({ kind: 'cancel', reason: 'interrupted' });
    },
  );

  test('did not stop is stopped', () => {
    expect(afterFailure(first, 'stop', { kind: 'ignored_stop' }, 0)).toEqual({ kind: 'cancel', reason: 'forced' });
  });
});
