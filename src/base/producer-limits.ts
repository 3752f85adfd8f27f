/** Every bound of the producer library; unit in the name; the rest is in `limits`. */
import { assert } from './assert.ts';
import { limits } from './limits.ts';

export const producerLimits = {
  batchEvents: 50,
  batchMs: 33,
  /** The first batch over a stream is acknowledged within so long, or something between holds it back. */
  streamProbeMs: 2_000,
  /** A stream on which nothing is sent for so long ends; the next batch opens another. */
  streamIdleMs: 5_000,
} as const;

assert(producerLimits.batchEvents <= limits.eventsPerAppend, 'a batch fits one append');
