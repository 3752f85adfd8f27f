/** The work half on Postgres: each operation one short transaction, on connections that none of the others can use up. */
import type { Clock } from '../base/clock.ts';
import { createGate } from '../base/gate.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import { LedgerlineError } from '../base/errors.ts';
import type { Service } from '../base/service.ts';
import type { Bus } from '../bus/bus.ts';
import { createPool } from '../db/pool.ts';
import type { Pool } from '../db/pool.ts';
import { decide } from './decide.ts';
import { createClaims } from './claims.ts';
import { createCompletionGroup } from './completion-group.ts';
import { acknowledge, rerun, retry } from './operate.ts';
import { createRecovery } from './recover.ts';
import { renew } from './renew.ts';
import { request } from './request.ts';
import { forgetOld } from './retention.ts';
import { createSteps } from './journal-steps.ts';
import { complete, fail, finish, release } from './settle.ts';
import type { Steps } from './steps.ts';
import { steer } from './steer.ts';
import { stop } from './stop.ts';
import { createStatement, createTransact } from './transaction.ts';
import type { Transact } from './transaction.ts';
import { listActive, listAttention, readFigures } from './turn-list.ts';
import type { Turns } from './turns.ts';
import { wait } from './wait.ts';

/** The bounds that an operator or a test sets. */
export interface TurnBounds {
  readonly debounceMs: number;
  readonly debounceCapMs: number;
  readonly recoverMs: number;
  readonly leaseMs: number;
  readonly turnConnections: number;
  readonly settleConnections: number;
  readonly renewConnections: number;
  readonly stepConnections: number;
  readonly stepMs: number;
}

export interface TurnsOptions {
  readonly url: string;
  readonly prepare?: boolean;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly bounds?: Partial<TurnBounds>;
}

const FORGET_ROWS = 1_000;

export interface PostgresTurns extends Turns {
  /** The journal of what its turns do. */
  readonly steps: Steps;
  /** Recovery, the gauges, and the connections. */
  readonly service: Service;
  /** One pass of the recovery, now; the number of turns it took over. */
  recover(): Promise<number>;
}

export function createTurns(options: TurnsOptions): PostgresTurns {
  const { bus, clock, log, metrics } = options;
  const bounds: TurnBounds = { ...limits, ...options.bounds };
  const pool = (
    name: string,
    connections: number,
    settings: Readonly<Record<string, string>>,
    deadlineMs: number = limits.headLockWaitMs + limits.queryDeadlineMs,
  ): Pool =>
    createPool({
      url: options.url,
      log,
      ...(options.prepare === undefined ? {} : { prepare: options.prepare }),
      name: `ledgerline ${name}`,
      connections,
      deadlineMs,
      settings: { ...settings, lock_timeout: `${limits.headLockWaitMs}ms` },
    });
  // Walks along the indexes, whatever a young table's statistics speak for.
  const byIndex = { enable_seqscan: 'off', enable_bitmapscan: 'off' };
  const work = pool('turns', bounds.turnConnections, byIndex);
  // Whoever ends or extends a turn frees what the others wait for, so it never waits behind them [graphile#564].
  const settling = pool('settle', bounds.settleConnections, byIndex);
  // A few settlings that wait for heads which a vanished host holds would keep the leases of all other turns from going on [I9].
  const renewing = pool('renew', bounds.renewConnections, byIndex);
  // Tools read and write tables of their own here, for as long as that takes, and nothing else waits behind them. They wait for
  // one another outside: a pool whose query is late is replaced, and with it whoever is at work in it.
  const effects = pool('steps', bounds.stepConnections, byIndex, bounds.stepMs);
  const transact = createTransact(work, options);
  const settle = createTransact(settling, options);
  const owned = counting(settle);
  const settleAtOnce = createStatement(renewing, options);
  const inEffects = createTransact(effects, options);
  const inTurn = createGate(bounds.stepConnections);
  const steps = createSteps({
    metrics,
    pool: work,
    transact: counting(transact),
    settling: owned,
    effects: counting((what, write) => inTurn(() => inEffects(what, write))),
  });
  const claims = createClaims({ bus, clock, log, metrics, leaseMs: bounds.leaseMs, pool: work, transact, settle });
  const completeInGroup = createCompletionGroup(clock, (completions) =>
    settleAtOnce('finishing turns', (one) => complete(one, completions)),
  );
  const recovery = createRecovery({
    pool: settling,
    transact: settle,
    clock,
    log,
    metrics,
    // A lease that is shorter is worth what it is looked after.
    everyMs: Math.min(bounds.recoverMs, bounds.leaseMs),
    onPass: keepHouse,
  });

  async function keepHouse(): Promise<void> {
    const figures = await work.run('counting turns', readFigures);
    metrics.turnsReady.set(figures.ready);
    metrics.oldestReadySeconds.set(figures.oldestReadySeconds);
    metrics.turnsRunning.set(figures.running);
    metrics.turnsWaiting.set(figures.waiting);
    metrics.turnsInDoubt.set(figures.inDoubt);
    metrics.turnsFailed.set(figures.failed);
    await work.run('forgetting old turns', (sql) => forgetOld(sql, FORGET_ROWS));
  }

  /** Counts what was refused because the attempt owns nothing any more. */
  function counting(run: Transact): Transact {
    return async (what, write) => {
      try {
        return await run(what, write);
      } catch (error) {
        if (error instanceof LedgerlineError && error.code === 'fenced') metrics.fencedWrites.inc();
        throw error;
      }
    };
  }

  return {
    service: {
      name: 'turns',
      start() {
        recovery.start();
        return Promise.resolve();
      },
      async stop() {
        await Promise.all([claims.stop(), recovery.stop()]);
        await Promise.all([work, settling, renewing, effects].map((each) => each.close(1_000)));
      },
    },
    steps,
    recover: () => recovery.pass(),

    request: (message) => transact('storing a message', (one) => request(one, message, bounds)),
    claim: claims.claim,
    renew: (attempts) => renew({ pool: renewing, clock, leaseMs: bounds.leaseMs }, attempts),
    steer: (attempt, after) => owned('steering a turn', (one) => steer(one, attempt, after)),
    async finish(attempt, outcome, events) {
      const completed = outcome === 'completed' ? await completeInGroup({ attempt, events }) : undefined;
      return completed ?? owned('finishing a turn', (one) => finish(one, attempt, outcome, events));
    },
    fail: (attempt, error, isRetryable) =>
      owned('failing a turn', (one) => fail(one, attempt, error, isRetryable, clock.random())),
    wait: (attempt, questions) => owned('pausing a turn', (one) => wait(one, attempt, questions)),
    release: (attempt) => owned('releasing a turn', (one) => release(one, attempt)),
    decide: (session, decision) => transact('deciding', (one) => decide(one, session, decision)),
    stop: (session, by, turn) => transact('stopping a turn', (one) => stop(one, session, by, turn)),

    list: (which, limit, sessions) =>
      work.run('listing turns', (sql) => (which === 'attention' ? listAttention : listActive)(sql, limit, sessions)),
    retry: (session, turn, by) => transact('retrying a turn', (one) => retry(one, session, turn, by)),
    rerun: (session, turn, by, isForced = false) =>
      transact('doing a turn anew', (one) => rerun(one, session, turn, by, isForced)),
    acknowledge: (session, turn) => transact('acknowledging', (one) => acknowledge(one, session, turn)),
    figures: () => work.run('counting turns', readFigures),
  };
}
