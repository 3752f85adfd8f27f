/** The rail: the last events, and each mark at its place between them. */
import { describe, expect, test } from 'vitest';
import type { Mark } from '../../../web-client/app/ledger/marks.ts';
import { toLatestMarks, toRailRows } from '../../../web-client/app/ledger/rail-rows.ts';
import type { RailRow } from '../../../web-client/app/ledger/rail-rows.ts';

const at = '2026-11-30T04:00:00.000Z';
const events = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, index) => ({ sequence: first + index, type: 'note', at, data: {} }));
const lost = (first: number, last = first): Mark => ({ kind: 'lost', key: `lost-${first}`, at, first, last });
const repaired = (first: number, last = first): Mark => ({
  kind: 'repaired',
  key: `repaired-${first}`,
  at,
  by: 'gap',
  first,
  last,
});

const seen = (rows: readonly RailRow[]): string[] =>
  rows.map((row) =>
    row.kind === 'event'
      ? `${row.event.sequence}${row.repairedBy === undefined ? '' : ` by ${row.repairedBy}`}`
      : `${row.mark.kind} ${row.mark.first}–${row.mark.last}`,
  );

describe('the rail', () => {
  test('has the newest on top', () => expect(seen(toRailRows(events(1, 3), []))).toEqual(['3', '2', '1']));

  test('shows a loss before what was lost and its repair after it', () => {
    expect(seen(toRailRows(events(41, 44), [lost(42), repaired(42, 43)]))).toEqual([
      '44',
      'repaired 42–43',
      '43 by gap',
      '42 by gap',
      'lost 42–42',
      '41',
    ]);
  });

  test('shows on top what is lost and not yet repaired', () => {
    expect(seen(toRailRows(events(40, 41), [lost(42)]))).toEqual(['lost 42–42', '41', '40']);
  });

  test('shows the losses of a bus that is away as one', () => {
    expect(seen(toRailRows(events(40, 41), [lost(42), lost(43, 44), lost(45), lost(47)]))).toEqual([
      'lost 47–47',
      'lost 42–45',
      '41',
      '40',
    ]);
  });

  test('keeps two losses apart when a repair lies between', () => {
    expect(seen(toRailRows(events(41, 43), [lost(42), repaired(42), lost(43), repaired(43)]))).toEqual([
      'repaired 43–43',
      '43 by gap',
      'lost 43–43',
      'repaired 42–42',
      '42 by gap',
      'lost 42–42',
      '41',
    ]);
  });

  test('has fifty events, and no marks of older ones', () => {
    const rows = toRailRows(events(1, 200), [lost(7), repaired(7)]);
    expect(rows).toHaveLength(50);
    expect(seen(rows).at(-1)).toBe('151');
  });

  test('keeps what happened last, the newest first and the losses of one outage as one', () => {
    expect(toLatestMarks([])).toEqual([]);
    const marks = [lost(1), repaired(1), lost(4), lost(5), repaired(4, 5)];
    expect(toLatestMarks(marks).map(({ kind, first, last }) => `${kind} ${first}–${last}`)).toEqual([
      'repaired 4–5',
      'lost 4–5',
    ]);
  });

  test('has a key of its own for each row', () => {
    const keys = toRailRows(events(41, 44), [lost(42), repaired(42), lost(44)]).map(({ key }) => key);
    expect(new Set(keys).size).toBe(keys.length);
  });
});
