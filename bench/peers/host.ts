/** The process of one peer: starts it, tells where it listens, and then does and tells what it is asked over its channel. */
import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { getHeapSpaceStatistics } from 'node:v8';
import { sleep } from '../../src/base/clock.ts';
import { stampedData } from './payload.ts';
import type { Given, Served } from './peer.ts';
import { isPeerName, loadPeer } from './peers.ts';

export interface SendRequest {
  readonly do: 'send';
  /** Taken in turn. */
  readonly sessions: readonly string[];
  readonly events: number;
  /** 0: one event at a time, each after the last has left. */
  readonly perSecond: number;
  /** Of each session. */
  readonly viewers: number;
}

export type HostRequest =
  | { readonly do: 'start'; readonly given: Given }
  | SendRequest
  | { readonly do: 'usage'; readonly collect: boolean }
  | { readonly do: 'longest block' }
  | { readonly do: 'stop' };

export interface Usage {
  readonly cpuMicros: number;
  /**
   * Without the space that V8 keeps for young objects: 0.3 to 32 MB by what happened before, and empty after a collection. Of Node 20; Node
   * 24 hands the pages to a pool that nothing tells of, and they count as resident from then on.
   */
  readonly residentBytes: number;
  /** Of these: what lives in V8's heap, and what its buffers hold outside of it. Undefined of a server in another process. */
  readonly heapBytes?: number;
  readonly bufferBytes?: number;
}

export interface Sent {
  /** Writes to viewers; undefined where each event is one write to each. */
  readonly writes: number | undefined;
}

/** The loop is idle between two events: no two of them share a system call unless the server makes them. */
const pauseMs = 15;

const name = process.argv[2] ?? '';
if (!isPeerName(name)) throw new Error(`there is no peer "${name}"`);
const peer = await loadPeer(name);
const loop = monitorEventLoopDelay({ resolution: 1 });
const sequences = new Map<string, number>();
let served: Served | undefined;

async function send(request: SendRequest): Promise<Sent> {
  const { sessions, events, perSecond, viewers } = request;
  const hand = served?.send;
  if (hand === undefined) throw new Error(`${peer.title} is appended to over HTTP`);
  const writes = (): number => served?.writes?.() ?? 0;
  const before = writes();
  const isSwept = (sent: number): boolean => served?.writes === undefined || writes() - before >= sent * viewers;
  const startedMs = performance.now();
  for (let sent = 0; sent < events;) {
    const due = perSecond === 0 ? sent + 1 : Math.min(events, ((performance.now() - startedMs) * perSecond) / 1_000);
    for (; sent < due; sent += 1) {
      const session = sessions[sent % sessions.length] ?? '';
      const sequence = (sequences.get(session) ?? 0) + 1;
      sequences.set(session, sequence);
      hand(session, sequence, stampedData());
    }
    await sleep(perSecond === 0 ? pauseMs : 1);
    // A sweep that takes turns may outlast the pause: an event sent meanwhile would share its writes with this one.
    for (let look = 0; perSecond === 0 && look < 2_000 && !isSwept(sent); look += 1) await sleep(1);
  }
  // What a window still holds is part of the work.
  await sleep(pauseMs * 2);
  return { writes: served?.writes === undefined ? undefined : writes() - before };
}

/** In jiffies of 10 ms, which is what the kernel keeps of other processes. */
function foreignUsage(pid: number): Usage {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ') ?? [];
  const resident = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1];
  return { cpuMicros: (Number(fields[11]) + Number(fields[12])) * 10_000, residentBytes: Number(resident) * 1_024 };
}

const youngBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name: space }) => space === 'new_space')?.physical_space_size ?? 0;

function usage(collect: boolean): Usage {
  if (collect) globalThis.gc?.();
  if (served?.pid !== undefined) return foreignUsage(served.pid);
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed: heapBytes, arrayBuffers: bufferBytes } = process.memoryUsage();
  return { cpuMicros: user + system, residentBytes: rss - youngBytes(), heapBytes, bufferBytes };
}

/** The first look begins the watch, which costs more of a core than a thousand idle readers: only who asks for it pays. */
function longestBlockMs(): number {
  const blockMs = loop.enable() ? 0 : loop.max / 1e6;
  loop.reset();
  return blockMs;
}

async function answer(request: HostRequest): Promise<unknown> {
  switch (request.do) {
    case 'start':
      served = await peer.serve(request.given);
      return served.port;
    case 'send':
      return send(request);
    case 'usage':
      return usage(request.collect);
    case 'longest block':
      return longestBlockMs();
    case 'stop':
      await served?.stop?.();
      return 'stopped';
  }
}

process.on('disconnect', () => process.exit());
process.on('message', (request: HostRequest) => {
  answer(request).then(
    (value) => process.send?.({ value }),
    (error: unknown) =>
      process.send?.({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
  );
});
process.send?.({ value: 'ready' });
