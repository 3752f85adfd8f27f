/** The only reader of time and randomness, so that a test can stand in for both. */
import { randomBytes, randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';

/** A timer that has not fired yet. */
export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Monotonic milliseconds, from an arbitrary start. For durations. */
  now(): number;
  /** Milliseconds since the epoch. For expiry times of tokens; never for order. */
  wall(): number;
  /** In [0, 1). */
  random(): number;
  /** Runs `run` once after `delayMs`, without keeping the process alive. */
  after(delayMs: number, run: () => void): Timer;
  /** Runs `run` when the event loop comes round, after pending I/O. */
  soon(run: () => void): Timer;
}

/** Longest delay of Node's timers; a longer one would fire at once. */
const LONGEST_DELAY_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  random: () => Math.random(),
  after(delayMs, run) {
    const timer = setTimeout(run, Math.min(delayMs, LONGEST_DELAY_MS)).unref();
    return { cancel: () => clearTimeout(timer) };
  },
  soon(run) {
    const immediate = setImmediate(run);
    return { cancel: () => clearImmediate(immediate) };
  },
};

/** Resolves after `delayMs`, or the longest delay of a timer; keeps the process alive meanwhile. */
export function sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, Math.min(delayMs, LONGEST_DELAY_MS));
    signal?.addEventListener('abort', done, { once: true });
  });
}

/** The process lives until somebody ends it, whatever else it waits for. */
export const keepAlive = (): void => void setInterval(() => undefined, LONGEST_DELAY_MS);

/** A secret of `bytes` random bytes, as base64url. */
export const randomSecret = (bytes = 32): string => randomBytes(bytes).toString('base64url');

/** A fresh id, for a session, a producer or a correlation. */
export const randomId = (): string => randomUUID();
