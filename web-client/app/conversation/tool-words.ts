/** A tool call in words, and how much of it there is to show (pure). */
import type { ToolItem } from '../../src/timeline-item.ts';

const states = { running: 'Running', done: 'Done', failed: 'Failed', in_doubt: 'In doubt' } as const;

/** `isOver`: nothing more will come of it. */
export function toToolWords(item: ToolItem, isOver: boolean): string {
  if (isUndone(item)) return 'Did not happen';
  return item.state === 'running' && isOver ? 'No result' : states[item.state];
}

/** A person said so. */
export const isUndone = ({ state, resolvedBy, error }: ToolItem): boolean =>
  state === 'failed' && resolvedBy !== undefined && error === undefined;

/** Of a call in doubt there is none, whatever its agent said of it. */
export const hasResult = ({ state, result }: ToolItem): boolean =>
  (state === 'running' || state === 'done') && result !== undefined;

/** The journal, or what counts as one, says more of it than its agent. */
export const hasFacts = ({ effect, step, resolvedBy, deliveries = [] }: ToolItem): boolean =>
  effect !== undefined || typeof step === 'number' || resolvedBy !== undefined || deliveries.length > 0;
