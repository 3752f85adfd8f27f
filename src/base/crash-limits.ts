/** Every bound of the crash lab, unit in the name: a person waits for its runs, so that all of them are short. */
import { assert } from './assert.ts';

export const crashLimits = {
  /** How long a turn, and a shard of the relay, stays a dead process's: about as long as the next one takes to start. */
  leaseMs: 2_000,
  recoverMs: 500,
  relayRenewMs: 500,
  relayPollMs: 200,
  /** How often a run is looked at. */
  lookMs: 100,
  /** From the start of a process until it has died, or nothing is left to do. */
  processMs: 45_000,
  /** The last lines of a process that are kept, for the case that it fails. */
  linesKept: 20,
} as const;

assert(crashLimits.relayRenewMs * 2 < crashLimits.leaseMs, 'a relay may miss a renewal or two');
assert(crashLimits.leaseMs * 10 < crashLimits.processMs, 'a dead process’s turn is taken over in time');
