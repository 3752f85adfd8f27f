/** Every bound of the lab of a development server; unit in the name; the rest is in `limits`. */
import { assert } from './assert.ts';
import { limits } from './limits.ts';

export const labLimits = {
  labBurstEvents: 5,
  labBusStopMs: 5_000,
  /** Sessions that have marks, or wait for a broadcast to lose. */
  labSessions: 100,
  /** Marks of one session; past it the oldest go. */
  labMarks: 500,
  /** How often a gateway that does not come back is tried again, and after how long. */
  restartTries: 6,
  restartRetryMs: 1_000,
} as const;

assert(labLimits.labBurstEvents >= 2, 'a burst has a last event and one before it');
assert(labLimits.labBusStopMs > limits.headCheckMs * 2, 'a bus stays away long enough for head checks to be seen');
