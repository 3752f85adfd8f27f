/** A gateway that is to be mistreated, good clients that must notice nothing, and its memory measured when all garbage is gone. */
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { expect } from 'vitest';
import { startGateway } from './gateway.ts';
import type { RunningGateway } from './gateway.ts';
import { append, createSession, metric, residentBytes } from './gateway-calls.ts';
import { countTo } from './ledger.ts';
import { freshDatabase } from './services.ts';
import { readStream } from './sse-reader.ts';
import { eventually } from './waits.ts';

const MiB = 1024 * 1024;

/** By a signal, so that what is measured behind it is in use. */
const COLLECTS = '--expose-gc --import "data:text/javascript,process.on(\'SIGUSR2\',()=>gc())"';

/** Open handles of the metrics' own connection and of the pools come and go. */
const HANDLES_ASTRAY = 8;
/** What caches of a process may still grow by, once it is warm; and what the kernel does not get back of a heap that was larger. */
const HEAP_ASTRAY = 24 * MiB;
const RESIDENT_ASTRAY = 96 * MiB;

export interface Levels {
  readonly heap: number;
  readonly resident: number;
  readonly handles: number;
}

export interface AbuseStage {
  readonly at: RunningGateway;
  /** Whoever runs is mistreated: what is left of it must go, to where it was before. */
  level(): Promise<Levels>;
  backTo(before: Levels): Promise<void>;
  /** The highest that the process was while `work` ran. */
  peakOf(work: () => Promise<void>): Promise<number>;
  /** It lives, and nothing went wrong in it that it noticed. */
  isWell(): void;
  stop(): Promise<void>;
}

export async function abuseStage(): Promise<AbuseStage> {
  const database = await freshDatabase();
  const at = await startGateway({
    databaseUrl: database.url,
    environment: { LEDGERLINE_LOG_LEVEL: 'warn', NODE_OPTIONS: COLLECTS },
  });
  let code: number | undefined;
  void at.exit.then((value) => (code = value));
  const inUse = async (): Promise<number> => {
    process.kill(at.pid, 'SIGUSR2');
    const heap = await metric(at, 'ledgerline_nodejs_heap_size_used_bytes');
    return heap + (await metric(at, 'ledgerline_nodejs_external_memory_bytes'));
  };
  const level = async (): Promise<Levels> => ({
    heap: await inUse(),
    resident: await residentBytes(at),
    handles: await metric(at, 'ledgerline_nodejs_active_resources'),
  });
  return {
    at,
    level,
    async backTo(before) {
      let now = before;
      const isBack = async (): Promise<boolean> => {
        now = await level();
        const isHeld = now.handles > before.handles + HANDLES_ASTRAY || now.heap > before.heap + HEAP_ASTRAY;
        // Pages go back to the system a while after their objects, and Node 24 takes longer over that than Node 20.
        return !isHeld && now.resident < before.resident + RESIDENT_ASTRAY;
      };
      await eventually('its memory and its handles are back', isBack, 60_000).catch((error: unknown) => {
        throw new Error(`from ${JSON.stringify(before)} to ${JSON.stringify(now)}`, { cause: error });
      });
    },
    async peakOf(work) {
      let peak = 0;
      let isOver = false;
      const looking = (async () => {
        while (!isOver) peak = Math.max(peak, await residentBytes(at));
      })();
      await work();
      isOver = true;
      await looking;
      return peak;
    },
    isWell() {
      expect(code).toBeUndefined();
      const faults = at
        .output()
        .split('\n')
        .filter((line) => /"level":(?:"(?:error|fatal)"|[56]0)|nobody handled/.test(line));
      expect(faults).toEqual([]);
    },
    async stop() {
      await at.kill();
      await database.drop();
    },
  };
}

export interface Witness {
  /** Ends the work, checks that all of it was done, every append answered, each event read once and in order, and says how much. */
  testify(): Promise<number>;
}

/** Who appends one event after the other, each when the last one has been read, for as long as the others misbehave. */
export async function witness(at: RunningGateway): Promise<Witness> {
  const session = 'witness';
  await createSession(at, session);
  const reader = await readStream(`${at.publicUrl}/sessions/${session}/stream`, {
    authorization: `Bearer ${at.token}`,
  });
  const sequences = (): number[] =>
    reader.frames.filter(({ event }) => event === 'message').map(({ id }) => Number(id));
  let appended = 0;
  let isOver = false;
  const appending = (async () => {
    while (!isOver) {
      const { status, text } = await append(at, session, String(appended + 1));
      if (status !== 201) throw new Error(`append ${appended + 1}: ${status} ${text}`);
      appended += 1;
      await eventually(`the follower has ${appended}`, () => sequences().length >= appended, 60_000);
    }
  })();
  appending.catch(() => undefined);
  return {
    async testify() {
      isOver = true;
      await appending;
      expect(sequences()).toEqual(countTo(appended));
      await reader.close();
      return appended;
    },
  };
}

/** A connection whose errors are expected; resolves when it stands, or does not come about. */
export function dial(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => resolve(socket));
    socket.on('error', () => undefined).once('close', () => resolve(socket));
  });
}

export const closing = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    if (socket.destroyed) resolve();
    else socket.once('close', () => resolve());
  });

/** Runs `work` for 1…count, so many at a time. */
export async function crowd(count: number, atATime: number, work: (number: number) => Promise<void>): Promise<void> {
  let next = 1;
  const worker = async (): Promise<void> => {
    while (next <= count) await work(next++);
  };
  await Promise.all(countTo(atATime).map(worker));
}
