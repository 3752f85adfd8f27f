/**
 * Claiming a turn and ending it, beside the queues that are usually taken for work.
 *
 * Method. All sides run in this process, on the same Postgres with fsync on, with their own pools as they come. A round stores so many
 * turns, one to a session, or jobs, which is not timed, and then eight loops side by side claim one at a time and end it, until none is
 * left. Ledgerline's claim and end each append an event to the session under its fence, which the queues have no equal of; the work
 * itself is nothing. graphile-worker has no call for one job, so its own runner does a task that does nothing. Rounds alternate,
 * after one unmeasured round each.
 */
import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { systemClock } from '../../src/base/clock.ts';
import { limits } from '../../src/base/limits.ts';
import { silentLog } from '../../src/base/log.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import { localBus } from '../../src/bus/local-bus.ts';
import { createLedger } from '../../src/ledger/postgres-ledger.ts';
import { createTurns } from '../../src/turn/postgres-turns.ts';
import { sessionWork } from '../../src/turn/session-work.ts';
import { graphileWorker, pgBoss } from '../peers/queues.ts';
import type { Queue } from '../peers/queues.ts';
import { median, progressOfRound, rounded, spread } from '../report.ts';
import type { Options, Report } from '../report.ts';
import { whyAbsent } from '../services/absent.ts';
import { openDatabase } from '../services/database.ts';

const LOOPS = 8;

async function ledgerline(url: string): Promise<Queue> {
  const parts = { url, log: silentLog, metrics: createMetrics(), clock: systemClock };
  const bus = localBus(parts);
  const ledger = createLedger({ ...parts, work: sessionWork });
  const turns = createTurns({ ...parts, bus, bounds: { debounceMs: 0, debounceCapMs: 1 } });
  await ledger.start();
  const one = {
    worker: 'bench',
    limit: 1,
    waitMs: 0,
    policy: 'retry',
    maxAttempts: 3,
    turnMs: limits.turnDeadlineMs,
  } as const;
  return {
    title: 'Ledgerline: claim + finish, with their events',
    async fill(jobs) {
      const sessions = Array.from({ length: jobs }, () => `bench-${randomUUID()}`);
      await Promise.all(
        sessions.map(async (session) => {
          await ledger.create(session, {});
          await turns.request({ session, key: 'k', content: 'hello', onBusy: 'enqueue', by: 'bench' });
        }),
      );
    },
    async empty(jobs, loops) {
      let done = 0;
      const loop = async (): Promise<void> => {
        while (done < jobs) {
          const [turn] = await turns.claim(one);
          if (turn === undefined) continue;
          done += 1;
          await turns.finish(turn, 'completed', []);
        }
      };
      await Promise.all(Array.from({ length: loops }, loop));
      return done;
    },
    async stop() {
      await turns.service.stop();
      await ledger.stop();
      await bus.stop();
    },
  };
}

export async function run({ quick }: Options): Promise<Report> {
  const [rounds, jobs] = quick ? [3, 500] : [7, 2_000];
  const database = await openDatabase();
  const reason = await whyAbsent('packages');
  const makers = [ledgerline, ...(reason === undefined ? [pgBoss, graphileWorker] : [])];
  const queues: Queue[] = [];
  try {
    for (const make of makers) queues.push(await make(database.url));
    const seen = queues.map((): number[] => []);
    for (let round = -1; round < rounds; round += 1) {
      progressOfRound(round, rounds);
      for (const [index, queue] of queues.entries()) {
        await queue.fill(jobs);
        const startedMs = performance.now();
        const done = await queue.empty(jobs, LOOPS);
        if (done !== jobs) throw new Error(`${queue.title}: ${done} of ${jobs} were done`);
        if (round >= 0) seen[index]?.push((jobs / (performance.now() - startedMs)) * 1_000);
      }
    }
    const [ours = [], boss] = seen;
    return {
      name: 'Claiming a turn and ending it',
      method:
        'Eight loops side by side, one turn or job at a time, until a filled queue is empty; the work itself is nothing.',
      leftOut: reason === undefined ? [] : [`pg-boss and graphile-worker: ${reason}`],
      rows: queues.map(({ title }, index) => ({
        queue: title,
        'turns or jobs/s': Math.round(median(seen[index] ?? [])),
        'least and most': spread((seen[index] ?? []).map(Math.round)),
      })),
      targets:
        boss === undefined
          ? []
          : [{ what: 'at least as many as pg-boss', seen: rounded(median(ours) / median(boss)), atLeast: 1 }],
    };
  } finally {
    for (const queue of queues) await queue.stop();
    await database.close();
  }
}
