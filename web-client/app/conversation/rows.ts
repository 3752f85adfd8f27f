/** The rows of the conversation: the timeline's items, with abandoned attempts folded and each turn's end in its place (pure). */
import type { TimelineItem, TurnItem } from '../../src/timeline-item.ts';

/** An attempt that another one replaced, in one line until it is opened. */
export interface AbandonedRow {
  readonly kind: 'abandoned';
  readonly key: string;
  readonly first: number;
  readonly last: number;
  readonly turn: string | undefined;
  readonly attempt: number | undefined;
  readonly count: number;
  readonly isOpen: boolean;
}

/** A turn's item stands where the turn began; this stands where it came to its end. */
export interface TurnEndRow {
  readonly kind: 'turn_end';
  readonly key: string;
  readonly first: number;
  readonly last: number;
  readonly item: TurnItem;
}

export type Row = TimelineItem | AbandonedRow | TurnEndRow;

/** One pass, for it runs once a frame while text streams; rows that did not change keep their identity. */
export function toRows(items: readonly TimelineItem[], opened: ReadonlySet<string>): readonly Row[] {
  const rows: Row[] = [];
  const ends: TurnItem[] = [];
  const pushEnds = (before: number): void => {
    while (ends.length > 0 && (ends[0]?.last ?? before) < before) {
      const item = ends.shift();
      if (item !== undefined) rows.push(endRow(item));
    }
  };
  for (let index = 0; index < items.length; index += 1) {
    const item = items[index] as TimelineItem;
    pushEnds(item.first);
    if (!item.isAbandoned) {
      rows.push(item);
      if (item.kind === 'turn' && hasEnd(item)) insertByLast(ends, item);
      continue;
    }
    const until = endOfAttempt(items, index);
    const row = abandonedRow(items, index, until, opened);
    rows.push(row);
    if (row.isOpen) rows.push(...items.slice(index, until));
    index = until - 1;
  }
  pushEnds(Infinity);
  return rows;
}

/** A turn of a single event has nothing between its beginning and its end. */
const hasEnd = (item: TurnItem): boolean =>
  item.last > item.first && item.state !== 'running' && item.state !== 'waiting';

/** Turns rarely overlap, so this is an append. */
function insertByLast(ends: TurnItem[], item: TurnItem): void {
  ends.splice(ends.findLastIndex(({ last }) => last <= item.last) + 1, 0, item);
}

const endRows = new WeakMap<TurnItem, TurnEndRow>();

function endRow(item: TurnItem): TurnEndRow {
  const known = endRows.get(item);
  if (known !== undefined) return known;
  const row: TurnEndRow = { kind: 'turn_end', key: `${item.key}:end`, first: item.last, last: item.last, item };
  endRows.set(item, row);
  return row;
}

function endOfAttempt(items: readonly TimelineItem[], from: number): number {
  const { turn, attempt } = items[from] as TimelineItem;
  let until = from + 1;
  while (until < items.length) {
    const item = items[until] as TimelineItem;
    if (!item.isAbandoned || item.turn !== turn || item.attempt !== attempt) break;
    until += 1;
  }
  return until;
}

function abandonedRow(
  items: readonly TimelineItem[],
  from: number,
  until: number,
  opened: ReadonlySet<string>,
): AbandonedRow {
  const { key: firstKey, first, turn, attempt } = items[from] as TimelineItem;
  const key = `abandoned:${firstKey}`;
  let last = first;
  for (let index = from; index < until; index += 1) last = Math.max(last, items[index]?.last ?? last);
  return { kind: 'abandoned', key, first, last, turn, attempt, count: until - from, isOpen: opened.has(key) };
}

/** The row that shows a sequence: the one that holds it, else the nearest before it. -1 when there are no rows. */
export function findRow(rows: readonly Row[], sequence: number): number {
  const holds = (row: Row): boolean => row.first <= sequence && sequence <= row.last;
  // Of a call and the text that streamed while it ran, the narrower one is meant; a turn's item spans all of it.
  const exact = rows.findLastIndex((row) => row.kind !== 'turn' && holds(row));
  if (exact >= 0) return exact;
  const before = rows.findLastIndex((row) => row.first <= sequence);
  return before >= 0 ? before : Math.min(0, rows.length - 1);
}

/** The key of the fold that hides an item; undefined when none does. */
export function findAttempt(items: readonly TimelineItem[], key: string): string | undefined {
  let index = items.findIndex((item) => item.key === key);
  const found = items[index];
  if (found?.isAbandoned !== true) return undefined;
  const isSame = (item: TimelineItem | undefined): boolean =>
    item?.isAbandoned === true && item.turn === found.turn && item.attempt === found.attempt;
  while (isSame(items[index - 1])) index -= 1;
  return `abandoned:${items[index]?.key ?? key}`;
}
