/**
 * Readers that have stopped reading, beside readers that go on.
 *
 * Method. Two gateways, one of which has stalled readers on the session: they connect, stop reading, and then get 8 MB of
 * events, which is more than the kernels' buffers of a connection hold. So what comes after waits in the gateway. Then rounds
 * alternate between the two: 1,000 events a second are appended over HTTP to the session, and 20 readers that read take
 * their ages. In the end the resident memory of the two processes, after a garbage collection, is compared; heap and buffers are
 * told beside it, since a room that repaired a gap has let go of its tail, which may be 8 MB on one side alone.
 */
import { sleep } from '../../src/base/clock.ts';
import { appendAtPace } from '../load/pace.ts';
import { Connection } from '../load/connection.ts';
import { Readers } from '../load/readers.ts';
import { openStage } from '../load/stage.ts';
import type { Running } from '../load/stage.ts';
import type { Usage } from '../peers/host.ts';
import { countTo, median, progressOfRound, quantile, rounded, spread } from '../report.ts';
import type { Options, Report } from '../report.ts';

const HEALTHY = 20;
const PER_SECOND = 1_000;
const FILL = { appends: 100, bytes: 80_000 };

interface Side {
  readonly title: string;
  readonly gateway: Running;
  readonly readers: Readers;
  readonly stalled: Readers;
  readonly p99: number[];
  readonly p50: number[];
}

async function open(gateway: Running, title: string, session: string, stalledCount: number): Promise<Side> {
  const [readers, stalled] = [await Readers.start(), await Readers.start()];
  await gateway.create([session]);
  const follow = (count: number) => countTo(count).map(() => gateway.peer.follow(session));
  await stalled.open(gateway.port, follow(stalledCount));
  await stalled.stall();
  // Before the wide events, so that both gateways have had them in a room.
  await readers.open(gateway.port, follow(HEALTHY));
  const connection = await Connection.open(gateway.port);
  const wide = JSON.stringify({ text: 'x'.repeat(FILL.bytes) });
  for (let sent = 0; sent < FILL.appends; sent += 1) await connection.do(gateway.peer.append!(session, wide));
  connection.close();
  return { title, gateway, readers, stalled, p50: [], p99: [] };
}

export async function run({ quick }: Options): Promise<Report> {
  const [stalledCount, rounds, seconds] = quick ? [200, 3, 2] : [500, 5, 6];
  const stage = await openStage(['ledgerline']);
  const sides: Side[] = [];
  try {
    const session = 'stalled';
    sides.push(await open(await stage.start('ledgerline'), 'none stalled', `${session}-none`, 0));
    sides.push(await open(await stage.start('ledgerline'), `${stalledCount} stalled`, `${session}-many`, stalledCount));
    const sessionOf = ({ stalled }: Side): string =>
      stalled === sides[0]?.stalled ? `${session}-none` : `${session}-many`;
    const events = PER_SECOND * seconds;
    for (let round = -1; round < rounds; round += 1) {
      progressOfRound(round, rounds);
      for (const side of sides) {
        await side.readers.report();
        await appendAtPace(side.gateway, [sessionOf(side)], { perSecond: PER_SECOND, events, connections: 16 });
        const { agesMs } = await side.readers.arrival(events * HEALTHY);
        if (round < 0) continue;
        side.p50.push(quantile(agesMs, 0.5));
        side.p99.push(quantile(agesMs, 0.99));
      }
    }
    await sleep(1_000);
    const seen: Usage[] = [];
    for (const { gateway } of sides) {
      // What one collection frees is given back to the machine by the next.
      await gateway.usage(true);
      await sleep(1_000);
      seen.push(await gateway.usage(true));
    }
    const [none, many] = sides.map(({ p99 }) => median(p99));
    const megabytes = (index: number, of: 'residentBytes' | 'heapBytes' | 'bufferBytes') =>
      (seen[index]?.[of] ?? 0) / 1e6;
    const more = megabytes(1, 'residentBytes') - megabytes(0, 'residentBytes');
    return {
      name: 'Readers that have stopped reading',
      method: `1,000 events/s to one session; the ages that ${HEALTHY} readers see who read, with and without others who stopped and whose kernels’ buffers are full.`,
      rows: sides.map(({ title, p50, p99 }, index) => ({
        readers: title,
        'p50 ms': rounded(median(p50)),
        'p99 ms': rounded(median(p99)),
        'p99, least and most': spread(p99),
        'resident MB': rounded(megabytes(index, 'residentBytes')),
        'heap MB': rounded(megabytes(index, 'heapBytes')),
        'buffers MB': rounded(megabytes(index, 'bufferBytes')),
      })),
      targets: [
        { what: 'memory: at most 20 MB more', seen: more, atMost: 20 },
        { what: 'healthy readers: p99 at most 1.5 times', seen: (many ?? 0) / (none ?? 0), atMost: 1.5 },
      ],
    };
  } finally {
    for (const { readers, stalled } of sides) {
      readers.end();
      stalled.end();
    }
    await stage.close();
  }
}
