/** A claim whose deadline has passed leaves nothing behind that nobody has. */
import { expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { LedgerlineError } from '../../src/base/errors.ts';
import { silentLog } from '../../src/base/log.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import type { Pool } from '../../src/db/pool.ts';
import type { Statements } from '../../src/db/postgres.ts';
import { createClaims } from '../../src/turn/claims.ts';
import type { Transact, Work } from '../../src/turn/transaction.ts';

const taken = {
  claim: 0,
  session: 's',
  turn: 't',
  fence: 1,
  isNew: true,
  readyMs: 1,
  begun: JSON.stringify({
    number: 2,
    at: '2026-11-30T04:00:00.000Z',
    data: '{}',
    attempts: 1,
    maxAttempts: 1,
    deadline: '2026-11-30T05:00:00.000Z',
    remainingMs: 1,
    messages: [],
  }),
  failure: null,
};

it('is rolled back when Postgres takes the heads behind the deadline', async () => {
  let answer: (rows: unknown[]) => void = () => undefined;
  const answered = new Promise<unknown[]>((resolve) => (answer = resolve));
  const work = { tx: () => answered, stored: () => undefined } as unknown as Work & { tx: Statements };
  let outcome: Promise<'committed' | 'rolled back'> | undefined;
  /** As a pool does: whoever waits is told, and what is under way goes on for a moment. */
  const transact: Transact = (_, run) => {
    outcome = run(work).then(
      () => 'committed',
      () => 'rolled back',
    );
    return Promise.reject(new LedgerlineError('unavailable', 'late'));
  };
  const givenBack: string[] = [];
  const claims = createClaims({
    bus: { onWake: () => ({ stop: () => undefined }) as never },
    clock: systemClock,
    log: silentLog,
    metrics: createMetrics(),
    leaseMs: 30_000,
    pool: {} as Pool,
    transact,
    settle: (what) => {
      givenBack.push(what);
      return Promise.reject(new Error('nobody to ask'));
    },
  });
  const asked = { worker: 'w', limit: 1, waitMs: 0, policy: 'retry', maxAttempts: 1, turnMs: 1_000 } as const;
  await expect(claims.claim(asked)).rejects.toMatchObject({ code: 'unavailable' });
  answer([taken]);
  // Whose turn is not given back must not begin.
  expect([await outcome, givenBack]).toEqual(['rolled back', []]);
});
