/** The moves that both vocabularies make: Ledgerline's own events and the AI SDK's chunks. False: what came is not understood. */
import { errorOf, textOf } from './timeline-data.ts';
import type { Fields } from './timeline-data.ts';
import type { Draft } from './timeline-draft.ts';
import type { ToolItem, TurnItem } from './timeline-item.ts';

type Text = 'message' | 'reasoning' | 'part-message' | 'part-reasoning';
export type ToolChange = Partial<
  Pick<
    ToolItem,
    | 'call'
    | 'tool'
    | 'args'
    | 'step'
    | 'effect'
    | 'state'
    | 'result'
    | 'error'
    | 'isFromJournal'
    | 'resolvedBy'
    | 'deliveries'
  >
>;

/** Goes on with a text, or begins it. Plain concatenation: the halves of a surrogate pair join. */
export function say(draft: Draft, space: Text, id: unknown, more: unknown): boolean {
  if (typeof id !== 'string' || typeof more !== 'string') return false;
  const found = draft.findOwn(space, id);
  const isPart = space.startsWith('part-');
  // A completed message was told whole, what comes late included. The id of a part that ended is free again.
  if (found?.isSealed === true && !isPart) return true;
  const isThought = space.endsWith('reasoning');
  if (found === undefined || found.isSealed || !isThought) draft.endThought();
  if (found !== undefined && !found.isSealed) draft.change(found, { text: found.item.text + more });
  else if (isThought) draft.add({ kind: 'reasoning', text: more, isComplete: false }, space, id);
  else draft.add({ kind: 'message', role: 'assistant', text: more, isComplete: false }, space, id);
  if (space === 'reasoning') draft.note({ thought: draft.find(space, id)?.place ?? -1 });
  return true;
}

/** A call is announced, or what is known of it grows. */
export function callTool(draft: Draft, call: unknown, change: (known: ToolItem | undefined) => ToolChange): boolean {
  if (typeof call !== 'string') return false;
  draft.endThought();
  const found = draft.findOwn('tool', call);
  if (found?.item.state === 'running') draft.change(found, change(found.item));
  else draft.add({ kind: 'tool', call, state: 'running', ...change(undefined) }, 'tool', call);
  return true;
}

/** Its turn may be over, and its call may lie before what was folded, or in an attempt that was abandoned. */
export function settleTool(draft: Draft, call: unknown, change: ToolChange): boolean {
  if (typeof call !== 'string') return false;
  const found = draft.find('tool', call);
  if (found?.item.isAbandoned === draft.isStale) draft.change(found, change);
  else {
    const { tool, args, step } = found?.item ?? {};
    draft.add({ kind: 'tool', call, tool, args, step, state: 'running', ...change }, 'tool', call);
  }
  return true;
}

export function requireApproval(draft: Draft, approval: unknown, { call, tool, args, reason }: Fields): boolean {
  if (typeof approval !== 'string') return false;
  draft.endThought();
  const asked = textOf(call);
  const known = asked === undefined ? undefined : draft.find('tool', asked)?.item;
  const facts = { call: asked, tool: textOf(tool) ?? known?.tool, args: args ?? known?.args, reason: textOf(reason) };
  const found = draft.findOwn('approval', approval);
  if (found === undefined) draft.add({ kind: 'approval', approval, ...facts }, 'approval', approval);
  else draft.change(found, facts);
  return true;
}

/** The turn that asked is over, so nobody can decide any more. */
export function voidAsked(draft: Draft): void {
  const asked = draft.memory.asked.filter((approval) => {
    const found = draft.find('approval', approval);
    if (found === undefined || found.item.turn !== draft.turn) return found !== undefined;
    if (found.item.decision === undefined && !found.item.isAbandoned) draft.amend(found, { isVoid: true });
    return false;
  });
  draft.note({ asked });
}

/** The first decision stands. */
export function decide(draft: Draft, approval: unknown, decision: unknown, by: unknown, comment: unknown): boolean {
  if (typeof approval !== 'string' || typeof decision !== 'string') return false;
  const facts = { decision, by: textOf(by), comment: textOf(comment) };
  const found = draft.find('approval', approval);
  if (found?.item.isAbandoned !== draft.isStale) {
    const { call, tool, args, reason } = found?.item ?? {};
    draft.add({ kind: 'approval', approval, call, tool, args, reason, ...facts }, 'approval', approval);
  } else if (found.item.decision === undefined) draft.change(found, facts);
  return true;
}

/**
 * A turn that waited or is tried again goes on as the same item; one that ended and starts again is another. Messages that
 * were taken back before any turn began are one without an id.
 */
export function showTurn(draft: Draft, turn: string, state: TurnItem['state'], { error, try: number }: Fields): void {
  const found = draft.find('turn', turn);
  const body = {
    turn,
    attempt: draft.attempt ?? 1,
    state,
    error: errorOf(error),
    ...(typeof number === 'number' && { try: number }),
  };
  const isOver = found !== undefined && found.item.state !== 'running' && found.item.state !== 'waiting';
  const goesOn = found?.item.isAbandoned === draft.isStale && !(isOver && state === 'running') && turn !== '';
  if (goesOn) draft.change(found, body);
  else draft.add({ kind: 'turn', ...body }, 'turn', turn);
}
