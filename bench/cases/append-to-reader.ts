/**
 * From an append to its readers, at 50 events a second.
 *
 * Method. Events are appended over HTTP on a fixed schedule that does not wait for the answers, to one session with 1, 100 and 1,000
 * readers; an event's age is taken by up to 20 of the readers, from when it should have been sent to its arrival. Servers in turn,
 * after one unmeasured round each; a figure is the median of its rounds. The floor makes Ledgerline's own commit and then writes
 * to the sockets, with nothing between. Durable Streams in files reads its file for each reader and event; with 100 readers it is behind
 * by half a minute after one second of events, so that with more than one reader only its store in memory is measured, which is faster.
 */
import { appendAtPace } from '../load/pace.ts';
import { Readers } from '../load/readers.ts';
import { openStage } from '../load/stage.ts';
import type { Running, Stage } from '../load/stage.ts';
import type { PeerName } from '../peers/peers.ts';
import { countTo, median, progress, quantile, rounded, spread } from '../report.ts';
import type { Options, Report, Row, Target } from '../report.ts';

const names: readonly PeerName[] = [
  'ledgerline',
  'commit-and-raw',
  'durable-memory',
  'durable-file',
  'straight-forward',
];
const PER_SECOND = 50;

interface Seen {
  readonly title: string;
  readonly p50: number[];
  readonly p99: number[];
}

async function compare(stage: Stage, viewers: number, rounds: number, events: number): Promise<Map<PeerName, Seen>> {
  const session = `latency-${viewers}`;
  const sides: { running: Running; readers: Readers; seen: Seen }[] = [];
  try {
    for (const running of await stage.startAll(names.filter((name) => name !== 'durable-file' || viewers === 1))) {
      const readers = await Readers.start();
      sides.push({ running, readers, seen: { title: running.peer.title, p50: [], p99: [] } });
      const own = `${session}-${running.name}`;
      await running.create([own]);
      await readers.open(
        running.port,
        countTo(viewers).map(() => running.peer.follow(own)),
      );
    }
    for (let round = -1; round < rounds; round += 1) {
      for (const { running, readers, seen } of sides) {
        progress(
          `${viewers} readers of ${running.name}, ${round < 0 ? 'unmeasured' : `round ${round + 1} of ${rounds}`}`,
        );
        await readers.report();
        await appendAtPace(running, [`${session}-${running.name}`], { perSecond: PER_SECOND, events });
        const { agesMs } = await readers.arrival(events * viewers);
        if (round < 0) continue;
        seen.p50.push(quantile(agesMs, 0.5));
        seen.p99.push(quantile(agesMs, 0.99));
      }
    }
    return new Map(sides.map(({ running, seen }) => [running.name, seen]));
  } finally {
    for (const { running, readers } of sides) {
      readers.end();
      await running.stop();
    }
  }
}

function targetsOf(viewers: number, seen: ReadonlyMap<PeerName, Seen>): Target[] {
  const of = (name: PeerName, what: 'p50' | 'p99'): number => median(seen.get(name)?.[what] ?? []);
  const others: readonly PeerName[] = ['durable-memory', 'durable-file'];
  return [
    ...others
      .filter((name) => seen.has(name))
      .flatMap((name) =>
        (['p50', 'p99'] as const).map((what) => ({
          what: `${viewers} readers: ${what} at most that of ${seen.get(name)?.title} (${rounded(of(name, what))} ms)`,
          seen: of('ledgerline', what),
          atMost: of(name, what),
        })),
      ),
    ...(viewers === 1_000
      ? [
          {
            what: '1,000 readers: p50 at most 1.3 times that of raw writes after the same commit',
            seen: of('ledgerline', 'p50') / of('commit-and-raw', 'p50'),
            atMost: 1.3,
          },
        ]
      : []),
  ];
}

export async function run({ quick }: Options): Promise<Report> {
  const [rounds, events] = quick ? [3, 50] : [7, 250];
  const stage = await openStage(names);
  try {
    const rows: Row[] = [];
    const targets: Target[] = [];
    for (const viewers of [1, 100, 1_000]) {
      const seen = await compare(stage, viewers, rounds, events);
      for (const { title, p50, p99 } of seen.values()) {
        rows.push({
          readers: viewers,
          server: title,
          'p50 ms': rounded(median(p50)),
          'p50, least and most': spread(p50),
          'p99 ms': rounded(median(p99)),
          'p99, least and most': spread(p99),
        });
      }
      targets.push(...targetsOf(viewers, seen));
    }
    return {
      name: 'From an append to its readers',
      method: '50 events/s appended over HTTP on a schedule to one session; ages as up to 20 of its readers see them.',
      leftOut: stage.leftOut,
      rows,
      targets,
    };
  } finally {
    await stage.close();
  }
}
