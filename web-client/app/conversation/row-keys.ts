/** Keys under which rows are kept on the screen: a row whose beginning turns up in an older page stays the same row. */
import type { Row } from './rows.ts';

export interface RowKeys {
  readonly keyOf: (row: Row) => string;
  /** The key of the row that has just grown at its front, and not at its end; once. */
  readonly takeGrown: (key: unknown) => boolean;
}

export interface RowKeyMaker {
  /** The keys of these rows; for the same rows again, the same keys. */
  readonly next: (rows: readonly Row[]) => RowKeys;
}

export function createRowKeys(): RowKeyMaker {
  /** From a row's own key to the one it had when it was first shown. */
  const shownAs = new Map<string, string>();
  let before: readonly Row[] = [];
  let grown: string | undefined;
  const keyOf = ({ key }: Row): string => shownAs.get(key) ?? key;
  const takeGrown = (key: unknown): boolean => {
    const isGrown = grown !== undefined && key === grown;
    if (isGrown) grown = undefined;
    return isGrown;
  };
  let keys: RowKeys = { keyOf, takeGrown };
  return {
    next(rows) {
      if (rows === before) return keys;
      const pair = findGrown(before, rows);
      if (pair !== undefined) {
        grown = keyOf(pair.was);
        shownAs.set(pair.is.key, grown);
      }
      for (const { was, is } of findCompleted(before, rows)) shownAs.set(is.key, keyOf(was));
      before = rows;
      keys = { keyOf, takeGrown };
      return keys;
    },
  };
}

/** The first row of before, and what it has become: the one before what came second. */
function findGrown(before: readonly Row[], rows: readonly Row[]): { was: Row; is: Row } | undefined {
  const [was, second] = before;
  if (was === undefined || rows[0]?.key === was.key) return undefined;
  const place = second === undefined ? rows.length : rows.findIndex(({ key }) => key === second.key);
  const is = rows[place - 1];
  return is !== undefined && is.kind === was.kind && is.key !== was.key && is.last >= was.last
    ? { was, is }
    : undefined;
}

interface Completed {
  readonly was: Row;
  readonly is: Row;
}

/**
 * Rows that an older page gave a beginning, and with it another key: each ends where it ended. Of a turn only its end
 * may have been there, as the turn itself; now that is the row of its end.
 */
function findCompleted(before: readonly Row[], rows: readonly Row[]): Completed[] {
  // Only an older page does so, and with it comes another first row.
  if (before.length === 0 || rows[0]?.key === before[0]?.key) return [];
  const keys = new Set(rows.map(({ key }) => key));
  const gone = before.filter(({ key }) => !keys.has(key));
  if (gone.length === 0) return [];
  const known = new Set(before.map(({ key }) => key));
  const placeOf = ({ kind, last }: Pick<Row, 'kind' | 'last'>): string => `${kind} ${last}`;
  const come = new Map(rows.filter(({ key }) => !known.has(key)).map((row) => [placeOf(row), row]));
  return gone.flatMap((was) => {
    const kind = was.kind === 'turn' && was.first === was.last ? 'turn_end' : was.kind;
    const is = come.get(placeOf({ kind, last: was.last }));
    return is === undefined ? [] : [{ was, is }];
  });
}
