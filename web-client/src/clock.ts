/** The only reader of time and chance in this package. */

export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Milliseconds that only go forward. */
  now(): number;
  /** Milliseconds since 1970, by the wall. */
  wall(): number;
  /** From 0 up to 1. */
  random(): number;
  after(ms: number, run: () => void): Timer;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  random: () => Math.random(),
  after(ms, run) {
    const id = setTimeout(run, ms);
    return { cancel: () => clearTimeout(id) };
  },
};

/** Runs before the next paint. Undefined where nothing is painted; a hidden page takes it and does not come to it. */
export function nextFrame(run: () => void): Timer | undefined {
  if (typeof requestAnimationFrame !== 'function') return undefined;
  const id = requestAnimationFrame(run);
  return { cancel: () => cancelAnimationFrame(id) };
}

/** Of 128 random bits, so that nobody makes the same one again. Also where a page is no secure context. */
export const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
