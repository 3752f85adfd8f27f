/** A timeline, and what it remembers beside what it shows. */
import type { TimelineItem } from './timeline-item.ts';
import type { Layers } from './timeline-layers.ts';
import { unknownTurn } from './turn-now.ts';
import type { TurnFold } from './turn-now.ts';

/** Made by this package alone: a copy of one cannot be folded on. */
export interface Timeline {
  /** In the order of their first events. */
  readonly items: readonly TimelineItem[];
  /** The lowest and the highest sequence that was folded; 0 before there is one. */
  readonly first: number;
  readonly last: number;
}

export interface Slot {
  readonly place: number;
  /** Its text is final. */
  readonly isSealed: boolean;
}

export interface Tries {
  /** What the newest attempt did lies from here on. */
  readonly from: number;
  readonly attempt: number | undefined;
}

/** What the next fold has to know beside the items. A place is a position among them. */
export interface Memory {
  readonly slots: Layers<Slot>;
  readonly tries: Layers<Tries>;
  /** Turns that began and have not ended, the last one last. */
  readonly open: readonly string[];
  /** The place of a thought that nothing has followed yet, else -1. */
  readonly thought: number;
  /** Where the AI SDK's current message and its current step began, and the message's id. */
  readonly stream: number;
  readonly step: number;
  readonly message: string;
  /** Approvals that a turn asked for and that its end makes void. */
  readonly asked: readonly string[];
  /** What the agent does. */
  readonly agent: TurnFold;
}

const emptyMemory: Memory = {
  slots: [],
  tries: [],
  open: [],
  thought: -1,
  stream: 0,
  step: 0,
  message: '',
  asked: [],
  agent: unknownTurn,
};

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
