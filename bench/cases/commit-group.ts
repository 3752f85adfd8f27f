/**
 * Appends through the commit group beside the transaction that everybody writes first.
 *
 * Method. Both sides run in this process, on the same Postgres with fsync on, storing the same token deltas of about
 * 60 bytes, one an append. The naive side is BEGIN, SELECT … FOR UPDATE of the head, INSERT, UPDATE of the head, COMMIT
 * as five round trips on a pool of 10 connections. The ledger's side is `ledger.append`. Writers are closed loops: each
 * sends its next append when the last was answered; 32 writers on 1 session, and one writer for each of 100 and of 1,000
 * sessions. Rounds of the two sides alternate in one run, after one unmeasured round of each, and a figure is the median
 * of its rounds, so that a machine's mood meets both. The lone writer is one loop on one session: its p50 stands beside
 * that of the same statement sent bare, by the driver alone.
 *
 * Runs on LEDGERLINE_BENCH_DATABASE_URL when that is set, else on an embedded Postgres in a folder of its own.
 */
import { performance } from 'node:perf_hooks';
import { systemClock } from '../../src/base/clock.ts';
import { limits } from '../../src/base/limits.ts';
import { silentLog } from '../../src/base/log.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import { connect, disconnect } from '../../src/db/postgres.ts';
import { appendRun } from '../../src/ledger/append-statement.ts';
import { createLedger } from '../../src/ledger/postgres-ledger.ts';
import { sessionWork } from '../../src/turn/session-work.ts';
import { appendInFive } from '../peers/five-statements.ts';
import { openDatabase } from '../services/database.ts';
import { median, progressOfRound, quantile, spread } from '../report.ts';
import type { Options, Report, Target } from '../report.ts';

type Append = (session: string) => Promise<unknown>;

const payload = JSON.stringify({ message: 'm-1', text: ' of the order that you placed on' });
const event = { type: 'text.delta', data: payload, bytes: Buffer.byteLength(payload) };

const workloads = [
  { sessions: 1, writers: 32, times: 15 },
  { sessions: 100, writers: 100, times: 8 },
  { sessions: 1_000, writers: 1_000, times: 11 },
];

export async function run(options: Options): Promise<Report> {
  const roundMs = options.quick ? 500 : 3_000;
  const rounds = options.quick ? 3 : 5;
  const database = await openDatabase();
  const ledger = createLedger({
    url: database.url,
    log: silentLog,
    metrics: createMetrics(),
    clock: systemClock,
    work: sessionWork,
  });
  const pool = connect({ url: database.url, connections: 10, name: 'bench naive', log: silentLog });
  const single = connect({
    url: database.url,
    connections: 1,
    name: 'bench bare',
    log: silentLog,
    settings: { enable_seqscan: 'off' },
  });
  try {
    const prefix = `bench-${Date.now()}`;
    const sessionsOf = async (side: string, count: number): Promise<string[]> => {
      const names = Array.from({ length: count }, (_, index) => `${prefix}-${side}-${count}-${index}`);
      await Promise.all(names.map((name) => ledger.create(name, {})));
      return names;
    };
    const group: Append = (session) => ledger.append({ session, events: [event] });
    const rows: Report['rows'][number][] = [];
    const targets: Target[] = [];

    for (const { sessions, writers, times } of workloads) {
      const [ours, theirs] = [await sessionsOf('group', sessions), await sessionsOf('naive', sessions)];
      const results: { group: Round[]; naive: Round[] } = { group: [], naive: [] };
      for (let index = -1; index < rounds; index++) {
        progressOfRound(index, rounds, `${sessions} sessions`);
        const naive = await measure(
          (session) => appendInFive(pool, session, event.type, event.data),
          theirs,
          writers,
          roundMs,
        );
        const grouped = await measure(group, ours, writers, roundMs);
        if (index >= 0) {
          results.naive.push(naive);
          results.group.push(grouped);
        }
      }
      const [fast, slow] = [middle(results.group, 'perSecond'), middle(results.naive, 'perSecond')];
      rows.push({
        sessions,
        writers,
        'naive/s': Math.round(slow),
        'group/s': Math.round(fast),
        times: round(fast / slow),
        'least and most': spread(
          results.group.map(({ perSecond }, index) => perSecond / (results.naive[index]?.perSecond ?? 0)),
        ),
        'naive p50/p99 ms': `${round(middle(results.naive, 'p50'))}/${round(middle(results.naive, 'p99'))}`,
        'group p50/p99 ms': `${round(middle(results.group, 'p50'))}/${round(middle(results.group, 'p99'))}`,
        'naive µs of CPU': round(middle(results.naive, 'cpuMicros')),
        'group µs of CPU': round(middle(results.group, 'cpuMicros')),
      });
      const what = `${sessions.toLocaleString('en')} ${sessions === 1 ? 'session' : 'sessions'}: at least ${times} times the five statements`;
      targets.push({ what, seen: round(fast / slow), atLeast: times });
    }

    const [[ours = ''], [bare = '']] = [await sessionsOf('lone', 1), await sessionsOf('bare', 1)];
    const lone: { group: Round[]; bare: Round[] } = { group: [], bare: [] };
    for (let index = -1; index < rounds; index++) {
      progressOfRound(index, rounds, 'a lone writer');
      const direct = await measure(
        (session) => appendRun(single, [{ session, events: [event] }], limits.leaseMs),
        [bare],
        1,
        roundMs,
      );
      const grouped = await measure(group, [ours], 1, roundMs);
      if (index >= 0) {
        lone.bare.push(direct);
        lone.group.push(grouped);
      }
    }
    rows.push({
      sessions: 1,
      writers: 1,
      'bare statement p50 ms': round(middle(lone.bare, 'p50'), 3),
      'ledger p50 ms': round(middle(lone.group, 'p50'), 3),
      times: round(middle(lone.group, 'p50') / middle(lone.bare, 'p50')),
    });
    return {
      name: 'The commit group beside the transaction that everybody writes first',
      method:
        'One event of 60 bytes an append, closed loops, fsync on. The naive side is BEGIN, SELECT … FOR UPDATE, INSERT, UPDATE, COMMIT as round trips on a pool of ten. The last row is a lone writer beside the same single statement sent bare.',
      rows,
      targets,
    };
  } finally {
    await ledger.stop();
    await disconnect(pool, 1_000);
    await disconnect(single, 1_000);
    await database.close();
  }
}

interface Round {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly cpuMicros: number;
}

async function measure(append: Append, sessions: readonly string[], writers: number, roundMs: number): Promise<Round> {
  const times: number[] = [];
  const cpu = process.cpuUsage();
  const started = performance.now();
  const end = started + roundMs;
  await Promise.all(
    Array.from({ length: writers }, async (_, index) => {
      const session = sessions[index % sessions.length] ?? '';
      for (let before = performance.now(); before < end;) {
        await append(session);
        const now = performance.now();
        times.push(now - before);
        before = now;
      }
    }),
  );
  const seconds = (performance.now() - started) / 1000;
  const used = process.cpuUsage(cpu);
  return {
    perSecond: times.length / seconds,
    p50: quantile(times, 0.5),
    p99: quantile(times, 0.99),
    cpuMicros: (used.user + used.system) / times.length,
  };
}

const middle = (rounds: readonly Round[], figure: keyof Round): number => median(rounds.map((round) => round[figure]));

const round = (value: number, digits = 1): number => Number(value.toFixed(digits));
