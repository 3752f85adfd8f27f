/** Numbers, sizes and times as the page shows them (pure). */

const integers = new Intl.NumberFormat('en');
const tenths = new Intl.NumberFormat('en', { maximumFractionDigits: 1, minimumFractionDigits: 1 });
const clockTime = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
});
const fullTime = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'long' });

export const formatInteger = (value: number): string => integers.format(value);

/** `42`, or `42–97`. */
export const formatRange = (first: number, last: number): string =>
  first === last ? formatInteger(first) : `${formatInteger(first)}–${formatInteger(last)}`;

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${formatInteger(count)} ${count === 1 ? one : many}`;

export function formatBytes(bytes: number): string {
  if (bytes < 1_000) return `${String(bytes)} B`;
  if (bytes < 1_000_000) return `${tenths.format(bytes / 1_000)} kB`;
  return `${tenths.format(bytes / 1_000_000)} MB`;
}

export function formatMilliseconds(ms: number): string {
  if (Math.abs(ms) < 1_000) return `${formatInteger(Math.round(ms))} ms`;
  return `${tenths.format(ms / 1_000)} s`;
}

/** `04:12:09.123`, by this browser's clock; the text itself where it is no time. */
export function formatClockTime(at: string): string {
  const ms = Date.parse(at);
  return Number.isNaN(ms) ? at : clockTime.format(ms);
}

export function formatFullTime(at: string): string {
  const ms = Date.parse(at);
  return Number.isNaN(ms) ? at : fullTime.format(ms);
}

/** Indented for reading. What JSON cannot hold is shown as the word for it. */
export const formatJson = (value: unknown): string =>
  value === undefined ? 'undefined' : (JSON.stringify(value, undefined, 2) ?? 'undefined');

const encoder = new TextEncoder();

/** The size of an event's data as the shortest JSON, in UTF-8. */
export const jsonBytes = (value: unknown): number =>
  value === undefined ? 0 : encoder.encode(JSON.stringify(value) ?? '').length;
