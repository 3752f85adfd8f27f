/** Steps without the shared transaction: the refund is written beside its journal, as most code does it, and not with it. */
import { transaction } from '../db/postgres.ts';
import type { Sql, Statements } from '../db/postgres.ts';
import type { WorkerSteps } from '../worker/turn-steps.ts';

/** Journal, event and delivery commit first; what the tool wrote on a connection of its own commits behind them. */
export function stepsWithoutTransaction(steps: WorkerSteps, sql: Sql): WorkerSteps {
  return {
    ...steps,
    async transactional(attempt, index, intent, work) {
      const apart = openApart(sql);
      try {
        const done = await steps.transactional(attempt, index, intent, (_, key) => apart.run((tx) => work(tx, key)));
        await apart.commit();
        return done;
      } catch (thrown) {
        await apart.rollBack();
        throw thrown;
      }
    },
  };
}

interface Apart {
  /** Opens the transaction, and leaves it open. */
  run<T>(work: (tx: Statements) => Promise<T>): Promise<T>;
  commit(): Promise<void>;
  rollBack(): Promise<void>;
}

function openApart(sql: Sql): Apart {
  let end: ((isCommitted: boolean) => void) | undefined;
  let over: Promise<unknown> = Promise.resolve();
  return {
    run: (work) =>
      new Promise((resolve, reject) => {
        const verdict = new Promise<boolean>((give) => (end = give));
        over = transaction(sql, async (tx) => {
          resolve(await work(tx));
          if (!(await verdict)) throw new Error('its journal was not committed');
        });
        over.catch(reject);
      }),
    async commit() {
      end?.(true);
      await over;
    },
    async rollBack() {
      end?.(false);
      await Promise.allSettled([over]);
    },
  };
}
