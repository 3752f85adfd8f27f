/** An attempt that another one replaced, folded into one line. */
import type { ReactElement } from 'react';
import { plural } from '../base/format.ts';
import { Icon } from '../base/icon.tsx';
import { useReading } from './reading.ts';
import type { AbandonedRow } from './rows.ts';

export function AbandonedItem({ row }: { readonly row: AbandonedRow }): ReactElement {
  const { toggleAttempt } = useReading();
  return (
    <button
      type="button"
      className={row.isOpen ? 'abandoned is-open' : 'abandoned'}
      aria-expanded={row.isOpen}
      onClick={() => toggleAttempt(row.key)}
    >
      <span className="chevron">
        <Icon name="right" />
      </span>
      An attempt was abandoned and tried again ({plural(row.count, 'item')})
    </button>
  );
}
