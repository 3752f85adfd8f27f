/** What a measurement tells: how it was done, a row for each figure, and which of its targets are met. */

export type Row = Readonly<Record<string, string | number>>;

export interface Target {
  /** A sentence with the bound in it. */
  readonly what: string;
  readonly seen: number;
  readonly atMost?: number;
  readonly atLeast?: number;
}

export interface Report {
  readonly name: string;
  /** In a few sentences; the file's opening comment has the whole of it. */
  readonly method: string;
  readonly rows: readonly Row[];
  readonly targets?: readonly Target[];
  /** Peers that were not measured, and why. */
  readonly leftOut?: readonly string[];
  readonly chart?: Chart;
}

/** Bars from the least to the most, of which one is ours. */
export interface Chart {
  readonly title: string;
  readonly unit: string;
  readonly bars: readonly { readonly label: string; readonly value: number; readonly isOurs?: boolean }[];
}

export interface Options {
  readonly quick: boolean;
}

export const isMet = ({ seen, atMost, atLeast }: Target): boolean =>
  seen <= (atMost ?? Number.POSITIVE_INFINITY) && seen >= (atLeast ?? Number.NEGATIVE_INFINITY);

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);

export const rounded = (value: number): number => Math.round(value * 100) / 100;

/** Not by `Math.min(...values)`: there may be more of them than a call takes arguments. */
export const spread = (values: readonly number[]): string =>
  `${rounded(quantile(values, 0))}–${rounded(quantile(values, 1))}`;

export const countTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

/** Where a long measurement is, for who waits for it. */
export const progress = (text: string): void => console.error(`  ${Math.round(performance.now() / 1_000)} s: ${text}`);

/** Rounds count from 0; what comes before them warms up. */
export const progressOfRound = (round: number, rounds: number, of = ''): void =>
  progress(
    `${of === '' ? '' : `${of}: `}${round < 0 ? 'a round that is not measured' : `round ${round + 1} of ${rounds}`}`,
  );
