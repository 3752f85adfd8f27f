/** Every bound of appends that stream line by line; unit in the name; the rest is in `limits`. */
import { assert } from './assert.ts';
import { limits } from './limits.ts';
import { producerLimits } from './producer-limits.ts';

const KiB = 1024;
const MiB = 1024 * KiB;

export const lineLimits = {
  /** A line: one of the largest events, and what surrounds its data. */
  lineBytes: 1 * MiB + 4 * KiB,
  /** Payloads of a stream that wait while a batch of it is stored; past it nothing more is read. */
  waitingLinesBytes: 1 * MiB,
  /** What all streams hold; the one that would pass it is ended. */
  heldLinesBytes: 256 * MiB,
  /** A stream on which nothing comes, not even a blank line, ends. */
  ingressIdleMs: 60_000,
  /** A stream whose session has had too much waits so long, and is read until as much waits as may; where that is not enough it ends. */
  rateWaitMs: 1_000,
} as const;

assert(limits.payloadBytes + 256 < lineLimits.lineBytes, 'a line holds one of the largest events');
assert(
  lineLimits.waitingLinesBytes + lineLimits.lineBytes < lineLimits.heldLinesBytes / 8,
  'streams do not shut one another out',
);
assert(limits.syncMs * 2 < lineLimits.ingressIdleMs, 'who says something within every sync is not idle');
assert(
  producerLimits.streamIdleMs * 2 < lineLimits.ingressIdleMs,
  'a producer ends an idle stream before its server does',
);
assert(
  lineLimits.rateWaitMs * 2 <= producerLimits.streamProbeMs,
  'a producer takes no wait for a proxy that holds its stream back',
);
