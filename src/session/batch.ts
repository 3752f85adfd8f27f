/**
 * When a batch of events leaves its producer, and how much of it (pure). Token deltas wait a moment for others of
 * their kind; whatever changes what a reader sees (a tool call, an approval, an end) takes all that waits along at once.
 */
import { limits } from '../base/limits.ts';
import { producerLimits } from '../base/producer-limits.ts';

/** An event that waits for its batch. */
export interface Waiting {
  /** What it adds to the request's body, in UTF-8. */
  readonly bytes: number;
  /** It may wait for others of its kind. */
  readonly isDelta: boolean;
  /** By the clock's `now()`. */
  readonly sinceMs: number;
}

/** Room for what surrounds the events in a body: the producer, brackets. */
const ENVELOPE_BYTES = 1_024;

/** Milliseconds until the batch leaves; 0 is now. Undefined when nothing waits. `waiting` in order of arrival. */
export function leavesInMs(waiting: readonly Waiting[], nowMs: number): number | undefined {
  const [oldest] = waiting;
  if (oldest === undefined) return undefined;
  const isFull = waiting.length >= producerLimits.batchEvents || batchLength(waiting) < waiting.length;
  if (isFull || waiting.some((event) => !event.isDelta)) return 0;
  return Math.max(0, oldest.sinceMs + producerLimits.batchMs - nowMs);
}

/** How many of the first events one append takes: all that wait, within the ledger's limits on events and bytes. */
export function batchLength(waiting: readonly Waiting[]): number {
  let bytes = ENVELOPE_BYTES;
  for (const [index, event] of waiting.entries()) {
    bytes += event.bytes + 1;
    // The first always goes: if it alone is too large, the server says so.
    if (index > 0 && (index === limits.eventsPerAppend || bytes > limits.appendBodyBytes)) return index;
  }
  return waiting.length;
}
