/** Which part of a session answers one message: the turn that takes it in, and nothing of any other. */
import { createChatLog } from './chat-log.ts';
import type { ChatLog } from './chat-log.ts';
import type { SessionEvent } from './session-event.ts';
import { fieldsOf, textOf } from './timeline-data.ts';

export interface ReplyLog extends ChatLog {
  /** The turn, once it has begun. */
  readonly turn: string | undefined;
}

const ends: readonly string[] = ['turn.completed', 'turn.failed', 'turn.cancelled', 'turn.in_doubt'];

/** Is given what follows the message, and is busy until its turn pauses or is over. */
export function createReplyLog(sequence: number): ReplyLog {
  const log = createChatLog();
  let turn: string | undefined;
  let isOver = false;
  return {
    get entries() {
      return log.entries;
    },
    get open() {
      return log.open;
    },
    get isBusy() {
      return !isOver && (turn === undefined || log.isBusy);
    },
    get since() {
      return turn === undefined ? sequence : log.since;
    },
    get isWhole() {
      return true;
    },
    get turn() {
      return turn;
    },
    take(event) {
      const data = fieldsOf(event.data);
      const named = event.type.startsWith('turn.') ? textOf(data?.turn) : undefined;
      const owner = named ?? event.turn;
      if (turn === undefined && takesIn(event, sequence)) turn = owner;
      const isEnd = ends.includes(event.type) && takesIn(event, sequence);
      isOver ||= isEnd;
      // What others say meanwhile is for another turn.
      const isForeign =
        turn === undefined || (owner !== undefined && owner !== turn) || event.type === 'message.created';
      return isForeign ? [] : log.take(event);
    },
  };
}

/** A turn that began with the message, or ended with it. */
function takesIn({ type, data }: SessionEvent, sequence: number): boolean {
  const inputs = type === 'turn.started' || ends.includes(type) ? fieldsOf(data)?.inputs : undefined;
  return Array.isArray(inputs) && inputs.includes(sequence);
}
