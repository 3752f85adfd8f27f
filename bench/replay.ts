/**
 * A long history to readers that come late: events a second, and the gateway's CPU for each event.
 *
 * Method. A gateway in a process of its own, on a Postgres with fsync on, holds sessions of 100,000 token deltas,
 * whose frames have about 190 bytes, taken in turn so that no round finds its pages still in the gateway's memory. A
 * round is one reader from the start to the last event, or ten at once; readers are
 * raw sockets in this process that count what arrives and fail the round if a byte is missing. Its floor is the same
 * pages asked of the ledger by this process alone, without HTTP. Rounds alternate; a figure is the median of its rounds.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { get } from 'node:http';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { randomSecret, systemClock } from '../src/base/clock.ts';
import { limits } from '../src/base/limits.ts';
import { silentLog } from '../src/base/log.ts';
import { createMetrics } from '../src/base/metrics.ts';
import { START, toCursor } from '../src/event/sequence.ts';
import { createLedger } from '../src/ledger/postgres-ledger.ts';
import type { Ledger } from '../src/ledger/ledger.ts';
import { eventLayout } from '../src/sse/frame.ts';
import { sessionWork } from '../src/turn/session-work.ts';
import { openDatabase } from './database.ts';
import type { Usage } from './replay-server.ts';
import { median, rounded, spread } from './report.ts';
import type { Report } from './report.ts';

export async function run(options: { quick: boolean }): Promise<Report> {
  const events = options.quick ? 20_000 : 100_000;
  const rounds = options.quick ? 3 : 7;
  const database = await openDatabase();
  const key = randomSecret();
  const server = fork(fileURLToPath(new URL('replay-server.ts', import.meta.url)), {
    env: {
      ...process.env,
      DATABASE_URL: database.url,
      LEDGERLINE_INTERNAL_KEY: key,
      LEDGERLINE_TOKEN_SECRET: randomSecret(),
      LEDGERLINE_PUBLIC_PORT: '0',
      LEDGERLINE_INTERNAL_PORT: '0',
    },
  });
  const ledger = createLedger({
    url: database.url,
    log: silentLog,
    metrics: createMetrics(),
    clock: systemClock,
    work: sessionWork,
  });
  try {
    const [url] = (await once(server, 'message')) as [string];
    await ledger.start();
    // More history than the gateway keeps pages for, taken in turn, so that every round reads Postgres.
    const sessions: string[] = [];
    let bytes = 0;
    do {
      sessions.push(`long-${sessions.length}`);
      bytes = await fill(ledger, sessions.at(-1) ?? '', events);
    } while ((sessions.length - 1) * bytes < limits.pageCacheBytes * 1.5);
    let turn = 0;
    const nextSession = () => sessions[turn++ % sessions.length] ?? '';
    const read = (session: string) => follow(`${url}/sessions/${session}/stream`, key, bytes);
    const usage = async (): Promise<Usage> => {
      const answered = once(server, 'message');
      server.send('usage');
      return ((await answered) as [Usage])[0];
    };
    const sides = {
      'the pages alone, without HTTP': { readers: 1, work: () => pages(ledger, nextSession()), isServed: false },
      'one reader': { readers: 1, work: () => read(nextSession()), isServed: true },
      'ten readers at once': {
        readers: 10,
        work: () => {
          const session = nextSession();
          return Promise.all(Array.from({ length: 10 }, () => read(session)));
        },
        isServed: true,
      },
    };
    const seen = new Map<string, { perSecond: number[]; micros: number[]; residentMiB: number }>();
    for (let round = -1; round < rounds; round += 1) {
      for (const [name, side] of Object.entries(sides)) {
        const before = side.isServed ? await usage() : ownUsage();
        const started = performance.now();
        await side.work();
        const seconds = (performance.now() - started) / 1000;
        const after = side.isServed ? await usage() : ownUsage();
        if (round < 0) continue;
        const figures = seen.get(name) ?? { perSecond: [], micros: [], residentMiB: 0 };
        figures.perSecond.push((events * side.readers) / seconds);
        figures.micros.push((after.cpuMicros - before.cpuMicros) / (events * side.readers));
        figures.residentMiB = Math.max(figures.residentMiB, after.residentBytes / 2 ** 20);
        seen.set(name, figures);
      }
    }
    const rows = [...seen].map(([side, figures]) => ({
      side,
      'events/s': Math.round(median(figures.perSecond)),
      'CPU µs an event': rounded(median(figures.micros)),
      'least and most': spread(figures.micros),
      'resident MiB': Math.round(figures.residentMiB),
    }));
    return {
      name: `Replay of ${events.toLocaleString('en')} events`,
      method:
        'One session, read from the start by raw sockets in another process; CPU is the gateway’s, for each event and reader. The first row is the same pages asked of the ledger without HTTP.',
      rows,
    };
  } finally {
    server.disconnect();
    await ledger.stop();
    await database.close();
  }
}

const ownUsage = (): Usage => {
  const { user, system } = process.cpuUsage();
  return { cpuMicros: user + system, residentBytes: process.memoryUsage.rss() };
};

/** Returns how many bytes the frames of all events have. */
async function fill(ledger: Ledger, session: string, events: number): Promise<number> {
  await ledger.create(session, {});
  const data = JSON.stringify({
    message: 'm-1',
    text: ' of the order that you placed on Tuesday, which has left our house',
  });
  const event = { type: 'text.delta', data, bytes: Buffer.byteLength(data) };
  for (let stored = 0; stored < events; stored += limits.eventsPerAppend) {
    await ledger.append({ session, events: Array.from({ length: limits.eventsPerAppend }, () => event) });
  }
  return pages(ledger, session);
}

async function pages(ledger: Ledger, session: string): Promise<number> {
  let bytes = 0;
  for (let after = START; ;) {
    const page = await ledger.page(session, after, toCursor(after + limits.pageRows), eventLayout);
    if (page.bytes.length === 0) return bytes;
    bytes += page.bytes.length;
    after = page.last;
  }
}

/** Resolves when as many bytes of event frames as there are have come; control frames come before and after them. */
function follow(url: string, key: string, bytes: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent: false, headers: { authorization: `Bearer ${key}` } }, (response) => {
      let arrived = 0;
      let last = Buffer.alloc(0);
      response.on('data', (chunk: Buffer) => {
        arrived += chunk.length;
        last = Buffer.concat([last, chunk]).subarray(-300);
        if (arrived >= bytes && last.includes('event: connected')) {
          request.destroy();
          resolve();
        }
      });
      response.on('end', () => reject(new Error(`the stream ended after ${arrived} of ${bytes} bytes`)));
    });
    request.on('error', (error) => {
      if (!request.destroyed) reject(error);
    });
  });
}
