/** Gives the virtual list its keys, and tells it when a row has grown at its front. */
import { useCallback, useMemo, useState } from 'react';
import { createRowKeys } from './row-keys.ts';
import type { Row } from './rows.ts';
import type { Rows } from './use-stick.ts';

export interface UsedRowKeys {
  readonly getItemKey: (index: number) => string | number;
  /** For the virtual list: whether to move the scroll position by what a row has grown. */
  readonly shouldAdjust: NonNullable<Rows['shouldAdjustScrollPositionOnItemSizeChange']>;
}

export function useRowKeys(rows: readonly Row[]): UsedRowKeys {
  const [maker] = useState(createRowKeys);
  const keys = useMemo(() => maker.next(rows), [maker, rows]);
  const getItemKey = useCallback(
    (index: number) => {
      const row = rows[index];
      return row === undefined ? index : keys.keyOf(row);
    },
    [keys, rows],
  );
  const shouldAdjust = useCallback<UsedRowKeys['shouldAdjust']>(
    (item, _delta, list) => {
      if (keys.takeGrown(item.key)) return true;
      // As the list does by itself.
      const offset = list.scrollOffset ?? 0;
      return list.itemSizeCache.has(item.key)
        ? item.end <= offset && list.scrollDirection !== 'backward'
        : item.start < offset;
    },
    [keys],
  );
  return { getItemKey, shouldAdjust };
}
