/** What lies above the first row: older events that are being read, or the beginning. */
import type { ReactElement } from 'react';
import { formatInteger } from '../base/format.ts';
import type { Older } from './use-older.ts';

interface OlderRowsProps {
  readonly older: Older;
  readonly hasOlder: boolean;
  readonly floor: number;
}

export function OlderRows({ older, hasOlder, floor }: OlderRowsProps): ReactElement {
  return (
    <div className="older" role="presentation">
      {older.error === undefined ? (
        <span>{toWords(older.isLoading, hasOlder, floor)}</span>
      ) : (
        <>
          <span className="problem">Older events cannot be read just now.</span>
          <button type="button" className="button quiet" onClick={older.again}>
            Try again
          </button>
        </>
      )}
    </div>
  );
}

function toWords(isLoading: boolean, hasOlder: boolean, floor: number): string {
  if (isLoading) return 'Reading older events…';
  if (hasOlder) return '';
  return floor === 0 ? 'The beginning' : `Retention removed everything up to ${formatInteger(floor)}`;
}
