/** Back to the end, and how much has come since the reader left it. */
import { useLayoutEffect, useRef, useState } from 'react';
import type { ReactElement } from 'react';
import { formatInteger } from '../base/format.ts';
import { Icon } from '../base/icon.tsx';

interface JumpToLatestProps {
  readonly head: number;
  readonly toEnd: () => void;
  /** Takes the focus over from a button that goes. */
  readonly giveFocus: () => void;
}

/** Shown from when the reader leaves the end: what is new counts from there. */
export function JumpToLatest({ head, toEnd, giveFocus }: JumpToLatestProps): ReactElement {
  const [left] = useState(head);
  const button = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    const { current } = button;
    return () => {
      if (current !== null && current === document.activeElement) giveFocus();
    };
  }, [giveFocus]);
  const count = Math.max(0, head - left);
  return (
    <button ref={button} type="button" className="button floating latest" onClick={toEnd}>
      <Icon name="latest" />
      Jump to latest
      {count > 0 && <span className="count">{formatInteger(count)} new</span>}
    </button>
  );
}
