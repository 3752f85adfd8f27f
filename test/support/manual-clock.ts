/** Time that moves only when a test says so, and seeded randomness: the same seed, the same run. */
import type { Clock, Timer } from '../../src/base/clock.ts';

interface Waiting {
  readonly dueMs: number;
  readonly run: () => void;
}

export interface ManualClock extends Clock {
  /** Runs what falls due within `forMs`, in order, letting promises settle before each. */
  advance(forMs: number): Promise<void>;
  /** Lets promises settle and runs whatever is due now. */
  settle(): Promise<void>;
  /** The wall clock alone jumps. */
  stepWall(byMs: number): void;
  /** Each look at `now` lets so much time pass: synchronous work that takes its time. */
  lookCostMs: number;
  /** Timers that wait, `soon` included. */
  readonly waiting: number;
  /** How often `soon` was used. */
  readonly turns: number;
}

/** Mulberry32: small, and good enough to shuffle with. */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function manualClock(seed = 1): ManualClock {
  /** Sorted: what falls due first comes first, and what was asked for first among equals. */
  const queue: Waiting[] = [];
  let nowMs = 1_000;
  let wallOffsetMs = Date.UTC(2026, 10, 30);
  let turns = 0;

  function schedule(delayMs: number, run: () => void): Timer {
    const entry = { dueMs: nowMs + Math.max(0, delayMs), run };
    queue.splice(queue.findLastIndex((other) => other.dueMs <= entry.dueMs) + 1, 0, entry);
    return {
      cancel() {
        const place = queue.indexOf(entry);
        if (place >= 0) queue.splice(place, 1);
      },
    };
  }
  const nextDue = (untilMs: number): Waiting | undefined => {
    const first = queue[0];
    return first !== undefined && first.dueMs <= untilMs ? queue.shift() : undefined;
  };
  /** A turn of the real loop is long enough for every chain of promises that waits for nothing else. */
  const promises = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  async function advance(forMs: number): Promise<void> {
    const untilMs = nowMs + forMs;
    await promises();
    for (let entry = nextDue(untilMs); entry !== undefined; entry = nextDue(untilMs)) {
      nowMs = Math.max(nowMs, entry.dueMs);
      entry.run();
      await promises();
    }
    nowMs = Math.max(nowMs, untilMs);
  }

  const clock: ManualClock = {
    lookCostMs: 0,
    now: () => (nowMs += clock.lookCostMs),
    wall: () => wallOffsetMs + nowMs,
    random: seededRandom(seed),
    after: schedule,
    soon(run) {
      turns += 1;
      return schedule(0, run);
    },
    advance,
    settle: () => advance(0),
    stepWall: (byMs) => void (wallOffsetMs += byMs),
    get waiting() {
      return queue.length;
    },
    get turns() {
      return turns;
    },
  };
  return clock;
}
