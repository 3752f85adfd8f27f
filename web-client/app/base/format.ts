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

/** `now`, `5 min ago`, `3 h ago`, `2 d ago`; of what lies ahead by another clock, `now`. Empty where it is no time. */
export function formatAge(at: string, nowMs: number): string {
  const minutes = Math.floor((nowMs - Date.parse(at)) / 60_000);
  if (Number.isNaN(minutes)) return '';
  if (minutes < 1) return 'now';
  if (minutes < 60) return `${minutes} min ago`;
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h ago`;
  return `${formatInteger(Math.floor(minutes / 1_440))} d ago`;
}

/** `8 s`, `3 min 20 s`, `2 h 5 min`: how long something takes so far; never below 0. */
export function formatElapsed(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${formatInteger(Math.floor(minutes / 60))} h ${minutes % 60} min`;
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

/** The first part of a UUID, which tells it from its neighbours; any other id as it is. */
export const shortId = (id: string): string =>
  /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id) ? id.slice(0, 8) : id;
