/** One transaction of the work half: what it stores is broadcast when it is committed, and not before [I4]. */
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import type { Bus, Wake } from '../bus/bus.ts';
import { transaction } from '../db/postgres.ts';
import type { Statements } from '../db/postgres.ts';
import { busyWhenLocked } from '../ledger/busy.ts';
import type { Pool } from '../db/pool.ts';
import { moveTurnHead } from '../ledger/turn-head.ts';
import type { Move, Moved, TurnEvent, TurnHead } from '../ledger/turn-head.ts';
import { broadcast, bytesOf, eventsBroadcast } from '../session/append.ts';
import type { TurnStatus } from './turns.ts';

export interface Work {
  readonly tx: Statements;
  /** Moves a locked head and stores the events of that move. */
  move(head: TurnHead, move: Move, events: readonly TurnEvent[], isFenced?: boolean): Promise<Moved | undefined>;
  /** For what was stored in another way. */
  stored(moved: Moved): void;
  /** A turn ended so, once it is committed. */
  ended(status: TurnStatus): void;
  /** Hints to workers, once it is committed. */
  wake(wake: Wake): void;
}

export interface TransactionDependencies {
  readonly bus: Pick<Bus, 'publish' | 'wake'>;
  readonly log: Log;
  readonly metrics: Metrics;
  /** False behind a pooler, as with the pool. */
  readonly prepare?: boolean;
}

export type Transact = <T>(what: string, work: (work: Work) => Promise<T>) => Promise<T>;

/** What each of the pool's connections has; behind a pooler, each transaction sets it for itself. */
const bounded = (tx: Statements) => tx`
  select set_config('lock_timeout', ${`${limits.headLockWaitMs}ms`}::text, true), set_config('enable_seqscan', 'off', true),
         set_config('enable_bitmapscan', 'off', true)`;

/** Each work a transaction. */
export const createTransact = (pool: Pool, dependencies: TransactionDependencies): Transact =>
  telling(dependencies, (what, work) =>
    pool.run(what, (sql) =>
      busyWhenLocked(
        transaction(sql, async (tx) => {
          if (dependencies.prepare === false) await bounded(tx);
          return work(tx);
        }),
      ),
    ),
  );

/** Each work one statement, which commits by itself; behind a pooler, where it needs its settings, a transaction all the same. */
export const createStatement = (pool: Pool, dependencies: TransactionDependencies): Transact =>
  dependencies.prepare === false
    ? createTransact(pool, dependencies)
    : telling(dependencies, (what, work) => pool.run(what, (sql) => busyWhenLocked(work(sql))));

type Run = <T>(what: string, work: (tx: Statements) => Promise<T>) => Promise<T>;

function telling({ bus, log, metrics }: TransactionDependencies, run: Run): Transact {
  return async (what, work) => {
    const moved: Moved[] = [];
    const wakes: Wake[] = [];
    const ends: TurnStatus[] = [];
    const result = await run(what, (tx) =>
      work({
        tx,
        async move(head, move, events, isFenced) {
          const stored = await moveTurnHead(tx, head, move, events, isFenced);
          if (stored !== undefined) moved.push(stored);
          return stored;
        },
        stored: (other) => void moved.push(other),
        ended: (status) => void ends.push(status),
        wake: (wake) => void wakes.push(wake),
      }),
    );
    for (const stored of moved) {
      metrics.appendedEvents.inc(stored.events.length);
      metrics.appendedBytes.inc(bytesOf(stored.events));
      broadcast({ bus, log }, stored.session, () => eventsBroadcast(stored));
    }
    for (const status of ends) metrics.turnEnds.inc({ status });
    for (const wake of wakes) bus.wake(wake);
    return result;
  };
}
