/** When a batch leaves, and how much of it. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { batchLength, leavesInMs } from '../../src/session/batch.ts';
import type { Waiting } from '../../src/session/batch.ts';

const delta = (sinceMs = 0, bytes = 100): Waiting => ({ bytes, isDelta: true, sinceMs });
const structural = (sinceMs = 0, bytes = 100): Waiting => ({ bytes, isDelta: false, sinceMs });
const many = (count: number, make = delta): Waiting[] => Array.from({ length: count }, () => make());

describe('a batch', () => {
  test('does not leave while nothing waits', () => {
    expect(leavesInMs([], 5)).toBeUndefined();
    expect(batchLength([])).toBe(0);
  });

  test('of deltas leaves 33 ms after the oldest came', () => {
    expect(leavesInMs([delta(1_000), delta(1_020)], 1_020)).toBe(13);
    expect(leavesInMs([delta(1_000), delta(1_020)], 1_033)).toBe(0);
    expect(leavesInMs([delta(1_000)], 9_999)).toBe(0);
  });

  test('of deltas leaves at once when there are 50', () => {
    expect(leavesInMs(many(49), 0)).toBe(33);
    expect(leavesInMs(many(50), 0)).toBe(0);
  });

  test('leaves at once with whatever is structural, wherever it stands', () => {
    expect(leavesInMs([structural()], 0)).toBe(0);
    expect(leavesInMs([delta(), structural(), delta()], 0)).toBe(0);
  });

  test('of deltas leaves at once when they no longer fit one body', () => {
    const large = limits.payloadBytes;
    expect(
      leavesInMs(
        many(7, () => delta(0, large)),
        0,
      ),
    ).toBe(33);
    expect(
      leavesInMs(
        many(8, () => delta(0, large)),
        0,
      ),
    ).toBe(0);
  });

  test('takes all that waits, up to the limits of one append', () => {
    expect(batchLength(many(50))).toBe(50);
    expect(batchLength(many(1_000))).toBe(1_000);
    expect(batchLength(many(1_001))).toBe(1_000);
    expect(batchLength(many(20, () => delta(0, limits.payloadBytes)))).toBe(7);
  });

  test('takes one event however large, and never more than fits', () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 2 * limits.appendBodyBytes }), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(sizes, (all) => {
        const length = batchLength(all.map((bytes) => delta(0, bytes)));
        expect(length).toBeGreaterThanOrEqual(1);
        const body = all.slice(0, length).reduce((sum, bytes) => sum + bytes + 1, 0);
        if (length > 1) expect(body).toBeLessThanOrEqual(limits.appendBodyBytes);
      }),
    );
  });
});
