/** What the journal says of a turn's tool calls: each is one item, whether or not its agent tells of it, too. */
import { textOf } from './timeline-data.ts';
import type { Fields } from './timeline-data.ts';
import type { Draft } from './timeline-draft.ts';
import type { ToolItem } from './timeline-item.ts';
import { callTool } from './timeline-moves.ts';
import type { ToolChange } from './timeline-moves.ts';

/** An agent that says of which step its call is, is believed if no other call is, and the tool is the same. */
export function callStep(draft: Draft, call: unknown, step: number, facts: ToolChange): boolean {
  if (typeof call !== 'string') return false;
  const id = idOf(draft, step);
  const known = draft.findOwn('step-tool', id);
  if (known !== undefined && known.item.tool === facts.tool && (known.item.call ?? call) === call) {
    draft.endThought();
    draft.change(known, { ...facts, call });
    draft.name('tool', call, known.place);
    return true;
  }
  callTool(draft, call, () => ({ ...facts, step }));
  const made = draft.findOwn('tool', call);
  if (known === undefined && made !== undefined) draft.name('step-tool', id, made.place);
  return true;
}

/** Of a model's answer there is nothing to show but what the agent says of it. */
export function stepTo(to: ToolItem['state'] | 'resolved'): (draft: Draft, data: Fields) => boolean {
  return (draft, data) => {
    const { step, kind, tool, effect, result, error, fromJournal, by, outcome } = data;
    if (typeof step !== 'number' || draft.turn === undefined) return false;
    if (kind === 'model') return true;
    if (typeof tool !== 'string') return false;
    const verdict = outcome === 'done' ? 'done' : 'failed';
    return journal(draft, step, {
      tool,
      effect: textOf(effect),
      state: to === 'resolved' ? verdict : to,
      result,
      error,
      ...(fromJournal === true && { isFromJournal: true }),
      ...(to === 'resolved' && { resolvedBy: textOf(by) }),
    });
  };
}

/** Another attempt meets the call again: that is an item of its own, with what is known of it. */
function journal(draft: Draft, step: number, change: ToolChange): true {
  const id = idOf(draft, step);
  const found = draft.findOwn('step-tool', id);
  draft.endThought();
  if (found !== undefined && found.item.tool === change.tool) {
    draft.change(found, change);
    return true;
  }
  const before = draft.find('step-tool', id)?.item;
  const { call, args } = before?.tool === change.tool ? (before ?? {}) : {};
  draft.add({ kind: 'tool', call, args, step, state: 'running', ...change }, 'step-tool', id);
  if (call !== undefined) draft.name('tool', call, draft.items.length - 1);
  return true;
}

/** An index means something in its turn alone. */
const idOf = ({ turn }: Draft, step: number): string => `${turn ?? ''}\n${step}`;
