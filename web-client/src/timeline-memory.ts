/** A timeline, and what it remembers beside what it shows. */
import { emptyMemory } from './timeline-draft.ts';
import type { Memory } from './timeline-draft.ts';
import type { TimelineItem } from './timeline-item.ts';

/** Made by this package alone: a copy of one cannot be folded on. */
export interface Timeline {
  /** In the order of their first events. */
  readonly items: readonly TimelineItem[];
  /** The lowest and the highest sequence that was folded; 0 before there is one. */
  readonly first: number;
  readonly last: number;
}

const memories = new WeakMap<Timeline, Memory>();

export function memoryOf(timeline: Timeline): Memory {
  const memory = timeline.last === 0 ? emptyMemory : memories.get(timeline);
  if (memory === undefined) throw new TypeError('not a timeline that foldEvents made');
  return memory;
}

export function remember(timeline: Timeline, memory: Memory): Timeline {
  memories.set(timeline, memory);
  return timeline;
}
