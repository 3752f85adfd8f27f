/** How long an attempt may still take itself for the owner of its turn, by this process's own monotonic clock. */
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';

export interface Lease {
  /** Behind it the attempt must not act, whatever the database thinks. */
  readonly lapsesAtMs: number;
  /** Between that and the time from which another attempt may begin: whoever still acts is out of control. */
  readonly overdueAtMs: number;
  readonly isOver: boolean;
  /** It was renewed by a request that left at `sentMs`: not when the answer came, which may have taken its time. */
  extend(sentMs: number): void;
}

/** In proportion, for an operator may set another lease. */
const share = { selfStop: limits.selfStopMs / limits.leaseMs, renew: limits.renewMs / limits.leaseMs } as const;

export const renewMsOf = (leaseMs: number): number => leaseMs * share.renew;

export function createLease(clock: Clock, leaseMs: number, selfStopMs = leaseMs * share.selfStop): Lease {
  const overdueMs = (leaseMs - selfStopMs) / 2;
  let lapsesAtMs = clock.now() + selfStopMs;
  return {
    get lapsesAtMs() {
      return lapsesAtMs;
    },
    get overdueAtMs() {
      return lapsesAtMs + overdueMs;
    },
    get isOver() {
      return clock.now() >= lapsesAtMs;
    },
    extend(sentMs) {
      // One that lapsed stays so: meanwhile the attempt was told to stop.
      if (clock.now() < lapsesAtMs) lapsesAtMs = Math.max(lapsesAtMs, sentMs + selfStopMs);
    },
  };
}
