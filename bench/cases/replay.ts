/**
 * A long history to readers that come late: events a second, the gateway's CPU for each, and what it asks Postgres for.
 *
 * Method. A gateway in a process of its own, on a Postgres with fsync on, holds sessions of 100,000 token deltas, whose frames have
 * about 265 bytes, taken in turn so that no round finds its pages still in the gateway's memory. A round is one reader from the start
 * to the last event, or ten or fifty at once; readers are raw sockets in another process that count what arrives, and a round in which
 * an event is missing fails. The floor is the same pages asked of the ledger by this process alone, without HTTP. Rounds
 * alternate after one unmeasured round each; a figure is the median of its rounds. Statements are those that Postgres has counted.
 */
import { limits } from '../../src/base/limits.ts';
import { START, toCursor } from '../../src/event/sequence.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { eventLayout } from '../../src/sse/frame.ts';
import { fill, withLedger } from '../load/history.ts';
import { Readers } from '../load/readers.ts';
import { openStage } from '../load/stage.ts';
import { frameOf, stampedData } from '../peers/payload.ts';
import { countTo, median, progressOfRound, rounded, spread } from '../report.ts';
import type { Options, Report } from '../report.ts';
import { statementsSoFar } from '../services/database.ts';

interface Round {
  readonly perSecond: number;
  readonly micros: number;
  readonly statements: number;
}

async function pages(ledger: Ledger, session: string): Promise<void> {
  for (let after = START; ;) {
    const page = await ledger.page(session, after, toCursor(after + limits.pageRows), eventLayout);
    if (page.bytes === 0) return;
    after = page.last;
  }
}

export async function run({ quick }: Options): Promise<Report> {
  const [events, rounds] = quick ? [20_000, 3] : [100_000, 7];
  const stage = await openStage(['ledgerline'], { isCounted: true });
  const readers = await Readers.start();
  try {
    const { databaseUrl } = stage.given;
    const gateway = await stage.start('ledgerline');
    return await withLedger(databaseUrl, async (ledger) => {
      // More history than the gateway keeps pages for.
      const bytes = frameOf(events, stampedData()).length * events;
      const sessions = countTo(2 + Math.ceil((limits.pageCacheBytes * 1.5) / bytes)).map((number) => `long-${number}`);
      await fill(ledger, sessions, events);
      let turn = 0;
      const nextSession = () => sessions[turn++ % sessions.length] ?? '';

      const served = async (count: number): Promise<void> => {
        const session = nextSession();
        const { headers = {} } = gateway.peer.follow(session);
        const request = { method: 'GET', path: `/sessions/${session}/stream`, headers } as const;
        await readers.report();
        await readers.open(
          gateway.port,
          countTo(count).map(() => request),
          { until: 'connected', looking: 0 },
        );
        await readers.arrival(events * count);
      };
      const ownCpu = (): number => {
        const { user, system } = process.cpuUsage();
        return user + system;
      };
      const gatewayCpu = async (): Promise<number> => (await gateway.usage()).cpuMicros;
      const sides = [
        {
          title: 'the pages alone, without HTTP (floor)',
          count: 1,
          work: () => pages(ledger, nextSession()),
          cpu: ownCpu,
        },
        ...[1, 10, 50].map((count) => ({
          title: count === 1 ? 'one reader' : `${count} readers at once`,
          count,
          work: () => served(count),
          cpu: gatewayCpu,
        })),
      ];
      const seen = sides.map((): Round[] => []);
      for (let round = -1; round < rounds; round += 1) {
        progressOfRound(round, rounds);
        for (const [index, { count, work, cpu }] of sides.entries()) {
          const [statements, before] = [await statementsSoFar(databaseUrl), await cpu()];
          const startedMs = performance.now();
          await work();
          const seconds = (performance.now() - startedMs) / 1_000;
          const micros = ((await cpu()) - before) / (events * count);
          await readers.cut();
          // The count counts its own statement.
          const asked = (await statementsSoFar(databaseUrl)) - statements - 1;
          if (round >= 0) seen[index]?.push({ perSecond: (events * count) / seconds, micros, statements: asked });
        }
      }
      const figure = (index: number, what: keyof Round): number =>
        median((seen[index] ?? []).map((round) => round[what]));
      return {
        name: `Replay of ${events.toLocaleString('en')} events`,
        method:
          'One session, read from the start by raw sockets in another process; CPU is the gateway’s, for each event and reader; statements are Postgres’s own count. The first row is the same pages asked of the ledger without HTTP.',
        rows: sides.map(({ title }, index) => ({
          side: title,
          'events/s': Math.round(figure(index, 'perSecond')),
          'CPU µs an event': rounded(figure(index, 'micros')),
          'least and most': spread((seen[index] ?? []).map(({ micros }) => micros)),
          statements: figure(index, 'statements'),
        })),
        targets: [
          { what: 'one reader: at least 150,000 events/s', seen: Math.round(figure(1, 'perSecond')), atLeast: 150_000 },
          { what: 'one reader: at most 2.5 µs of the gateway’s CPU an event', seen: figure(1, 'micros'), atMost: 2.5 },
          {
            what: '50 readers: at most 3 times the statements of one',
            seen: figure(3, 'statements') / figure(1, 'statements'),
            atMost: 3,
          },
        ],
      };
    });
  } finally {
    readers.end();
    await stage.close();
  }
}
