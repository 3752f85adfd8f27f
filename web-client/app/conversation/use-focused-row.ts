/** Keeps the row that has the focus on the page, however far it is scrolled away: what is removed loses the focus. */
import { useCallback, useMemo, useState } from 'react';
import type { FocusEvent } from 'react';
import { defaultRangeExtractor } from '@tanstack/react-virtual';
import type { Range } from '@tanstack/react-virtual';
import type { Row } from './rows.ts';
import type { UsedRowKeys } from './use-row-keys.ts';

export interface FocusedRow {
  readonly rangeExtractor: (range: Range) => number[];
  readonly onFocus: (event: FocusEvent) => void;
  readonly onBlur: () => void;
}

/** By the keys under which rows are on the page: a row's own changes when an older page holds its beginning. */
export function useFocusedRow(rows: readonly Row[], getItemKey: UsedRowKeys['getItemKey']): FocusedRow {
  const [focused, setFocused] = useState<string | number>();
  const place = useMemo(
    () => (focused === undefined ? -1 : rows.findLastIndex((_, index) => getItemKey(index) === focused)),
    [rows, getItemKey, focused],
  );
  const rangeExtractor = useCallback((range: Range) => withRow(defaultRangeExtractor(range), place), [place]);
  const onFocus = useCallback(
    ({ target }: FocusEvent) => {
      const index = target.closest('[data-index]')?.getAttribute('data-index');
      setFocused(typeof index === 'string' ? getItemKey(Number(index)) : undefined);
    },
    [getItemKey],
  );
  const onBlur = useCallback(() => setFocused(undefined), []);
  return { rangeExtractor, onFocus, onBlur };
}

/** In the order of the page, which is that of the Tab key. */
function withRow(indexes: number[], place: number): number[] {
  const [first, last] = [indexes[0], indexes.at(-1)];
  if (place < 0 || first === undefined || last === undefined || (first <= place && place <= last)) return indexes;
  return place < first ? [place, ...indexes] : [...indexes, place];
}
