/** Back to the end, and how much has come since the reader left it. */
import { useState } from 'react';
import type { ReactElement } from 'react';
import { formatInteger } from '../base/format.ts';
import { Icon } from '../base/icon.tsx';

/** Shown from when the reader leaves the end: what is new counts from there. */
export function JumpToLatest({ head, toEnd }: { readonly head: number; readonly toEnd: () => void }): ReactElement {
  const [left] = useState(head);
  const count = Math.max(0, head - left);
  return (
    <button type="button" className="button floating latest" onClick={toEnd}>
      <Icon name="latest" />
      Jump to latest
      {count > 0 && <span className="count">{formatInteger(count)} new</span>}
    </button>
  );
}
