/** What the chunks of the AI SDK's UI message stream do to a timeline: the same items as Ledgerline's own events. */
import { contentOf, textOf } from './timeline-data.ts';
import type { Fields } from './timeline-data.ts';
import type { Draft } from './timeline-draft.ts';
import { callTool, decide, requireApproval, say, settleTool, showTurn } from './timeline-moves.ts';

/** False: a chunk that is kept as it came, or that is not what its type promises. */
export function applyChunk(draft: Draft, chunk: Fields): boolean {
  const { type, id, toolCallId, toolName: tool, input: args, errorText: error } = chunk;
  switch (type) {
    case 'text-start':
    case 'text-end':
      return endPart(draft, 'part-message', id);
    case 'reasoning-start':
    case 'reasoning-end':
      return endPart(draft, 'part-reasoning', id);
    case 'text-delta':
      return say(draft, 'part-message', id, chunk.delta);
    case 'reasoning-delta':
      return say(draft, 'part-reasoning', id, chunk.delta);
    case 'tool-input-start':
      return typeof tool === 'string' && callTool(draft, toolCallId, () => ({ tool }));
    case 'tool-input-delta': {
      const { inputTextDelta: more } = chunk;
      return (
        typeof more === 'string' && callTool(draft, toolCallId, (item) => ({ args: (textOf(item?.args) ?? '') + more }))
      );
    }
    case 'tool-input-available':
      return typeof tool === 'string' && callTool(draft, toolCallId, () => ({ tool, args }));
    case 'tool-input-error':
      return typeof tool === 'string' && callTool(draft, toolCallId, () => ({ tool, args, state: 'failed', error }));
    case 'tool-output-available':
      return settleTool(draft, toolCallId, {
        state: chunk.preliminary === true ? 'running' : 'done',
        result: chunk.output,
      });
    case 'tool-output-error':
      return settleTool(draft, toolCallId, { state: 'failed', error });
    case 'tool-output-denied':
      return settleTool(draft, toolCallId, { state: 'failed', error: 'denied' });
    case 'tool-approval-request':
      return requireApproval(draft, chunk.approvalId, { call: toolCallId, reason: chunk.reason });
    case 'tool-approval-response':
      return decide(draft, chunk.approvalId, chunk.approved === true ? 'approved' : 'denied', undefined, chunk.reason);
    case 'start':
      draft.note({ stream: draft.items.length, step: draft.items.length, message: messageOf(draft, chunk.messageId) });
      return true;
    case 'start-step':
      draft.note({ step: draft.items.length });
      return true;
    case 'reset-step':
      draft.abandon(draft.memory.step);
      return true;
    case 'finish':
      return endMessage(draft);
    case 'abort':
      return endMessage(draft, 'cancelled');
    case 'error':
      return typeof error === 'string' && endMessage(draft, 'failed', { code: 'error', message: error });
    case 'steering-message': {
      const text = contentOf(chunk.parts, '');
      if (text === undefined) return false;
      draft.add({ kind: 'message', role: 'user', text, isComplete: true });
      return true;
    }
    case 'finish-step':
    case 'message-metadata':
      return true;
    default:
      return typeof type === 'string' && type.startsWith('data-') && showData(draft, type, chunk);
  }
}

/** Its id may stand for another part from now on. A part is shown from its first text on, so a beginning shows nothing. */
function endPart(draft: Draft, space: 'part-message' | 'part-reasoning', id: unknown): boolean {
  if (typeof id !== 'string') return false;
  const found = draft.findOwn(space, id);
  if (found?.isSealed === false) {
    draft.change(found, { isComplete: true });
    draft.seal(space, id);
  }
  return true;
}

/** Without an id it is named by its beginning, as in a chat; where that is not there, by its end. */
const messageOf = ({ event }: Draft, id: unknown): string =>
  typeof id === 'string' && id !== '' ? id : `message-${event.sequence}`;

/** A message that fails or is aborted shows it as its turn's end; without a turn around it, it is a turn by itself. */
function endMessage(draft: Draft, state?: 'failed' | 'cancelled', error?: unknown): boolean {
  const { stream, message } = draft.memory;
  draft.finish(stream);
  if (state !== undefined) showTurn(draft, draft.turn ?? messageOf(draft, message), state, { error });
  return true;
}

/** A part with an id replaces the one before it in its message; a transient one is shown by nobody afterwards. */
function showData(draft: Draft, type: string, chunk: Fields): boolean {
  if (chunk.transient === true) return true;
  if (typeof chunk.id !== 'string') return false;
  const id = `${type}\n${chunk.id}`;
  const found = draft.findOwn('other', id);
  if (found !== undefined && found.place >= draft.memory.stream) draft.change(found, { data: chunk });
  else draft.add({ kind: 'other', type: 'ui.chunk', data: chunk }, 'other', id);
  return true;
}
