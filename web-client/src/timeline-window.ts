/** Moves the beginning of a timeline: older items leave when there are too many, and come when the reader asks (pure). */
import type { SessionEvent } from './session-event.ts';
import { emptyTimeline, foldEvents } from './timeline.ts';
import type { Timeline } from './timeline.ts';
import { fieldsOf } from './timeline-data.ts';
import type { Fields } from './timeline-data.ts';
import type { TimelineItem } from './timeline-item.ts';
import { memoryOf, remember } from './timeline-memory.ts';
import type { Slot, Tries } from './timeline-memory.ts';

/**
 * Without the items that ended before `sequence`. One that reaches over it stays whole, and so does what a turn that
 * still runs has not finished.
 */
export function dropOlder(timeline: Timeline, sequence: number): Timeline {
  const { open } = memoryOf(timeline);
  const stays = (item: TimelineItem): boolean =>
    item.last >= sequence || (item.turn !== undefined && open.includes(item.turn) && isUnfinished(item));
  return rearrange(timeline, timeline.items.filter(stays));
}

/**
 * With what lies before. `events` are all that the screen has now, up to the timeline's last; `known` is the first of
 * those that it had before. Items that do not change stay the same objects.
 */
export function addOlder(timeline: Timeline, events: readonly SessionEvent[], known = 0): Timeline {
  const whole = foldEvents(emptyTimeline, events);
  if (timeline.last === 0 || whole.first <= timeline.first) {
    const shown = new Map(timeline.items.map((item) => [item.first, item]));
    const items = whole.items.map((item) => {
      const before = shown.get(item.first);
      return before !== undefined && isSame(before, item) ? before : item;
    });
    return remember({ ...whole, items }, memoryOf(whole));
  }
  // It has seen these events, and let some of their items go: those come back, and what it holds, it knows better.
  const shown = new Set(timeline.items.flatMap(({ first, last }) => [first, last]));
  const ends = new Map(whole.items.map((item) => [item.last, item]));
  const back = whole.items.filter(({ first, last }) => last < known && !shown.has(first) && !shown.has(last));
  const held = timeline.items.map((item) => {
    const longer = ends.get(item.last);
    return longer !== undefined && longer.first < item.first ? longer : item;
  });
  const all = new Map([...back, ...held].map((item) => [item.first, item]));
  return rearrange(
    timeline,
    [...all.values()].toSorted((one, other) => one.first - other.first),
  );
}

function isUnfinished(item: TimelineItem): boolean {
  if (item.isAbandoned) return false;
  switch (item.kind) {
    case 'message':
    case 'reasoning':
      return !item.isComplete;
    case 'tool':
      return item.state === 'running';
    case 'approval':
      return item.decision === undefined && item.isVoid !== true;
    case 'turn':
      return true;
    case 'other':
      return false;
  }
}

/** Data comes out of the events themselves, so only what a fold made is looked into: items, and the error of a turn. */
function isSame(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  const [mine, theirs] = [fieldsOf(one), fieldsOf(other)];
  if (mine === undefined || theirs === undefined) return false;
  return Object.entries(mine).every(([name, value]) => isSame(value, theirs[name as keyof Fields]));
}

/** No two items share their last event, so it tells which item is which. */
function rearrange(timeline: Timeline, items: readonly TimelineItem[]): Timeline {
  const memory = memoryOf(timeline);
  const places = new Map(items.map(({ last }, place) => [last, place]));
  const placeOf = (place: number): number | undefined => places.get(timeline.items[place]?.last ?? 0);
  const startOf = (from: number): number => {
    for (let place = from; place < timeline.items.length; place += 1) {
      const now = placeOf(place);
      if (now !== undefined) return now;
    }
    return items.length;
  };
  const slots = new Map<string, Slot>();
  for (const [name, slot] of memory.slots.flatMap((layer) => [...layer])) {
    const place = placeOf(slot.place);
    if (place !== undefined) slots.set(name, { ...slot, place });
  }
  const turns = new Set([...memory.open, ...items.map(({ turn }) => turn)]);
  const tries = new Map<string, Tries>();
  for (const [turn, { from, attempt }] of memory.tries.flatMap((layer) => [...layer])) {
    if (turns.has(turn)) tries.set(turn, { from: startOf(from), attempt });
  }
  return remember(
    { ...timeline, items },
    {
      ...memory,
      slots: [slots],
      tries: [tries],
      thought: placeOf(memory.thought) ?? -1,
      stream: startOf(memory.stream),
      step: startOf(memory.step),
    },
  );
}
