/** The step journal on Postgres: each operation one short transaction, and a transactional tool's its own. */
import { LedgerlineError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { Metrics } from '../base/metrics.ts';
import type { Pool } from '../db/pool.ts';
import type { Statements } from '../db/postgres.ts';
import { LAST_STEP_INDEX } from '../event/step-id.ts';
import { listSession } from '../outbox/session-deliveries.ts';
import { sealIntent } from '../step/intent.ts';
import { errorText, resultText } from '../step/outcome.ts';
import { readDoubts, readSteps } from '../step/step-row.ts';
import { stepKey } from '../step/step.ts';
import type { JournaledStep } from '../step/step.ts';
import { model, sealAnswer } from './step-model.ts';
import { resolve } from './step-resolve.ts';
import { settle } from './step-settle.ts';
import { refuseTransactional, start } from './step-start.ts';
import { transactional } from './step-transactional.ts';
import type { Effect, Transacted } from './step-transactional.ts';
import type { Steps } from './steps.ts';
import type { Transact } from './transaction.ts';
import { readTurn } from './turn-row.ts';
import type { Attempt } from './turns.ts';
import { fenced, readKnownHead } from './under-lock.ts';

export interface StepsDependencies {
  readonly metrics: Metrics;
  /** For what only looks. */
  readonly pool: Pool;
  readonly transact: Transact;
  /** What came of a call never waits behind those that begin. */
  readonly settling: Transact;
  /** For as long as tools' own statements take. */
  readonly effects: Transact;
}

export function createSteps({ metrics, pool, transact, settling, effects }: StepsDependencies): Steps {
  const transacted = (
    attempt: Attempt,
    index: number,
    intent: ReturnType<typeof sealIntent>,
    run: (tx: Statements) => Promise<Effect>,
  ): Promise<Transacted> =>
    effects('running a transactional tool', (work) => transactional(work, attempt, index, intent, () => run(work.tx)));

  return {
    async journal(session, turn) {
      const steps = await pool.run('reading a journal', (sql) => readSteps(sql, session, turn));
      if (steps.length > 0) return steps;
      const row = await pool.run('reading a turn', (sql) => readTurn(sql, session, turn));
      if (row === undefined) throw new LedgerlineError('turn_unknown', 'the session has no such turn');
      return [];
    },
    async model(attempt, index, request, answer) {
      checkIndex(index, answer.calls.length);
      const sealed = sealAnswer(request, answer);
      return transact("journaling a model's answer", (work) => model(work, attempt, index, sealed));
    },
    async start(attempt, index, intent, keySeconds) {
      checkIndex(index);
      const sealed = sealIntent(intent);
      refuseTransactional(sealed);
      const begun = await transact('starting a step', (work) => start(work, attempt, index, sealed, keySeconds));
      if (begun.kind === 'done' || begun.kind === 'failed') metrics.journalHits.inc();
      return begun;
    },
    async settle(attempt, index, intent, given) {
      checkIndex(index);
      const sealed = sealIntent(intent);
      const outcome = 'error' in given ? { error: errorText(given.error) } : { result: resultText(given.result) };
      const deliveries = 'error' in given ? [] : (given.deliveries ?? []);
      if (sealed.effect !== 'transactional') {
        return settling('settling a step', (work) => settle(work, attempt, index, sealed, outcome, deliveries));
      }
      if ('result' in outcome) {
        throw new LedgerlineError(
          'malformed',
          'the result of a transactional tool is journaled in its own transaction',
          {
            where: 'effect',
          },
        );
      }
      const failed = await transacted(attempt, index, sealed, () => Promise.resolve({ outcome, deliveries: [] }));
      if (failed.kind === 'in_doubt') throw fenced();
      return { state: failed.state, sequence: failed.isFromJournal ? undefined : failed.sequence };
    },
    async transactional(attempt, index, intent, work) {
      checkIndex(index);
      const sealed = sealIntent({ ...intent, effect: 'transactional' });
      const done = await transacted(attempt, index, sealed, async (tx) => {
        const { result, deliveries = [] } = await work(tx, stepKey(attempt.turn, index));
        return { outcome: { result: resultText(result) }, deliveries };
      });
      if (done.kind === 'in_doubt') throw fenced();
      if (done.isFromJournal) metrics.journalHits.inc();
      if (done.state === 'done') return done;
      throw new LedgerlineError('step_settled', 'the journal says that this call has failed', { state: done.state });
    },

    deliveries: (session, range) =>
      pool.run('listing deliveries', async (sql) => {
        await readKnownHead(sql, session);
        return listSession(sql, session, range);
      }),

    doubts: (limit) => pool.run('listing doubts', (sql) => readDoubts(sql, limit)),
    async resolve(session, turn, index, verdict, by, isResumed) {
      checkIndex(index);
      const said = verdict.outcome === 'done' ? verdict : undefined;
      const result = said && resultText(said.result);
      const { deliveries = [] } = said ?? {};
      const resolution = { result, deliveries, by, isResumed };
      await transact('resolving a step', (work) => resolve(work, session, turn, index, resolution));
    },
  };
}

function checkIndex(index: JournaledStep['index'], reserved = 0): void {
  if (!Number.isInteger(index) || index < 0 || index > LAST_STEP_INDEX) {
    throw new LedgerlineError('malformed', 'the index of a step is a whole number from 0', { where: 'index' });
  }
  const max = limits.stepsPerTurn;
  if (index + reserved < max) return;
  throw new LedgerlineError('too_large', `a turn has at most ${max} steps: end it, and go on in another`, {
    limit: 'stepsPerTurn',
    max,
  });
}
