/** Who asks too much of this gateway, by token and by session: one that does is told when to come back, and nobody else notices [I9]. */
import { accessLimits } from '../base/access-limits.ts';
import type { Clock } from '../base/clock.ts';
import { LedgerlineError } from '../base/errors.ts';
import type { Metrics } from '../base/metrics.ts';
import { OpenCounts } from './open-counts.ts';
import { TokenBuckets } from './token-buckets.ts';
import type { Rate } from './token-buckets.ts';

/** What an operator sets; of one gateway. */
export interface Rates {
  /** Appended to one session, each second. */
  readonly sessionEvents: number;
  readonly sessionBytes: number;
  /** Requests of one token that change something, each second. */
  readonly tokenWrites: number;
  /** Open at a time. */
  readonly sessionStreams: number;
  readonly tokenStreams: number;
}

export interface Limiter {
  /** Each throws `rate_limited`, and has taken nothing then. */
  append(session: string, events: number, bytes: number): void;
  /** How long to wait before an append to the session would pass; takes nothing. */
  appendWaitMs(session: string): number;
  write(token: string): void;
  /** A stream is open until the answer is called. The key's streams count for their session alone. */
  open(session: string, token: string | undefined): () => void;
}

export interface LimiterOptions {
  readonly rates: Rates;
  readonly clock: Clock;
  readonly metrics: Pick<Metrics, 'rateLimited'>;
}

const rate = (perSecond: number): Rate => ({ perSecond, burst: (perSecond * accessLimits.rateBurstMs) / 1_000 });

export function createLimiter({ rates, clock, metrics }: LimiterOptions): Limiter {
  const buckets = (perSecond: number): TokenBuckets => new TokenBuckets(rate(perSecond), accessLimits.rateKeys);
  const events = buckets(rates.sessionEvents);
  const bytes = buckets(rates.sessionBytes);
  const writes = buckets(rates.tokenWrites);
  const ofSession = new OpenCounts(rates.sessionStreams);
  const ofToken = new OpenCounts(rates.tokenStreams);

  function refuse(limit: keyof Rates, waitMs: number): never {
    metrics.rateLimited.inc({ limit });
    const retryAfter = Math.ceil(waitMs / 1_000);
    throw new LedgerlineError('rate_limited', `${what[limit]}: come back in ${retryAfter} s`, {
      limit,
      max: rates[limit],
      retryAfter,
    });
  }

  return {
    append(session, count, size) {
      const nowMs = clock.now();
      const eventsMs = events.waitMs(session, nowMs);
      if (eventsMs > 0) refuse('sessionEvents', eventsMs);
      const bytesMs = bytes.take(session, size, nowMs);
      if (bytesMs > 0) refuse('sessionBytes', bytesMs);
      events.take(session, count, nowMs);
    },
    appendWaitMs(session) {
      const nowMs = clock.now();
      return Math.max(events.waitMs(session, nowMs), bytes.waitMs(session, nowMs));
    },
    write(token) {
      const waitMs = writes.take(token, 1, clock.now());
      if (waitMs > 0) refuse('tokenWrites', waitMs);
    },
    open(session, token) {
      if (ofSession.isFull(session)) refuse('sessionStreams', accessLimits.streamRetryMs);
      if (token !== undefined && ofToken.isFull(token)) refuse('tokenStreams', accessLimits.streamRetryMs);
      ofSession.add(session);
      if (token !== undefined) ofToken.add(token);
      let isOpen = true;
      return () => {
        if (!isOpen) return;
        isOpen = false;
        ofSession.remove(session);
        if (token !== undefined) ofToken.remove(token);
      };
    },
  };
}

const what: Readonly<Record<keyof Rates, string>> = {
  sessionEvents: 'more events are appended to the session than it may have each second',
  sessionBytes: 'more bytes are appended to the session than it may have each second',
  tokenWrites: 'the token writes more often than it may each second',
  sessionStreams: 'the session has as many streams as it may have at a time',
  tokenStreams: 'the token has as many streams as it may have at a time',
};
