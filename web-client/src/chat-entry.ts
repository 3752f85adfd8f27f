/** What a chat is made of: what people said, and the answers, as far as they stand (pure). */
import type { AnswerChunk } from './answer-chunk.ts';

/** A message that came whole. */
export interface Saying {
  readonly kind: 'saying';
  readonly id: string;
  readonly role: 'user' | 'system' | 'assistant';
  readonly content: unknown;
}

/** From a `start` to its end. An answer has more than one when the agent went on with it, say after an approval. */
export interface Run {
  /** Undefined where none is known, and when it stands whatever becomes of the turn. */
  turn: string | undefined;
  readonly attempt: number;
  /** The first is the `start`, which always has the answer's id. */
  readonly chunks: AnswerChunk[];
}

export interface Answer {
  readonly kind: 'answer';
  readonly id: string;
  /** The producer gave the id, so an earlier run may have the same one. */
  readonly isNamed: boolean;
  /** The sequence of its first `start`. */
  readonly first: number;
  runs: readonly Run[];
}

/** A newer attempt began: what the older ones said of this answer is void, but for `rest`. */
export interface Abandoned {
  readonly kind: 'abandoned';
  readonly id: string;
  readonly rest: readonly AnswerChunk[];
}

/** A chunk is of the answer that is being written. */
export type Change = { readonly kind: 'chunk'; readonly chunk: AnswerChunk } | Abandoned;

/** Their chunks, one answer after the other. */
export function replayOf(entries: readonly (Saying | Answer)[]): AnswerChunk[] {
  const runs = entries.flatMap((entry) => (entry.kind === 'answer' ? entry.runs : []));
  return runs.flatMap(({ chunks }, index) => (index === runs.length - 1 ? chunks : withoutErrors(chunks)));
}

/** The SDK reads no further than an error, so one that was not the last word must not come again. */
export const withoutErrors = (chunks: readonly AnswerChunk[]): AnswerChunk[] =>
  chunks.filter(({ type }) => type !== 'error');
