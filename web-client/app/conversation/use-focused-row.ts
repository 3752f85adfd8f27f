/** Keeps the row that has the focus on the page, however far it is scrolled away: what is removed loses the focus. */
import { useCallback, useMemo, useState } from 'react';
import type { FocusEvent } from 'react';
import { defaultRangeExtractor } from '@tanstack/react-virtual';
import type { Range } from '@tanstack/react-virtual';
import type { Row } from './rows.ts';

export interface FocusedRow {
  readonly rangeExtractor: (range: Range) => number[];
  readonly onFocus: (event: FocusEvent) => void;
  readonly onBlur: () => void;
}

export function useFocusedRow(rows: readonly Row[]): FocusedRow {
  const [focused, setFocused] = useState<string>();
  const place = useMemo(
    () => (focused === undefined ? -1 : rows.findLastIndex(({ key }) => key === focused)),
    [rows, focused],
  );
  const rangeExtractor = useCallback((range: Range) => withRow(defaultRangeExtractor(range), place), [place]);
  const onFocus = useCallback(
    ({ target }: FocusEvent) => {
      const index = target.closest('[data-index]')?.getAttribute('data-index');
      setFocused(typeof index === 'string' ? rows[Number(index)]?.key : undefined);
    },
    [rows],
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
