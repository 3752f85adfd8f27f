/** Every bound of who may: tokens, tickets, keys, revocations, rates; unit in the name; the rest is in `limits`. */
import { assert } from './assert.ts';
import { limits } from './limits.ts';

const KiB = 1024;
const DAY_MS = 86_400_000;

export const accessLimits = {
  // tokens
  /** Of a token or a ticket, as it is presented: longer ones are not even parsed. */
  tokenLength: 8 * KiB,
  /** A token that would hold for longer is refused: what revokes it could be forgotten before it. */
  tokenMs: 366 * DAY_MS,

  // tickets
  /** From a ticket to the stream that it opens. */
  ticketMs: 5 * 60_000,
  /** How long a stream lasts whose ticket the internal key asked for, which has no end of its own. */
  keyTicketMs: 3_600_000,

  // the issuer's keys
  jwksDeadlineMs: 2_000,
  /** Between two looks for a key that was not there. */
  jwksCooldownMs: 30_000,
  /** How often keys are read anew, so that one that was withdrawn does not last; and after a failure. */
  jwksRefreshMs: 600_000,
  jwksRetryMs: 5_000,

  // revocations
  revocationPollMs: 2_000,
  revocationDeadlineMs: 1_500,
  /** Within so long every gateway that reaches its database acts on a revocation. */
  revocationBoundMs: 5_000,
  revocationRows: 1_000,
  /** What may hold at a time, in the table and so in memory. */
  revocations: 100_000,
  /** How long one holds that does not say: longer than any token. */
  revocationMs: 367 * DAY_MS,
  revocationConnections: 1,
  /** How often what is over is removed, and how much at a time. */
  revocationForgetMs: 600_000,

  // rates
  /** Tokens, and sessions, of which a gateway remembers how much they have asked for; past it the one that was quiet longest goes. */
  rateKeys: 50_000,
  /** What a rate lets through at once, as a time of it. */
  rateBurstMs: 2_000,
  /** When to come back where nobody knows when a stream will be free. */
  streamRetryMs: 5_000,
} as const;

assert(
  accessLimits.revocationPollMs + accessLimits.revocationDeadlineMs + 1_000 < accessLimits.revocationBoundMs,
  'a revocation is seen, and its second is over, within its bound',
);
assert(
  accessLimits.tokenMs + limits.tokenToleranceMs < accessLimits.revocationMs,
  'a revocation outlives every token that it may be about',
);
assert(accessLimits.jwksDeadlineMs < limits.streamHeadDeadlineMs, 'a key is looked for within the time of a request');
assert(accessLimits.tokenLength < limits.headerBytes, 'a token fits the headers of its request');
