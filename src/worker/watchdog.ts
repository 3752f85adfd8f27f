/** Ends the process when its loop is blocked for so long that a lease lapses: what is blocked cannot stop itself [oban#1141]. */
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { toError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';

export interface Watchdog {
  /** The loop is alive; unless it beats again within so many milliseconds, a lease is overdue. Undefined: it holds none. */
  beat(overdueInMs: number | undefined): void;
  stop(): Promise<void>;
}

/** For a process that holds leases of nobody's but its own tests, or of a person who debugs it. */
export const noWatchdog: Watchdog = { beat: () => undefined, stop: () => Promise.resolve() };

/** Two integers that the loop and the thread share: how often the loop has beaten, and the milliseconds that it then had. */
export const shared = { beats: 0, overdueInMs: 1, bytes: 8 } as const;

export function createWatchdog(log: Log): Watchdog {
  const memory = new Int32Array(new SharedArrayBuffer(shared.bytes));
  const self = import.meta.url;
  const thread = new Worker(new URL(`watchdog-thread${extname(self)}`, self), { workerData: memory });
  thread.unref();
  thread.on('error', (thrown) =>
    log.error({ err: toError(thrown) }, 'the watchdog has ended: a blocked loop is not seen'),
  );
  return {
    beat(overdueInMs) {
      Atomics.store(memory, shared.overdueInMs, overdueInMs === undefined ? 0 : Math.max(1, Math.ceil(overdueInMs)));
      Atomics.add(memory, shared.beats, 1);
      Atomics.notify(memory, shared.beats);
    },
    async stop() {
      await thread.terminate();
    },
  };
}
