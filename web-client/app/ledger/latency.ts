/** From append to screen: the last samples, what they amount to, and where they lie on the chart (pure). */

export interface LatencySummary {
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

export const MOST_SAMPLES = 120;

export function addSamples(samplesMs: readonly number[], moreMs: readonly number[]): readonly number[] {
  return moreMs.length === 0 ? samplesMs : [...samplesMs, ...moreMs].slice(-MOST_SAMPLES);
}

/** Undefined without samples. Percentiles by nearest rank: each is a latency that was seen. */
export function summarize(samplesMs: readonly number[]): LatencySummary | undefined {
  const sorted = samplesMs.toSorted((left, right) => left - right);
  const rank = (share: number): number => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
  const maxMs = sorted.at(-1);
  if (maxMs === undefined) return undefined;
  return { count: sorted.length, p50Ms: rank(0.5), p99Ms: rank(0.99), maxMs };
}

/** Less than this is the network's, or worth no correction. */
const CLOCK_SLACK_MS = 2_000;

/**
 * How far this browser's clock is ahead of Postgres', or, below 0, behind. Nothing is told before it is stored, so the
 * least that it took is little more than what the clocks differ by. 0 where nothing came yet.
 */
export function clockLeadMs(samplesMs: readonly number[]): number {
  const leastMs = Math.min(...samplesMs);
  return samplesMs.length > 0 && Math.abs(leastMs) >= CLOCK_SLACK_MS ? leastMs : 0;
}

/** The chart's lines. A logarithm, so that 12 ms and a repair of a second are both seen. */
export const chartLinesMs: readonly number[] = [10, 100, 1_000];
const LOWEST_MS = 1;
const HIGHEST_MS = 10_000;

/** From 0, the bottom, to 1, the top. A clock that runs behind makes times below zero: they lie at the bottom. */
export function chartHeight(ms: number): number {
  const within = Math.min(HIGHEST_MS, Math.max(LOWEST_MS, ms));
  return Math.log(within / LOWEST_MS) / Math.log(HIGHEST_MS / LOWEST_MS);
}

/** A dot for each sample, the newest at the right edge, as one path: `width` and `height` in the path's own units. */
export function chartPath(samplesMs: readonly number[], width: number, height: number): string {
  const step = width / MOST_SAMPLES;
  const from = width - samplesMs.length * step;
  return samplesMs
    .map((ms, index) => {
      const x = from + (index + 0.5) * step;
      const y = (1 - chartHeight(ms)) * height;
      return `M${x.toFixed(1)} ${y.toFixed(1)}h0`;
    })
    .join('');
}
