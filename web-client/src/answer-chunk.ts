/** The chunks of the AI SDK's UI message stream, as a session holds them: what the reader must know of them (pure). */
import type { SessionEvent } from './session-event.ts';

/** Any further member is between the agent and the SDK. */
export interface AnswerChunk {
  readonly type: string;
  readonly messageId?: unknown;
  readonly id?: unknown;
  readonly toolCallId?: unknown;
  readonly delta?: unknown;
  readonly inputTextDelta?: unknown;
}

/** Undefined for any other event, and for one that only says it is a chunk. */
export function chunkOf({ type, data }: SessionEvent): AnswerChunk | undefined {
  if (type !== 'ui.chunk' || typeof data !== 'object' || data === null) return undefined;
  return 'type' in data && typeof data.type === 'string' ? (data as AnswerChunk) : undefined;
}

/** Nothing of the answer follows. */
export const isEnd = ({ type }: AnswerChunk): boolean => type === 'finish' || type === 'abort' || type === 'error';

export const startOf = (messageId: string): AnswerChunk => ({ type: 'start', messageId });

/** Neighbours that add to the same part as one: a replay of ten thousand tokens is a handful of updates of the screen. */
export function joinDeltas(chunks: readonly AnswerChunk[]): AnswerChunk[] {
  const joined: AnswerChunk[] = [];
  for (const chunk of chunks) {
    const before = joined.at(-1);
    const both = before === undefined ? undefined : join(before, chunk);
    if (both === undefined) joined.push(chunk);
    else joined[joined.length - 1] = both;
  }
  return joined;
}

function join(before: AnswerChunk, chunk: AnswerChunk): AnswerChunk | undefined {
  if (before.type !== chunk.type || before.id !== chunk.id || before.toolCallId !== chunk.toolCallId) return undefined;
  // What else the later one carries replaces the earlier one's, as it does in the SDK.
  if (chunk.type === 'text-delta' || chunk.type === 'reasoning-delta') {
    const delta = together(before.delta, chunk.delta);
    return delta === undefined ? undefined : { ...before, ...chunk, delta };
  }
  if (chunk.type !== 'tool-input-delta') return undefined;
  const inputTextDelta = together(before.inputTextDelta, chunk.inputTextDelta);
  return inputTextDelta === undefined ? undefined : { ...before, ...chunk, inputTextDelta };
}

const together = (before: unknown, after: unknown): string | undefined =>
  typeof before === 'string' && typeof after === 'string' ? before + after : undefined;
