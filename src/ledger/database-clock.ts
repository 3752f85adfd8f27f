/** What time it is by Postgres's clock, which stamps every event: hosts' clocks differ, so it is looked at now and then. */
import { assert } from '../base/assert.ts';
import type { Clock, Timer } from '../base/clock.ts';
import { observationLimits } from '../base/observation-limits.ts';
import { toError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import { detach } from '../base/service.ts';
import type { Service } from '../base/service.ts';
import type { Sql } from '../db/postgres.ts';

export async function readClock(sql: Sql): Promise<number> {
  const [row] = await sql<{ ms: number }[]>`select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`;
  assert(row !== undefined, 'a clock has a time');
  return row.ms;
}

export interface DatabaseClock extends Service {
  /** Milliseconds since the epoch; by this host's clock until Postgres has answered once. */
  wall(): number;
}

export interface DatabaseClockOptions {
  /** Asks Postgres for the milliseconds since the epoch. */
  readonly ask: () => Promise<number>;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

export function createDatabaseClock({ ask, clock, log, metrics }: DatabaseClockOptions): DatabaseClock {
  let aheadMs = 0;
  let isStopped = false;
  let timer: Timer | undefined;

  /** The answer is of some moment between question and answer, so the quickest of a few is the nearest. */
  async function look(): Promise<void> {
    let leastMs = Infinity;
    let nearestMs = aheadMs;
    for (let tries = 0; tries < observationLimits.clockLooks && !isStopped; tries += 1) {
      const [askedMs, askedWallMs] = [clock.now(), clock.wall()];
      const saidMs = await ask();
      const tookMs = clock.now() - askedMs;
      if (tookMs < leastMs) [leastMs, nearestMs] = [tookMs, saidMs - (askedWallMs + tookMs / 2)];
    }
    aheadMs = nearestMs;
    metrics.clockOffsetSeconds.set(aheadMs / 1_000);
  }

  async function lookAndArm(): Promise<void> {
    try {
      await look();
    } catch (thrown) {
      log.debug({ err: toError(thrown) }, 'the clock of Postgres could not be read; the last look holds');
    }
    if (isStopped) return;
    timer = clock.after(observationLimits.clockLookMs, () => detach(lookAndArm(), log, 'a look at the clock failed'));
  }

  return {
    name: 'database clock',
    start() {
      detach(lookAndArm(), log, 'a look at the clock failed');
      return Promise.resolve();
    },
    stop() {
      isStopped = true;
      timer?.cancel();
      return Promise.resolve();
    },
    wall: () => clock.wall() + aheadMs,
  };
}
