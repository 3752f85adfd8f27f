/** Whether what is searched for is in an item: a fold with a match in it has to open. */
import type { TimelineItem } from '../../src/timeline-item.ts';
import { findMatches } from '../search/search.ts';
import { useReading } from './reading.ts';

export function useMatches(item: TimelineItem): boolean {
  const { pattern } = useReading();
  return pattern !== undefined && findMatches([item], pattern).length > 0;
}
