/** Where a committed range lies against what a room has (pure): the one comparison that decides what enters the tail. */
import { next } from '../event/sequence.ts';
import type { Cursor, Sequence } from '../event/sequence.ts';

/** Behind the watermark; right after it; across it; or beyond something that has not come. */
export type Placement = 'old' | 'next' | 'overlap' | 'gap';

export function classify(first: Sequence, last: Sequence, watermark: Cursor): Placement {
  if (last <= watermark) return 'old';
  const expected = next(watermark);
  if (first === expected) return 'next';
  return first < expected ? 'overlap' : 'gap';
}
