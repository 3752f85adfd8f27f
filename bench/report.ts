/** What a measurement tells: how it was done, and a row for each figure. */

export interface Report {
  readonly name: string;
  /** In a few sentences; the file's opening comment has the whole of it. */
  readonly method: string;
  readonly rows: readonly Readonly<Record<string, string | number>>[];
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);

export const rounded = (value: number): number => Math.round(value * 100) / 100;

export const spread = (values: readonly number[]): string =>
  `${rounded(Math.min(...values))}–${rounded(Math.max(...values))}`;
