/**
 * What it costs a server to bring an event to its readers.
 *
 * Method. Each server runs in a process of its own, the readers are raw sockets in another. A figure is the CPU (user and
 * system) of the server's process around a fixed number of events, divided by the frames that arrived; a round in which a
 * frame is missing fails. A frame has about 265 bytes. Rounds of the servers alternate, so that a noisy moment meets all of
 * them, after one unmeasured round of each; a figure is the median of its rounds. Where a server is a library, its process hands it
 * the events; where it is a server, they are appended over HTTP by this process, and its CPU is without ours. Of Ledgerline these are
 * the rooms and the writers alone; an append's own cost is measured by `append-http`.
 *
 * "One at a time" sends the next event when every viewer was written to and a pause is over, and a round in which Ledgerline merged
 * writes fails: a sweep that outlasts the pause would look cheaper than the floor. At 2,000 events/s and with many sessions, servers
 * that write each event to each viewer are measured beside those that coalesce.
 */
import { sleep } from '../../src/base/clock.ts';
import { Connection } from '../load/connection.ts';
import { Readers } from '../load/readers.ts';
import { openStage } from '../load/stage.ts';
import type { Running, Stage } from '../load/stage.ts';
import { stampedData } from '../peers/payload.ts';
import type { PeerName } from '../peers/peers.ts';
import { countTo, median, progressOfRound, quantile, rounded, spread } from '../report.ts';
import type { Options, Report, Row } from '../report.ts';

interface Workload {
  readonly title: string;
  readonly sessions: number;
  /** Of each session. */
  readonly viewers: number;
  readonly events: number;
  /** 0: one at a time. */
  readonly perSecond: number;
  readonly rounds: number;
  readonly peers: readonly PeerName[];
}

interface Seen {
  readonly title: string;
  readonly micros: number[];
  readonly agesMs: number[];
}

const everyone: readonly PeerName[] = [
  'ledgerline-room',
  'raw-tcp',
  'node-http',
  'nchan',
  'durable-memory',
  'straight-forward',
  'better-sse',
  'hono-stream-sse',
  'resumable-stream',
];

/** Appended over HTTP one after another, in the pace that the others are handed their events. */
async function appendAll(to: Running, sessions: readonly string[], events: number, perSecond: number): Promise<void> {
  const append = to.peer.append!;
  const connection = await Connection.open(to.port);
  const startedMs = performance.now();
  for (let sent = 0; sent < events;) {
    const due = perSecond === 0 ? sent + 1 : Math.min(events, ((performance.now() - startedMs) * perSecond) / 1_000);
    for (; sent < due; sent += 1) await connection.do(append(sessions[sent % sessions.length] ?? '', stampedData()));
    await sleep(perSecond === 0 ? 25 : 1);
  }
  await sleep(30);
  connection.close();
}

async function round(running: Running, readers: Readers, sessions: readonly string[], workload: Workload) {
  const { title, events, perSecond, viewers } = workload;
  await readers.report();
  const before = await running.usage();
  if (running.peer.append === undefined) {
    const { writes } = await running.send({ sessions, events, perSecond, viewers });
    if (perSecond === 0 && writes !== undefined && writes < events * viewers) {
      throw new Error(`${title}: ${writes} writes for ${events * viewers} frames: some were coalesced`);
    }
  } else await appendAll(running, sessions, events, perSecond);
  const { agesMs } = await readers.arrival(events * viewers);
  const after = await running.usage();
  return { micros: (after.cpuMicros - before.cpuMicros) / (events * viewers), agesMs };
}

async function compare(stage: Stage, workload: Workload): Promise<Map<PeerName, Seen>> {
  const sessions = countTo(workload.sessions).map((number) => `fan-out-${Date.now()}-${number}`);
  const seen = new Map<PeerName, Seen>();
  const sides: { running: Running; readers: Readers }[] = [];
  try {
    for (const running of await stage.startAll(workload.peers)) {
      const readers = await Readers.start();
      sides.push({ running, readers });
      await running.create(sessions);
      const streams = sessions.flatMap((session) => countTo(workload.viewers).map(() => running.peer.follow(session)));
      await readers.open(running.port, streams);
      seen.set(running.name, { title: running.peer.title, micros: [], agesMs: [] });
    }
    await sleep(500);
    for (let index = -1; index < workload.rounds; index += 1) {
      progressOfRound(index, workload.rounds, workload.title);
      for (const { running, readers } of sides) {
        const { micros, agesMs } = await round(running, readers, sessions, workload);
        if (index < 0) continue;
        seen.get(running.name)?.micros.push(micros);
        seen.get(running.name)?.agesMs.push(...agesMs);
      }
    }
    return seen;
  } finally {
    for (const { running, readers } of sides) {
      readers.end();
      await running.stop();
    }
  }
}

function rowsOf(title: string, seen: ReadonlyMap<PeerName, Seen>): Row[] {
  const floor = median(seen.get('raw-tcp')?.micros ?? []);
  return [...seen.values()].map(({ title: server, micros, agesMs }) => ({
    workload: title,
    server,
    'CPU µs a frame': rounded(median(micros)),
    'least and most': spread(micros),
    'times raw TCP': rounded(median(micros) / floor),
    'p50 ms': rounded(median(agesMs)),
    'p99 ms': rounded(quantile(agesMs, 0.99)),
  }));
}

export async function run({ quick }: Options): Promise<Report> {
  const stage = await openStage(everyone);
  const many = { title: '1 session × 1,000 viewers, one event at a time', sessions: 1, viewers: 1_000, perSecond: 0 };
  const busy = { title: '1 session × 250 viewers, 2,000 events/s', sessions: 1, viewers: 250, perSecond: 2_000 };
  const wide = { title: '1,000 sessions × 1 viewer, 4,000 events/s', sessions: 1_000, viewers: 1, perSecond: 4_000 };
  // At tens of µs a frame, half a million frames a second are out of reach: only queueing would be measured.
  const fast: readonly PeerName[] = ['ledgerline-room', 'raw-tcp', 'node-http'];
  try {
    const one = await compare(stage, { ...many, events: quick ? 20 : 150, rounds: quick ? 3 : 7, peers: everyone });
    const coalesced = await compare(stage, {
      ...busy,
      events: quick ? 2_000 : 6_000,
      rounds: quick ? 3 : 5,
      peers: fast,
    });
    const single = await compare(stage, {
      ...wide,
      events: quick ? 4_000 : 20_000,
      rounds: quick ? 3 : 5,
      peers: fast,
    });
    const of = (seen: ReadonlyMap<PeerName, Seen>, name: PeerName): number => median(seen.get(name)?.micros ?? []);
    const ours = of(one, 'ledgerline-room');
    const ratio = (name: PeerName): number => rounded(ours / of(one, name));
    const floor = of(one, 'raw-tcp');
    const { agesMs = [] } = coalesced.get('ledgerline-room') ?? {};
    const optional = (name: PeerName, atMost: number, what: string) =>
      one.has(name) ? [{ what, seen: ratio(name), atMost }] : [];
    return {
      name: 'An event to its readers',
      method:
        'CPU of the server’s process for each frame of about 265 bytes and viewer; servers in turn, medians of rounds; readers in another process.',
      leftOut: stage.leftOut,
      rows: [...rowsOf(many.title, one), ...rowsOf(busy.title, coalesced), ...rowsOf(wide.title, single)],
      targets: [
        ours - floor <= 2
          ? { what: '1 × 1,000: at most 2 µs a frame above raw TCP', seen: rounded(ours - floor), atMost: 2 }
          : { what: '1 × 1,000: at most 1.25 times raw TCP', seen: ratio('raw-tcp'), atMost: 1.25 },
        ...optional('nchan', 1, '1 × 1,000: at most nchan’s'),
        ...optional('hono-stream-sse', 0.25, '1 × 1,000: at most a quarter of streamSSE'),
        ...optional('better-sse', 0.25, '1 × 1,000: at most a quarter of better-sse'),
        {
          what: '250 viewers at 2,000 events/s: at most 1.6 µs a frame',
          seen: rounded(of(coalesced, 'ledgerline-room')),
          atMost: 1.6,
        },
        { what: '250 viewers at 2,000 events/s: p99 at most 25 ms', seen: rounded(quantile(agesMs, 0.99)), atMost: 25 },
        {
          what: '1,000 × 1: at most 1.4 times raw TCP',
          seen: rounded(of(single, 'ledgerline-room') / of(single, 'raw-tcp')),
          atMost: 1.4,
        },
      ],
      chart: {
        title: 'CPU to bring one event to one of 1,000 viewers',
        unit: 'µs',
        bars: [...one].map(([name, { title, micros }]) => ({
          label: title,
          value: rounded(median(micros)),
          isOurs: name === 'ledgerline-room',
        })),
      },
    };
  } finally {
    await stage.close();
  }
}
