/** The latency from append to screen, in numbers and on the chart. */
import { describe, expect, test } from 'vitest';
import { addSamples, chartHeight, chartPath, clockLeadMs, summarize } from '../../../web-client/app/ledger/latency.ts';

const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

describe('the samples', () => {
  test('are the last 120', () => {
    const samples = addSamples(range(119), [7, 8, 9]);
    expect(samples).toHaveLength(120);
    expect(samples.slice(0, 2)).toEqual([3, 4]);
    expect(samples.slice(-3)).toEqual([7, 8, 9]);
  });

  test('stay the same when there are no more', () => {
    const samples = range(3);
    expect(addSamples(samples, [])).toBe(samples);
  });

  test('amount to percentiles that were seen', () => {
    expect(summarize(range(100).toReversed())).toEqual({ count: 100, p50Ms: 50, p99Ms: 99, maxMs: 100 });
    expect(summarize([5])).toEqual({ count: 1, p50Ms: 5, p99Ms: 5, maxMs: 5 });
    expect(summarize([30, 10])).toEqual({ count: 2, p50Ms: 10, p99Ms: 30, maxMs: 30 });
    expect(summarize([])).toBeUndefined();
  });

  test('of a clock that runs behind are told as they are', () => {
    expect(summarize([-12, -3])).toMatchObject({ p50Ms: -12, maxMs: -3 });
  });
});

describe('the clocks', () => {
  test.each([
    ['ahead', [3_600_400, 3_600_020, 3_609_000], 3_600_020],
    ['behind', [-59_800, -59_980], -59_980],
    ['as good as the same, whatever the network does', [9_000, 40], 0],
    ['as good as the same, where nothing has come', [], 0],
  ])('are %s', (_, samples, leadMs) => {
    expect(clockLeadMs(samples)).toBe(leadMs);
  });
});

describe('the chart', () => {
  test('rises with the logarithm, and holds what is beyond it', () => {
    expect([1, 10, 100, 1_000, 10_000].map(chartHeight)).toEqual(
      [0, 0.25, 0.5, 0.75, 1].map((height) => expect.closeTo(height)),
    );
    expect([-5, 0, 99_999].map(chartHeight)).toEqual([0, 0, 1]);
  });

  test('has a dot for each sample, the newest at the right', () => {
    expect(chartPath([10, 100], 240, 100)).toBe('M237.0 75.0h0M239.0 50.0h0');
    expect(chartPath([], 240, 100)).toBe('');
  });
});
