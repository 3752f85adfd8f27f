/** When the next of many events is due, at so many a second (pure). */

export interface Pace {
  /** Milliseconds to wait before the next event. */
  next(nowMs: number): number;
}

/** Late by more than this, it goes on from now: after a pause of the server nobody wants to see everything at once. */
const LATE_MS = 1_000;

/** Counted from the beginning, so that many short waits do not add their errors up. */
export function createPace(rate: number | undefined, startMs: number): Pace {
  if (rate === undefined) return { next: () => 0 };
  const everyMs = 1_000 / rate;
  let dueMs = startMs;
  return {
    next(nowMs) {
      if (nowMs - dueMs > LATE_MS) dueMs = nowMs;
      const delayMs = Math.max(0, dueMs - nowMs);
      dueMs += everyMs;
      return delayMs;
    },
  };
}
