/** The process of one peer: starts it, tells where it listens, and then does and tells what it is asked over its channel. */
import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
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
  | { readonly do: 'stop' };

export interface Usage {
  readonly cpuMicros: number;
  readonly residentBytes: number;
  /** The longest time for which the event loop was away since the last look. */
  readonly loopMs: number;
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
function foreignUsage(pid: number): Pick<Usage, 'cpuMicros' | 'residentBytes'> {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ') ?? [];
  const resident = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1];
  return { cpuMicros: (Number(fields[11]) + Number(fields[12])) * 10_000, residentBytes: Number(resident) * 1_024 };
}

function usage(collect: boolean): Usage {
  if (collect) globalThis.gc?.();
  const loopMs = loop.max / 1e6;
  loop.reset();
  if (served?.pid !== undefined) return { ...foreignUsage(served.pid), loopMs: 0 };
  const { user, system } = process.cpuUsage();
  return { cpuMicros: user + system, residentBytes: process.memoryUsage.rss(), loopMs };
}

async function answer(request: HostRequest): Promise<unknown> {
  switch (request.do) {
    case 'start':
      served = await peer.serve(request.given);
      loop.enable();
      return served.port;
    case 'send':
      return send(request);
    case 'usage':
      return usage(request.collect);
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
