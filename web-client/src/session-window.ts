/** The part of a session that is held, and what it looks like (pure). */
import { mergeEvents } from './history.ts';
import type { SessionEvent } from './session-event.ts';
import { addOlder, dropOlder } from './timeline-window.ts';
import { emptyTimeline, foldEvents } from './timeline.ts';
import type { Timeline } from './timeline.ts';

export interface SessionWindow {
  /** Contiguous and ascending. */
  readonly events: readonly SessionEvent[];
  readonly timeline: Timeline;
}

export const emptyWindow: SessionWindow = { events: [], timeline: emptyTimeline };

/** Trimmed to so much of the most, so that it happens rarely. */
const KEPT_SHARE = 0.75;

export function grow({ events, timeline }: SessionWindow, arrived: readonly SessionEvent[]): SessionWindow {
  return { events: events.concat(arrived), timeline: foldEvents(timeline, arrived) };
}

/** With the pages before its first event, which end where it begins. */
export function growBack({ events, timeline }: SessionWindow, older: readonly SessionEvent[]): SessionWindow {
  const all = mergeEvents(events, older);
  return all === events
    ? { events, timeline }
    : { events: all, timeline: addOlder(timeline, all, events[0]?.sequence) };
}

/** Without the oldest events, if there are more than `most`. */
export function trim(window: SessionWindow, most: number): SessionWindow {
  if (window.events.length <= most) return window;
  const events = window.events.slice(-Math.ceil(most * KEPT_SHARE));
  return { events, timeline: dropOlder(window.timeline, events[0]?.sequence ?? 0) };
}

/** What lies above the floor, as if there had never been more. */
export function above({ events }: SessionWindow, floor: number): SessionWindow {
  return grow(
    emptyWindow,
    events.filter(({ sequence }) => sequence > floor),
  );
}
