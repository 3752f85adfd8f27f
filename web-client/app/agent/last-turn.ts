/** What the timeline knows of the last turn, of its open question and of its doubt (pure). */
import type { TimelineItem, ToolItem, TurnItem } from '../../src/timeline-item.ts';

export const lastTurnOf = (items: readonly TimelineItem[]): TurnItem | undefined =>
  items.findLast((item): item is TurnItem => item.kind === 'turn' && !item.isAbandoned);

/** The sequence of the first question that nobody has decided since the last turn began. */
export function findQuestion(items: readonly TimelineItem[]): number | undefined {
  const begin = lastTurnOf(items)?.first ?? 0;
  return items.find(
    (item) => item.first >= begin && item.kind === 'approval' && item.decision === undefined && item.isVoid !== true,
  )?.first;
}

/** The first step of the last turn that only a person can tell of, and that nobody has resolved. */
export function findDoubt(items: readonly TimelineItem[]): ToolItem | undefined {
  const turn = lastTurnOf(items)?.turn;
  return items.find(
    (item): item is ToolItem => item.kind === 'tool' && item.state === 'in_doubt' && item.turn === turn,
  );
}

/** How the last turn came to its end, as far as it makes a difference for what is to be done now. */
export type Ending = 'cancelled' | 'failed' | 'in_doubt' | 'resolved' | 'other';

export function endingOf(items: readonly TimelineItem[]): Ending {
  const state = lastTurnOf(items)?.state;
  if (state === 'in_doubt') return findDoubt(items) === undefined ? 'resolved' : 'in_doubt';
  return state === 'cancelled' || state === 'failed' ? state : 'other';
}
