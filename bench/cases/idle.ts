/**
 * What an open connection costs that nothing happens on.
 *
 * Method. Memory: the resident set of the server's process after a garbage collection, with and without the readers of one session,
 * each server in a fresh process that has served 50 others before. The space for young objects is left out: a process that has been
 * busy keeps up to 32 MB of it, which at 9,000 readers would be 3.6 KiB each, of one server and not of another. All are asked with the same headers, since what a request brings is
 * kept as long as its answer goes on. CPU: a gateway with its head check running, whose readers are spread
 * over rooms, ten to each; its process's CPU over a time in which nobody appends.
 */
import { sleep } from '../../src/base/clock.ts';
import { Readers } from '../load/readers.ts';
import { openStage } from '../load/stage.ts';
import type { Stage } from '../load/stage.ts';
import type { HttpRequest } from '../peers/peer.ts';
import { loadPeer } from '../peers/peers.ts';
import type { PeerName } from '../peers/peers.ts';
import { countTo, progress, rounded } from '../report.ts';
import type { Options, Report, Row } from '../report.ts';

const names: readonly PeerName[] = [
  'ledgerline',
  'node-http',
  'raw-tcp',
  'nchan',
  'durable-memory',
  'better-sse',
  'hono-stream-sse',
];
const READERS_OF_ROOM = 10;

async function kibPerReader(
  stage: Stage,
  name: PeerName,
  count: number,
  headers: HttpRequest['headers'],
): Promise<{ title: string; kib: number } | undefined> {
  const [running] = await stage.startAll([name]);
  if (running === undefined) return undefined;
  const readers = await Readers.start();
  try {
    await running.create(['idle']);
    const request = running.peer.follow('idle');
    const alike = { ...request, headers: { ...headers, ...request.headers } };
    const open = (many: number) =>
      readers.open(
        running.port,
        countTo(many).map(() => alike),
      );
    await open(50);
    await sleep(500);
    const empty = await running.usage(true);
    await open(count);
    await sleep(2_000);
    const full = await running.usage(true);
    return { title: running.peer.title, kib: (full.residentBytes - empty.residentBytes) / count / 1_024 };
  } finally {
    readers.end();
    await running.stop();
  }
}

/** Of one core. */
async function idlePercent(stage: Stage, rooms: number, seconds: number): Promise<number> {
  const running = await stage.start('ledgerline');
  const readers = await Readers.start();
  try {
    const sessions = countTo(rooms).map((number) => `idle-${number}`);
    await running.create(sessions);
    const streams = sessions.flatMap((session) => countTo(READERS_OF_ROOM).map(() => running.peer.follow(session)));
    await readers.open(running.port, streams);
    await sleep(5_000);
    const before = await running.usage();
    await sleep(seconds * 1_000);
    const after = await running.usage();
    return ((after.cpuMicros - before.cpuMicros) / (seconds * 1e6)) * 100;
  } finally {
    readers.end();
    await running.stop();
  }
}

export async function run({ quick }: Options): Promise<Report> {
  const [count, seconds] = quick ? [2_000, 12] : [9_000, 60];
  const stage = await openStage(names);
  try {
    const { headers } = (await loadPeer('ledgerline')).follow('idle');
    const kib = new Map<PeerName, number>();
    const rows: Row[] = [];
    for (const name of names) {
      progress(`${count} idle readers of ${name}`);
      const seen = await kibPerReader(stage, name, count, headers);
      if (seen === undefined) continue;
      kib.set(name, seen.kib);
      rows.push({
        what: `${count} idle readers of one session`,
        server: seen.title,
        'KiB a reader': rounded(seen.kib),
      });
    }
    const rooms = count / READERS_OF_ROOM;
    progress(`${count} idle readers in ${rooms} rooms, for ${seconds} s`);
    const percent = await idlePercent(stage, rooms, seconds);
    rows.push({
      what: `${count} idle readers in ${rooms} rooms`,
      server: 'Ledgerline',
      '% of a core': rounded(percent),
    });
    const ours = kib.get('ledgerline') ?? Number.NaN;
    return {
      name: 'An idle connection',
      method:
        'Resident memory of the server’s process for each open stream, without V8’s empty space for young objects; then the CPU of a gateway whose rooms are silent.',
      leftOut: stage.leftOut,
      rows,
      targets: [
        {
          what: 'at most 1.25 times a bare response of node:http',
          seen: ours / (kib.get('node-http') ?? 0),
          atMost: 1.25,
        },
        { what: 'at most 16 KiB a reader', seen: ours, atMost: 16 },
        { what: 'idle: at most 5 % of a core', seen: percent, atMost: 5 },
      ],
    };
  } finally {
    await stage.close();
  }
}
