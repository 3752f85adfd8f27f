/** An assistant's answer that a test lets a model speak up to a point, hurts something, and lets it speak on. */
import { randomUUID } from 'node:crypto';
import { call } from './gateway-calls.ts';
import type { Place } from './gateway-calls.ts';
import { answerDeltas } from './provider-text.ts';

export interface Answer {
  /** All of it. */
  readonly text: string;
  /** As far as it was spoken, that is, stored. */
  readonly spoken: string;
  /** The sequence of the last event that is stored. */
  readonly last: number;
  /** Appends a few deltas at a time until this share of them is stored, from 0 to 1. One call at a time. */
  speakTo(share: number): Promise<void>;
}

/** As a producer's batches are, when a model is quick. */
const PER_APPEND = 4;
/** The sequence of the question. */
const QUESTION = 1;

/** In a session without events. Begins with a question, as every answer does. */
export async function beginAnswer(writer: Place, session: string): Promise<Answer> {
  const deltas = answerDeltas();
  const message = `m-${randomUUID()}`;
  let count = 0;
  let isSpeaking = false;
  await appendEvent(writer, session, 'message.created', { key: randomUUID(), role: 'user', content: 'Tell me.' });
  return {
    text: deltas.join(''),
    get spoken() {
      return deltas.slice(0, count).join('');
    },
    get last() {
      return QUESTION + count;
    },
    async speakTo(share) {
      if (isSpeaking) throw new Error('the model speaks already');
      isSpeaking = true;
      const end = Math.round(deltas.length * share);
      while (count < end) {
        const few = deltas.slice(count, Math.min(count + PER_APPEND, end));
        await appendEvents(
          writer,
          session,
          few.map((text) => ({ type: 'text.delta', data: { message, text } })),
        );
        count += few.length;
      }
      isSpeaking = false;
    },
  };
}

export const appendEvent = (writer: Place, session: string, type: string, data: object): Promise<void> =>
  appendEvents(writer, session, [{ type, data }]);

export async function appendEvents(
  writer: Place,
  session: string,
  events: readonly { readonly type: string; readonly data: object }[],
): Promise<void> {
  const { status, text } = await call(
    writer,
    'POST',
    `/internal/sessions/${session}/events`,
    JSON.stringify({ events }),
  );
  if (status !== 201) throw new Error(`the append answered ${status}: ${text}`);
}
