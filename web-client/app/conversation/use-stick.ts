/** Keeps the reader at the end: only the reader's own scrolling leaves it, however the rows grow and are measured. */
import { useCallback, useLayoutEffect, useRef, useState } from 'react';
import type { RefObject, UIEvent } from 'react';
import { elementScroll } from '@tanstack/react-virtual';
import type { Virtualizer } from '@tanstack/react-virtual';

export type Rows = Virtualizer<HTMLDivElement, HTMLElement>;

export interface Stick {
  readonly isAtEnd: boolean;
  /** The same, at once. */
  readonly stuck: RefObject<boolean>;
  readonly scrollToFn: typeof elementScroll<HTMLDivElement>;
  readonly onScroll: (event: UIEvent<HTMLDivElement>) => void;
  /** Whether the reader is to stay at the end from now on. */
  readonly stick: (isAtEnd: boolean) => void;
}

/** Whoever comes so near to the end has come back to it. */
const END_PIXELS = 24;

export function useStick(virtualizer: RefObject<Rows | undefined>): Stick {
  const [isAtEnd, setIsAtEnd] = useState(true);
  const stuck = useRef(true);
  const last = useRef({ topPixels: 0, writtenPixels: NaN });

  const stick = useCallback((isToStay: boolean) => {
    stuck.current = isToStay;
    setIsAtEnd(isToStay);
  }, []);

  const scrollToFn = useCallback<Stick['scrollToFn']>((offset, options, instance) => {
    elementScroll(offset, options, instance);
    last.current.writtenPixels = instance.scrollElement?.scrollTop ?? NaN;
  }, []);

  const onScroll = useCallback(
    ({ currentTarget }: UIEvent<HTMLDivElement>) => {
      const { scrollTop, scrollHeight, clientHeight } = currentTarget;
      const { topPixels, writtenPixels } = last.current;
      last.current = { topPixels: scrollTop, writtenPixels: NaN };
      const leftPixels = scrollHeight - clientHeight - scrollTop;
      // Nothing was written: NaN, which is near to nothing.
      const isOwn = Math.abs(scrollTop - writtenPixels) <= 1;
      if (leftPixels <= 1 || (leftPixels <= END_PIXELS && scrollTop > topPixels)) stick(true);
      // A wheel begins with a pixel or two. What the rows' own measuring moved is nobody's wish.
      else if (!isOwn && scrollTop < topPixels && stuck.current) {
        virtualizer.current?.cancelScroll();
        stick(false);
      }
    },
    [stick, virtualizer],
  );
  return { isAtEnd, stuck, scrollToFn, onScroll, stick };
}

/** After each change of what there is to scroll; to ask where the end is costs a layout, so not after each token. */
export function useStayAtEnd(virtualizer: Rows, stuck: RefObject<boolean>, belowRows: number): void {
  const totalPixels = virtualizer.getTotalSize();
  const { count } = virtualizer.options;
  useLayoutEffect(() => {
    const isThere = belowRows > 0 || (count > 0 && totalPixels > 0);
    if (isThere && stuck.current && !virtualizer.isAtEnd(1)) virtualizer.scrollToEnd();
  }, [virtualizer, stuck, totalPixels, count, belowRows]);
}
