/** The rail's rows: the last events, the newest first, and the marks where they belong between them (pure). */
import type { SessionEvent } from '../../src/session-event.ts';
import type { Mark, RepairedBy } from './marks.ts';

export type RailRow =
  | {
      readonly kind: 'event';
      readonly key: string;
      readonly event: SessionEvent;
      /** What brought it, if not its own broadcast. */
      readonly repairedBy?: RepairedBy;
    }
  | { readonly kind: 'mark'; readonly key: string; readonly mark: Mark };

const MOST_EVENTS = 50;

/**
 * A loss stands below (before) the first event it took, a repair above (after) the last one it brought: by sequence, not
 * by time, for three clocks are at work. What is lost and not yet repaired stands on top.
 */
export function toRailRows(events: readonly SessionEvent[], marks: readonly Mark[]): readonly RailRow[] {
  const shown = events.slice(-MOST_EVENTS);
  const oldest = shown[0]?.sequence ?? 0;
  const repairs = marks.filter((mark) => mark.kind === 'repaired');
  const places = [
    ...shown.map((event) => ({ sequence: event.sequence, rank: 0, row: eventRow(event, repairs) })),
    ...joinLosses(marks)
      .filter(({ last }) => last >= oldest)
      .map((mark) => ({
        sequence: mark.kind === 'lost' ? mark.first : mark.last,
        rank: mark.kind === 'lost' ? -1 : 1,
        row: { kind: 'mark', key: mark.key, mark } as const,
      })),
  ];
  // Stable: of two marks at one place the later one, learnt later, comes out on top.
  return places
    .toSorted((left, right) => left.sequence - right.sequence || left.rank - right.rank)
    .map(({ row }) => row)
    .toReversed();
}

/** What happened last, the newest first: in a busy session its place between the events is soon out of sight. */
export const toLatestMarks = (marks: readonly Mark[]): readonly Mark[] => joinLosses(marks).slice(-2).toReversed();

function eventRow(event: SessionEvent, repairs: readonly Mark[]): RailRow {
  const repair = repairs.findLast(({ first, last }) => first <= event.sequence && event.sequence <= last);
  const key = `event-${String(event.sequence)}`;
  return repair?.kind === 'repaired'
    ? { kind: 'event', key, event, repairedBy: repair.by }
    : { kind: 'event', key, event };
}

/** A bus that is away loses one broadcast after the other: that is one loss. */
function joinLosses(marks: readonly Mark[]): readonly Mark[] {
  const joined: Mark[] = [];
  for (const mark of marks) {
    const before = joined.at(-1);
    if (mark.kind === 'lost' && before?.kind === 'lost' && isNext(before, mark)) {
      joined[joined.length - 1] = { ...before, last: Math.max(before.last, mark.last) };
    } else joined.push(mark);
  }
  return joined;
}

const isNext = (before: Mark, mark: Mark): boolean => mark.first >= before.first && mark.first <= before.last + 1;
