/** Folds a session's events into what a screen shows (pure). */
import type { SessionEvent } from './session-event.ts';
import { Draft } from './timeline-draft.ts';
import { applyEvent } from './timeline-events.ts';
import type { TimelineItem } from './timeline-item.ts';
import { memoryOf, remember } from './timeline-memory.ts';
import type { Timeline } from './timeline-memory.ts';
import { foldTurn, toldBy } from './turn-now.ts';
import type { TurnNow } from './turn-now.ts';

export type { Timeline, TimelineItem, TurnNow };

export const emptyTimeline: Timeline = { items: [], first: 0, last: 0 };

/**
 * The timeline with `events`, which ascend. Those that it holds already change nothing, and an item that no event
 * touches stays the same object. No event makes it throw.
 */
export function foldEvents(timeline: Timeline, events: readonly SessionEvent[]): Timeline {
  const draft = new Draft(timeline.items, memoryOf(timeline));
  let { first, last } = timeline;
  let { agent } = draft.memory;
  for (const event of events) {
    if (event.sequence <= last) continue;
    last = event.sequence;
    first ||= last;
    applyEvent(draft, event);
    agent = foldTurn(agent, event);
  }
  return last === timeline.last ? timeline : remember({ items: draft.items, first, last }, { ...draft.close(), agent });
}

/**
 * What the agent does at the timeline's end; undefined where it began in the middle and its events do not tell, as
 * before the first `turn.*` among them. Describing the session does.
 */
export const turnOf = (timeline: Timeline): TurnNow | undefined => toldBy(memoryOf(timeline).agent);
