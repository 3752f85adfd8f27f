/** How a message that the AI SDK has on its screen is emptied when its attempt was abandoned (pure). */
import { joinDeltas, startOf } from './answer-chunk.ts';
import type { AnswerChunk } from './answer-chunk.ts';
import type { Abandoned } from './chat-entry.ts';

export interface Restart {
  /** To be read before whatever comes next. */
  readonly chunks: readonly AnswerChunk[];
  /** The messages that are then left without parts, which no chunk can remove. */
  readonly leftovers: readonly string[];
}

/**
 * No chunk of the SDK's takes parts back across steps, but a `start` with another id begins a message anew, and one with
 * an id that is on the screen replaces that message. So it is led away to another id and back. The other id is that of
 * the newer attempt's message, which comes anyway; only where that has the same id, or none comes, it is made up.
 * `next` is the chunk that follows: a `start`, an error, or none.
 */
export function restartOf({ id, rest }: Abandoned, next?: AnswerChunk): Restart {
  const nextId = next?.type === 'start' && typeof next.messageId === 'string' ? next.messageId : undefined;
  const madeUp = `${id}-abandoned`;
  const isReplaced = nextId !== undefined && nextId !== id;
  return {
    chunks: [startOf(isReplaced ? nextId : madeUp), startOf(id), ...joinDeltas(rest)],
    leftovers: [...(isReplaced ? [] : [madeUp]), ...(rest.length > 0 || nextId === id ? [] : [id])],
  };
}
