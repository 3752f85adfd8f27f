/** What each known type of event does to a timeline; what is not understood is kept as it came. */
import type { SessionEvent } from './session-event.ts';
import { applyChunk } from './timeline-chunks.ts';
import { contentOf, fieldsOf, textOf, withDoubt } from './timeline-data.ts';
import type { Fields } from './timeline-data.ts';
import type { Draft } from './timeline-draft.ts';
import type { TurnItem } from './timeline-item.ts';
import { callTool, decide, requireApproval, say, settleTool, showTurn, voidAsked } from './timeline-moves.ts';
import { callStep, resolveStep, stepTo } from './timeline-steps.ts';

const MOST_ASKED = 64;

/** Whether the data is what the type promises. */
type Apply = (draft: Draft, data: Fields) => boolean;

const known: ReadonlyMap<string, Apply> = new Map<string, Apply>([
  ['message.created', create],
  ['message.completed', complete],
  ['text.delta', (draft, { message, text }) => say(draft, 'message', message, text)],
  ['reasoning.delta', (draft, { message, text }) => say(draft, 'reasoning', message, text)],
  [
    'tool.call',
    (draft, { call, tool, args, step }) =>
      typeof tool === 'string' &&
      (typeof step === 'number'
        ? callStep(draft, call, step, { tool, args })
        : callTool(draft, call, () => ({ tool, args, step: textOf(step) }))),
  ],
  [
    'tool.result',
    (draft, { call, result, error }) =>
      settleTool(draft, call, (error ?? null) === null ? { state: 'done', result } : { state: 'failed', error }),
  ],
  ['approval.required', askPerson],
  ['approval.decided', (draft, { approval, decision, by, comment }) => decide(draft, approval, decision, by, comment)],
  ['step.started', stepTo('running')],
  ['step.done', stepTo('done')],
  ['step.failed', stepTo('failed')],
  ['step.in_doubt', stepTo('in_doubt')],
  ['step.resolved', resolveStep],
  ['turn.started', turnTo('running')],
  ['turn.waiting', turnTo('waiting')],
  ['turn.requested', isSaid],
  ['turn.steered', isSaid],
  ['turn.stopping', isSaid],
  ['turn.retrying', endAttempt],
  ['turn.completed', turnTo('completed')],
  ['turn.failed', turnTo('failed')],
  ['turn.cancelled', turnTo('cancelled')],
  ['turn.in_doubt', (draft, data) => turnTo('in_doubt')(draft, withDoubt(data))],
  ['ui.chunk', applyChunk],
]);

export function applyEvent(draft: Draft, event: SessionEvent): void {
  const { type, data } = event;
  draft.enter(event);
  const fields = fieldsOf(data);
  if (fields === undefined || known.get(type)?.(draft, fields) !== true) draft.add({ kind: 'other', type, data });
}

function create(draft: Draft, { role, content, key }: Fields): boolean {
  const text = contentOf(content, '');
  if (typeof role !== 'string' || text === undefined) return false;
  draft.add({ kind: 'message', role, text, isComplete: true, request: textOf(key) });
  return true;
}

/** Its content is the message, whatever the deltas were. */
function complete(draft: Draft, { message, role, content }: Fields): boolean {
  if (typeof message !== 'string') return false;
  const found = draft.findOwn('message', message);
  const text = contentOf(content, found?.item.text ?? '');
  if (text === undefined) return false;
  draft.endThought();
  const body = { role: textOf(role) ?? found?.item.role ?? 'assistant', text, isComplete: true };
  if (found === undefined) draft.add({ kind: 'message', ...body }, 'message', message);
  else draft.change(found, body);
  draft.seal('message', message);
  return true;
}

/** In vain it was asked as long as nobody decides before the turn is over. The AI SDK's own questions outlive their turn. */
function askPerson(draft: Draft, data: Fields): boolean {
  const { approval } = data;
  if (!requireApproval(draft, approval, data)) return false;
  if (draft.turn !== undefined)
    draft.note({ asked: [...draft.memory.asked.slice(1 - MOST_ASKED), approval as string] });
  return true;
}

/** It changes what the agent does now, and nothing of what it did. */
function isSaid(): boolean {
  return true;
}

function endAttempt(draft: Draft): boolean {
  if (draft.turn !== undefined) draft.halt();
  return draft.turn !== undefined;
}

function turnTo(state: TurnItem['state']): Apply {
  return (draft, data) => {
    const { turn, isStale } = draft;
    if (turn === undefined && state !== 'cancelled') return false;
    showTurn(draft, turn ?? '', state, data);
    if (isStale || turn === undefined) return true;
    if (state === 'running') draft.begin();
    else if (state === 'waiting') draft.pause();
    else {
      draft.end();
      voidAsked(draft);
    }
    return true;
  };
}
