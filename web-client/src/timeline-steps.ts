/** What the journal says of a turn's tool calls: each is one item, whether or not its agent tells of it, too. */
import { areDeliveries, textOf } from './timeline-data.ts';
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
export function stepTo(state: ToolItem['state']): (draft: Draft, data: Fields) => boolean {
  return (draft, { step, kind, tool, effect, result, error, fromJournal, by, deliveries }) => {
    if (typeof step !== 'number' || draft.turn === undefined) return false;
    if (kind === 'model') return true;
    return (
      typeof tool === 'string' &&
      journal(draft, step, {
        tool,
        effect: textOf(effect),
        state,
        result,
        error,
        ...(areDeliveries(deliveries) && { deliveries }),
        ...(fromJournal === true && { isFromJournal: true }),
        ...(typeof by === 'string' && { resolvedBy: by }),
      })
    );
  };
}

/** What a person said that came of it. */
export const resolveStep = (draft: Draft, data: Fields): boolean =>
  stepTo(data.outcome === 'done' ? 'done' : 'failed')(draft, data);

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
  const { call, args, resolvedBy, deliveries } = (before?.tool === change.tool && before) || {};
  // What was said of the call still holds, unless it is made again.
  const told = change.isFromJournal === true && { resolvedBy, deliveries };
  draft.add({ kind: 'tool', call, args, step, state: 'running', ...told, ...change }, 'step-tool', id);
  if (call !== undefined) draft.name('tool', call, draft.items.length - 1);
  return true;
}

/** An index means something in its turn alone. */
const idOf = ({ turn }: Draft, step: number): string => `${turn}\n${step}`;
