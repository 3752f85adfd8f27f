/** What there is to say about the newest items (pure). */
import type { TimelineItem } from '../../src/timeline-item.ts';

/** Items stand in the order of their beginnings, so the one that was completed last need not be the last. */
const LOOKED_AT = 12;

/** What was completed after the sequence `heard`, the newest of it. */
export function findAnnouncement(items: readonly TimelineItem[], heard: number): string | undefined {
  return items
    .slice(-LOOKED_AT)
    .filter(({ last }) => last > heard)
    .map(toWords)
    .findLast((words) => words !== undefined);
}

function toWords(item: TimelineItem): string | undefined {
  if (item.isAbandoned) return undefined;
  if (item.kind === 'message' && item.isComplete) return `${item.role}: ${item.text}`;
  if (item.kind === 'approval' && item.decision === undefined && item.isVoid !== true) {
    return `Approval asked for: ${item.reason ?? item.tool ?? 'no reason was given'}`;
  }
  if (item.kind === 'tool' && item.state === 'in_doubt') {
    return `In doubt: ${item.tool ?? 'a tool'}. Nobody but a person can tell whether it happened.`;
  }
  return undefined;
}
