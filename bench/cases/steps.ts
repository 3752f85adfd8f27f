/**
 * What a transactional tool costs beside the business transaction alone.
 *
 * Method. Both sides run in this process, on the same Postgres with fsync on, by the same driver with as many connections.
 * The plain side is BEGIN, one INSERT of a refund, COMMIT. The step is the same INSERT as a transactional tool: its row of the
 * journal, the fence, the event and one delivery are in its commit. A session takes its steps one after another, so a session is
 * one closed loop; 1, 16 and 64 of them side by side. Rounds of the two sides alternate, after one unmeasured round of each, and
 * every figure is the median of its rounds; the ratio is taken within each round. A round has turns of its own, so that no side's
 * tables are younger. WAL is asked of the server, CPU is this process's alone.
 *
 * Postgres as in `bench/services/database`.
 */
import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { systemClock } from '../../src/base/clock.ts';
import { limits } from '../../src/base/limits.ts';
import { silentLog } from '../../src/base/log.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import { localBus } from '../../src/bus/local-bus.ts';
import { connect, disconnect, transaction } from '../../src/db/postgres.ts';
import type { Sql, Statements } from '../../src/db/postgres.ts';
import { createLedger } from '../../src/ledger/postgres-ledger.ts';
import { createTurns } from '../../src/turn/postgres-turns.ts';
import { sessionWork } from '../../src/turn/session-work.ts';
import type { ClaimedTurn } from '../../src/turn/turns.ts';
import { openDatabase } from '../services/database.ts';
import { median, progressOfRound, quantile, rounded, spread } from '../report.ts';
import type { Report } from '../report.ts';

const intent = { tool: 'issue_refund', effect: 'transactional', args: { order: '7731', amount: 40 } } as const;
const refund = (tx: Statements, key: string) =>
  tx`insert into bench_refund (key, customer, amount) values (${key}::text, '7731', 40)`;

interface Round {
  readonly perSecond: number;
  readonly p50: number;
  readonly walBytes: number;
  readonly cpuMicros: number;
}

/** One loop for each of `works`, until the time is over. */
async function measure(sql: Sql, works: readonly (() => Promise<unknown>)[], roundMs: number): Promise<Round> {
  const times: number[] = [];
  const walBefore = await walPosition(sql);
  const cpu = process.cpuUsage();
  const started = performance.now();
  const end = started + roundMs;
  await Promise.all(
    works.map(async (work) => {
      for (let before = performance.now(); before < end;) {
        await work();
        const now = performance.now();
        times.push(now - before);
        before = now;
      }
    }),
  );
  const seconds = (performance.now() - started) / 1_000;
  const used = process.cpuUsage(cpu);
  return {
    perSecond: times.length / seconds,
    p50: quantile(times, 0.5),
    walBytes: ((await walPosition(sql)) - walBefore) / times.length,
    cpuMicros: (used.user + used.system) / times.length,
  };
}

async function walPosition(sql: Sql): Promise<number> {
  const [row] = await sql<{ at: number }[]>`
    select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as at`;
  return row?.at ?? 0;
}

export async function run({ quick }: { quick: boolean }): Promise<Report> {
  const [rounds, roundMs] = quick ? [5, 1_000] : [9, 3_000];
  const database = await openDatabase();
  const parts = { url: database.url, log: silentLog, metrics: createMetrics(), clock: systemClock };
  const bus = localBus(parts);
  const ledger = createLedger({ ...parts, work: sessionWork });
  // Its lease outlasts the run: nobody renews it.
  const turns = createTurns({ ...parts, bus, bounds: { debounceMs: 0, debounceCapMs: 1, leaseMs: 3_600_000 } });
  const plain = connect({ ...parts, connections: limits.stepConnections, name: 'bench plain' });

  async function running(count: number): Promise<ClaimedTurn[]> {
    const sessions = Array.from({ length: count }, () => `bench-${randomUUID()}`);
    for (const session of sessions) {
      await ledger.create(session, {});
      await turns.request({ session, key: 'k', content: 'hello', onBusy: 'enqueue', by: 'bench' });
    }
    const claimed: ClaimedTurn[] = [];
    while (claimed.length < count) {
      const left = { limit: Math.min(limits.claimTurns, count - claimed.length), waitMs: 1_000 };
      const of = { worker: 'bench', policy: 'retry', maxAttempts: 3, turnMs: limits.turnDeadlineMs } as const;
      claimed.push(...(await turns.claim({ ...of, ...left })));
    }
    return claimed;
  }

  const stepping = (turn: ClaimedTurn): (() => Promise<unknown>) => {
    let index = 0;
    return () =>
      turns.steps.transactional(turn, index++, intent, async (tx, key) => {
        await refund(tx, key);
        return { result: { refund: key }, deliveries: [{ topic: 'refund.issued', payload: { key, amount: 40 } }] };
      });
  };
  const inserting = (): (() => Promise<unknown>) => {
    const [prefix, count] = [randomUUID(), { now: 0 }];
    return () => transaction(plain, (tx) => refund(tx, `v1:${prefix}:${count.now++}`));
  };

  try {
    await plain`create table bench_refund (key text primary key, customer text not null, amount integer not null)`;
    const rows: Report['rows'][number][] = [];
    for (const sessions of [1, 16, 64]) {
      const seen: { plain: Round; step: Round }[] = [];
      for (let round = -1; round < rounds; round += 1) {
        progressOfRound(round, rounds, `${sessions} sessions`);
        const steps = (await running(sessions)).map(stepping);
        const both = {
          plain: await measure(plain, Array.from({ length: sessions }, inserting), roundMs),
          step: await measure(plain, steps, roundMs),
        };
        if (round >= 0) seen.push(both);
      }
      const figure = (side: 'plain' | 'step', name: keyof Round): number =>
        median(seen.map((both) => both[side][name]));
      const ratios = seen.map((both) => both.step.perSecond / both.plain.perSecond);
      rows.push({
        sessions,
        'plain/s': Math.round(figure('plain', 'perSecond')),
        'steps/s': Math.round(figure('step', 'perSecond')),
        ratio: rounded(median(ratios)),
        'least and most': spread(ratios),
        'plain p50 ms': rounded(figure('plain', 'p50')),
        'step p50 ms': rounded(figure('step', 'p50')),
        'plain WAL bytes': Math.round(figure('plain', 'walBytes')),
        'step WAL bytes': Math.round(figure('step', 'walBytes')),
        'plain µs of CPU': Math.round(figure('plain', 'cpuMicros')),
        'step µs of CPU': Math.round(figure('step', 'cpuMicros')),
      });
    }
    return {
      name: 'Transactional steps beside the business transaction alone',
      method:
        'BEGIN, one INSERT, COMMIT by the same driver on as many connections, beside the same INSERT as a transactional tool: with its row of the journal, its fence, its event and one delivery in the same commit. A session takes its steps one after another.',
      rows,
    };
  } finally {
    await plain`drop table if exists bench_refund`;
    await disconnect(plain, 1_000);
    await turns.service.stop();
    await ledger.stop();
    await bus.stop();
    await database.close();
  }
}
