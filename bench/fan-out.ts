/**
 * One session to many viewers: the server's CPU for each frame and viewer, the delay, and the memory of an idle viewer.
 *
 * Method. Each server runs in a process of its own; the viewers are raw sockets in another. A figure of CPU is
 * `process.cpuUsage()` (user and system) of the server's process around a fixed number of events, divided by events and
 * viewers; the viewers count what arrived, and a round in which a frame is missing fails. A frame has 265 bytes. Rounds
 * of the servers alternate, so that a noisy moment meets all of them, after one unmeasured round each; a figure is the
 * median of its rounds. "One at a time" sends the next event when every viewer was written to and a pause is over, and a
 * round in which writes were merged fails: without that, a sweep that outlasts the pause looks cheaper than the floor.
 * At 2,000 events/s the naive servers write each event to each viewer, so "times raw TCP" there is what the window
 * saves, not an overhead. Delays are those of one viewer, from before the event was made to its arrival. Memory is the resident set after a garbage
 * collection, with and without the viewers, each in a fresh process.
 */
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { sleep } from '../src/base/clock.ts';
import type { ClientReport, ClientRequest } from './fan-out-client.ts';
import { variants } from './fan-out-server.ts';
import type { Sent, ServerRequest, Variant } from './fan-out-server.ts';
import { quantile, rounded, spread } from './report.ts';
import type { Report } from './report.ts';

interface Workload {
  readonly name: string;
  readonly viewers: number;
  readonly events: number;
  readonly perSecond: number;
  readonly rounds: number;
  readonly servers: readonly Variant[];
}

interface Pair {
  readonly variant: Variant;
  readonly server: ChildProcess;
  readonly client: ChildProcess;
  readonly port: number;
}

const start = (file: string, ...args: string[]): ChildProcess =>
  fork(fileURLToPath(new URL(file, import.meta.url)), args, { execArgv: [...process.execArgv, '--expose-gc'] });

async function ask<T>(child: ChildProcess, request: ClientRequest | ServerRequest): Promise<T> {
  const answered = once(child, 'message');
  child.send(request);
  const [answer] = (await answered) as [T];
  return answer;
}

async function open(variant: Variant, viewers: number): Promise<Pair> {
  const server = start('fan-out-server.ts', variant);
  const client = start('fan-out-client.ts');
  const [port] = (await once(server, 'message')) as [number];
  if (viewers > 0) await ask(client, { do: 'open', port, connections: viewers });
  return { variant, server, client, port };
}

function close(pairs: readonly Pair[]): void {
  for (const { server, client } of pairs) {
    client.kill('SIGKILL');
    server.kill('SIGKILL');
  }
}

/** The viewers share the machine with what they watch: they may be a moment behind, but nothing may be missing. */
async function arrival(client: ChildProcess, expected: number): Promise<number[]> {
  const delaysMs: number[] = [];
  let arrived = 0;
  for (let look = 0; look < 300; look += 1) {
    const report = await ask<ClientReport>(client, { do: 'report' });
    delaysMs.push(...report.delaysMs);
    arrived += report.frames;
    if (arrived >= expected) return delaysMs;
    await sleep(100);
  }
  throw new Error(`${arrived} of ${expected} frames arrived`);
}

async function fanOut(workload: Workload): Promise<Report['rows']> {
  const { viewers, events, perSecond, rounds, servers } = workload;
  const pairs: Pair[] = [];
  for (const variant of servers) pairs.push(await open(variant, viewers));
  const micros = new Map<Variant, number[]>(variants.map((variant) => [variant, []]));
  const delays = new Map<Variant, number[]>(variants.map((variant) => [variant, []]));
  try {
    for (let round = -1; round < rounds; round += 1) {
      for (const { variant, server, client } of pairs) {
        await ask<ClientReport>(client, { do: 'report' });
        const { cpuMicros, writes } = await ask<Sent>(server, { do: 'send', events, perSecond, viewers });
        if (perSecond === 0 && writes !== undefined && writes < events * viewers) {
          throw new Error(`${variant}: ${writes} writes for ${events * viewers} frames: some were coalesced`);
        }
        const delaysMs = await arrival(client, events * viewers);
        if (round < 0) continue;
        micros.get(variant)?.push(cpuMicros / (events * viewers));
        delays.get(variant)?.push(...delaysMs);
      }
    }
  } finally {
    close(pairs);
  }
  const floor = quantile(micros.get('raw TCP') ?? [], 0.5);
  return servers.map((variant) => {
    const own = micros.get(variant) ?? [];
    return {
      workload: workload.name,
      server: variant,
      'CPU µs per frame': rounded(quantile(own, 0.5)),
      'least and most': spread(own),
      'times raw TCP': rounded(quantile(own, 0.5) / floor),
      'p50 ms': rounded(quantile(delays.get(variant) ?? [], 0.5)),
      'p99 ms': rounded(quantile(delays.get(variant) ?? [], 0.99)),
    };
  });
}

/** The server's resident set with `viewers` idle streams, less the same without them, for each. */
async function idleMemory(viewers: number): Promise<Report['rows']> {
  const rows: Record<string, string | number>[] = [];
  for (const variant of variants) {
    const pair = await open(variant, 50);
    try {
      const empty = await ask<number>(pair.server, { do: 'memory' });
      await ask(pair.client, { do: 'open', port: pair.port, connections: viewers });
      await sleep(500);
      const full = await ask<number>(pair.server, { do: 'memory' });
      const kib = rounded((full - empty) / viewers / 1_024);
      rows.push({ workload: `${viewers} idle viewers`, server: variant, 'KiB per viewer': kib });
    } finally {
      close([pair]);
    }
  }
  return rows;
}

/** At tens of µs a frame, half a million frames a second are out of reach for the last one: it would only be measured queueing. */
const keepingUp = variants.filter((variant) => variant !== 'hono streamSSE');

export async function run(options: { quick: boolean }): Promise<Report> {
  const { quick } = options;
  const oneByOne = {
    name: '1 session × 1,000 viewers, one event at a time',
    viewers: 1_000,
    perSecond: 0,
    servers: variants,
  };
  const busy = { name: '1 session × 250 viewers, 2,000 events/s', viewers: 250, perSecond: 2_000, servers: keepingUp };
  return {
    name: 'One session to many viewers',
    method:
      'CPU of the server process per frame and viewer (265 bytes), rounds alternating, medians; viewers in another process.',
    rows: [
      ...(await fanOut({ ...oneByOne, events: quick ? 40 : 150, rounds: quick ? 3 : 7 })),
      ...(await fanOut({ ...busy, events: quick ? 1_000 : 6_000, rounds: quick ? 2 : 5 })),
      ...(await idleMemory(quick ? 1_000 : 4_000)),
    ],
  };
}
