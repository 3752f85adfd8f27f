/** Every bound of a diagnosis by `ledgerline doctor`; unit in the name; the rest is in `limits`. */
import { assert } from './assert.ts';
import { limits } from './limits.ts';

const KiB = 1024;

export const doctorLimits = {
  /** One request and its answer. */
  answerMs: 10_000,
  /** Of an answer, no more is kept. */
  answerLength: 1024 * KiB,
  /** What a proxy lets through at once is here within so long; what is not is held back. */
  heldBackMs: 3_000,
  /** An event that takes longer was found by comparing heads, for its broadcast did not reach the reader's gateway. */
  lateMs: 500,
  /** Events that are written one by one, each when the one before has arrived. */
  probeEvents: 5,
  /** How much is written, doubling, to learn at which size a buffer overflows; and how long each portion gets. */
  firstPortionBytes: 1 * KiB,
  lastPortionBytes: 128 * KiB,
  portionMs: 500,
  /** How long a quiet stream is watched: past the idle and total limits of 20 s and 30 s that proxies come with. */
  watchMs: 35_000,
  /** How often a `sync` comes, and how late it may be. */
  syncMs: limits.syncMs,
  syncSlackMs: 3_000,
  /** Of a token that is made for the diagnosis. */
  tokenSeconds: 600,
} as const;

/** A test has less time than a person. */
export type DoctorLimits = { readonly [Name in keyof typeof doctorLimits]: number };

assert(doctorLimits.lateMs < limits.headCheckMs, 'what comes by a head check alone counts as late');
assert(doctorLimits.lateMs < doctorLimits.heldBackMs, 'what is late is not held back yet');
assert(
  (doctorLimits.syncMs + doctorLimits.syncSlackMs) * 2 > doctorLimits.watchMs &&
    limits.syncMs * 2 < doctorLimits.watchMs,
  'a watch sees two syncs, and one that is missing',
);
