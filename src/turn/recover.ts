/** Turns whose worker is gone, deaf, or late: any process finds them, and decides from the locked row alone. */
import type { Clock, Timer } from '../base/clock.ts';
import { assert } from '../base/assert.ts';
import { toError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import { detach } from '../base/service.ts';
import { findLostHeads } from '../ledger/turn-lease.ts';
import { lockTurnHead } from '../ledger/turn-head.ts';
import type { TurnHead } from '../ledger/turn-head.ts';
import type { Pool } from '../db/pool.ts';
import type { Failure } from './after-failure.ts';
import { settleFailure } from './retry.ts';
import type { Transact, Work } from './transaction.ts';
import { readTurn } from './turn-row.ts';
import { isUnderWay } from './under-lock.ts';

/** Why a turn is ended, or an attempt at it, without its worker; undefined: all is as it should be. */
function failureOf(head: TurnHead, isOverdue: boolean): Failure | undefined {
  if (head.turnState === 'waiting') return undefined; // a person's time is not the turn's
  if (head.isStopOverdue) return { kind: 'ignored_stop' };
  if (head.isLeaseOver) return { kind: 'lost' };
  return isOverdue ? { kind: 'overdue' } : undefined;
}

/**
 * Says why it took the turn over, if it did. A head that somebody holds is at work. Between the look and the lock the
 * worker may have finished: what was seen then counts for nothing [river#1302].
 */
async function recoverOne(work: Work, session: string, random: number): Promise<Failure['kind'] | undefined> {
  const head = await lockTurnHead(work.tx, session, false);
  if (head === undefined || !isUnderWay(head)) return undefined;
  const turn = await readTurn(work.tx, session, head.turn);
  assert(turn !== undefined, 'a turn under way has its row');
  const failure = failureOf(head, turn.isOverdue);
  if (failure === undefined) return undefined;
  await settleFailure(work, head, failure, random, true);
  return failure.kind;
}

export interface RecoveryOptions {
  readonly pool: Pool;
  readonly transact: Transact;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly everyMs: number;
  /** Behind each pass. */
  readonly onPass: () => Promise<void>;
}

export interface Recovery {
  start(): void;
  /** One pass now; the number of turns it took over. */
  pass(): Promise<number>;
  stop(): Promise<void>;
}

/** There is no reset at start: a process that begins knows nothing of what others run. */
export function createRecovery({ pool, transact, clock, log, metrics, everyMs, onPass }: RecoveryOptions): Recovery {
  let timer: Timer | undefined;
  let running: Promise<void> | undefined;
  let isStopped = false;

  /** All that are lost, some at a time: those that cannot be recovered strand none behind them. */
  async function pass(): Promise<number> {
    let taken = 0;
    for (let after = ''; ;) {
      const behind = after;
      const found = await pool.run('looking for lost turns', (sql) => findLostHeads(sql, behind));
      for (const session of found) {
        if (isStopped) return taken;
        if (await recovered(session)) taken += 1;
      }
      if (found.length < limits.recoverTurns) return taken;
      after = found.at(-1) ?? after;
    }
  }

  /** Each in a transaction of its own, so that one that fails strands no other [dbos-py#716]. */
  async function recovered(session: string): Promise<boolean> {
    try {
      const reason = await transact('recovering a turn', (work) => recoverOne(work, session, clock.random()));
      if (reason === undefined) return false;
      metrics.takeovers.inc({ reason });
      log.warn({ session, reason }, 'a turn was taken over from its worker');
      return true;
    } catch (thrown) {
      log.error({ err: toError(thrown), session }, 'a turn could not be recovered; the next pass tries again');
      return false;
    }
  }

  async function tick(): Promise<void> {
    try {
      await pass();
      await onPass();
    } catch (thrown) {
      log.warn({ err: toError(thrown) }, 'looking for lost turns failed; it will be tried again');
    }
    arm();
  }

  /** Jittered, so that many processes do not look at the same time. */
  function arm(): void {
    if (isStopped) return;
    timer = clock.after(everyMs * (0.5 + clock.random()), () => {
      running = tick();
      detach(running, log, 'the search for lost turns ended unexpectedly');
    });
  }

  return {
    start: arm,
    pass,
    async stop() {
      isStopped = true;
      timer?.cancel();
      await running;
    },
  };
}
