/** Who asks too much waits for as long as it says, and nobody else does. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLimiter } from '../../src/access/limiter.ts';
import { OpenCounts } from '../../src/access/open-counts.ts';
import { TokenBuckets } from '../../src/access/token-buckets.ts';
import { accessLimits } from '../../src/base/access-limits.ts';
import { LedgerlineError } from '../../src/base/errors.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import { generousRates } from '../support/access.ts';
import { manualClock } from '../support/manual-clock.ts';

describe('a bucket', () => {
  it('lets a burst through, and then its rate', () => {
    const buckets = new TokenBuckets({ perSecond: 10, burst: 20 }, 100);
    for (let index = 0; index < 20; index += 1) expect(buckets.take('a', 1, 0)).toBe(0);
    expect(buckets.take('a', 1, 0)).toBeGreaterThan(0);
    expect([buckets.take('a', 1, 100), buckets.take('a', 1, 100)]).toEqual([0, 1]);
  });

  it('lets a request larger than itself through, and makes up for it', () => {
    const buckets = new TokenBuckets({ perSecond: 10, burst: 20 }, 100);
    expect(buckets.take('a', 1_000, 0)).toBe(0);
    expect(buckets.take('a', 1, 0)).toBe(98_000);
    expect([buckets.take('a', 1, 97_999), buckets.take('a', 1, 98_001)]).toEqual([1, 0]);
  });

  it('lets through no more than its burst and its rate, and what was one too many, in any order of requests', () => {
    const requests = fc.array(fc.record({ afterMs: fc.nat(500), amount: fc.integer({ min: 1, max: 30 }) }));
    fc.assert(
      fc.property(requests, (all) => {
        const buckets = new TokenBuckets({ perSecond: 10, burst: 20 }, 100);
        let nowMs = 0;
        let taken = 0;
        for (const { afterMs, amount } of all) {
          nowMs += afterMs;
          if (buckets.take('a', amount, nowMs) === 0) taken += amount;
          expect(taken).toBeLessThanOrEqual(20 + nowMs / 100 + 30);
        }
      }),
    );
  });

  it('is never waited for longer than it said', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10_000 }), fc.integer({ min: 1, max: 10_000 }), (perSecond, amount) => {
        const buckets = new TokenBuckets({ perSecond, burst: perSecond * 2 }, 100);
        buckets.take('a', perSecond * 2 + amount, 0);
        const waitMs = buckets.waitMs('a', 0);
        expect(buckets.take('a', 1, waitMs + 1)).toBe(0);
      }),
    );
  });

  it('of another key is full, and no more keys are remembered than may be', () => {
    const buckets = new TokenBuckets({ perSecond: 1, burst: 1 }, 10);
    for (let index = 0; index < 1_000; index += 1) expect(buckets.take(`${index}`, 1, 0)).toBe(0);
    expect(buckets.size).toBe(10);
    expect([buckets.take('999', 1, 0), buckets.take('0', 1, 0)]).toEqual([1, 0]);
  });
});

it('of the keys that asked lately none is forgotten before one that was quiet for a second or longer', () => {
  const buckets = new TokenBuckets({ perSecond: 0.001, burst: 1 }, 2);
  for (const [key, nowMs] of [
    ['a', 0],
    ['b', 500],
    ['a', 1_500],
    ['c', 1_600],
  ] as const)
    buckets.take(key, 1, nowMs);
  expect(buckets.waitMs('a', 1_700)).toBeGreaterThan(0);
  expect(buckets.waitMs('b', 1_700)).toBe(0);
});

describe('a count', () => {
  it('is full, and has room again for each that leaves', () => {
    const counts = new OpenCounts(2);
    counts.add('a');
    counts.add('a');
    expect([counts.isFull('a'), counts.isFull('b')]).toEqual([true, false]);
    counts.remove('a');
    expect(counts.isFull('a')).toBe(false);
    counts.add('a');
    expect(counts.isFull('a')).toBe(true);
  });

  it('of nobody costs nothing', () => {
    const counts = new OpenCounts(2);
    counts.add('a');
    counts.remove('a');
    expect(counts.size).toBe(0);
  });
});

describe('a limiter', () => {
  const limiterOf = (rates: object) => {
    const clock = manualClock();
    return {
      clock,
      limiter: createLimiter({ rates: { ...generousRates, ...rates }, clock, metrics: createMetrics() }),
    };
  };
  const refusal = (act: () => unknown): unknown => {
    try {
      act();
    } catch (thrown) {
      if (thrown instanceof LedgerlineError) return [thrown.code, thrown.fields['limit'], thrown.fields['retryAfter']];
      throw thrown;
    }
    return 'passed';
  };

  it('names which limit it was, and when to come back', async () => {
    const { clock, limiter } = limiterOf({ sessionEvents: 10, sessionBytes: 1_000 });
    limiter.append('s', 50, 10);
    expect(refusal(() => limiter.append('s', 1, 10))).toEqual(['rate_limited', 'sessionEvents', 3]);
    expect(refusal(() => limiter.append('t', 1, 10))).toBe('passed');
    await clock.advance(5_000);
    limiter.append('s', 1, 8_000);
    expect(refusal(() => limiter.append('s', 1, 1))).toEqual(['rate_limited', 'sessionBytes', 6]);
  });

  it('takes nothing of one rate where another refuses', async () => {
    const { clock, limiter } = limiterOf({ sessionEvents: 1, sessionBytes: 1 });
    limiter.append('s', 1, 5);
    for (let index = 0; index < 100; index += 1) refusal(() => limiter.append('s', 1, 1));
    await clock.advance(4_000);
    expect(refusal(() => limiter.append('s', 1, 1))).toBe('passed');
  });

  it('counts the streams of a token and of a session, and those of the key for their session alone', () => {
    const { limiter } = limiterOf({ sessionStreams: 3, tokenStreams: 2 });
    const leave = limiter.open('s', 'j');
    limiter.open('t', 'j');
    expect(refusal(() => limiter.open('u', 'j'))).toEqual([
      'rate_limited',
      'tokenStreams',
      accessLimits.streamRetryMs / 1_000,
    ]);
    leave();
    leave();
    limiter.open('u', 'j');
    expect(
      refusal(() => limiter.open('u', 'j')),
      'who left twice made room for one',
    ).toMatchObject(['rate_limited', 'tokenStreams', 5]);
    for (let index = 0; index < 2; index += 1) limiter.open('u', undefined);
    expect(refusal(() => limiter.open('u', undefined))).toMatchObject(['rate_limited', 'sessionStreams', 5]);
  });
});
