/** What the timeline knows of the last turn and of its open question (pure). */
import type { TimelineItem, TurnItem } from '../../src/timeline-item.ts';

export const lastTurnOf = (items: readonly TimelineItem[]): TurnItem | undefined =>
  items.findLast((item): item is TurnItem => item.kind === 'turn' && !item.isAbandoned);

/** The sequence of the first question that nobody has decided since the last turn began. */
export function findQuestion(items: readonly TimelineItem[]): number | undefined {
  const begin = lastTurnOf(items)?.first ?? 0;
  return items.find(
    (item) => item.first >= begin && item.kind === 'approval' && item.decision === undefined && item.isVoid !== true,
  )?.first;
}
