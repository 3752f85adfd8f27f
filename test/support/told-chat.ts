/** Chats as agents tell them in UI chunks, made up from a list of numbers, together with what stands at their end. */
import fc from 'fast-check';
import type { SessionEvent } from '../../web-client/src/session-event.ts';
import { numbered } from './told-session.ts';
import type { Draft } from './told-session.ts';

export interface ToldChat {
  readonly events: readonly SessionEvent[];
  /** The assistant's messages that stand: their ids, where the agent gave one, and their texts. */
  readonly answers: readonly { readonly id: string | undefined; readonly text: string }[];
}

const exchangeShape = fc.record({
  isAsked: fc.boolean(),
  /** Who knows of the turn: nobody, `turn.started` alone, or each event. */
  turn: fc.constantFrom('none', 'bare', 'named'),
  /** How far the attempts came that were lost. */
  lost: fc.array(fc.nat({ max: 5 }), { maxLength: 2 }),
  texts: fc.array(fc.string({ unit: 'binary', maxLength: 4 }), { maxLength: 8 }),
  isIdGiven: fc.boolean(),
  isIdKept: fc.boolean(),
  isPaused: fc.boolean(),
  end: fc.constantFrom('finish', 'abort', 'error', 'none'),
  noise: fc.nat({ max: 2 }),
});
type Exchange = typeof exchangeShape extends fc.Arbitrary<infer T> ? T : never;

export const toldChat: fc.Arbitrary<ToldChat> = fc.array(exchangeShape, { maxLength: 6 }).map((exchanges) => {
  const drafts: Draft[] = [];
  const answers: { id: string | undefined; text: string }[] = [];
  exchanges.forEach((exchange, index) => answers.push(tell(exchange, index, drafts)));
  return { events: numbered(drafts), answers };
});

function tell(exchange: Exchange, index: number, drafts: Draft[]): { id: string | undefined; text: string } {
  const { turn: kind, lost, texts, isIdGiven, isIdKept, isPaused, end } = exchange;
  const turn = `t${index}`;
  let attempt = 1;
  const add = (type: string, data: unknown): void =>
    void drafts.push(kind === 'named' ? { type, data, turn, attempt } : { type, data });
  const chunk = (type: string, more: object = {}): void => add('ui.chunk', { type, ...more });
  const noise = (): void => {
    for (let count = 0; count < exchange.noise; count += 1) drafts.push({ type: 'note', data: count });
  };
  const begin = (): void => {
    if (kind !== 'none') add('turn.started', { turn, attempt });
    const number = isIdKept ? 1 : attempt;
    chunk('start', isIdGiven ? { messageId: `a${index}-${number}` } : {});
    chunk('start-step');
    chunk('text-start', { id: 't' });
  };
  if (exchange.isAsked) drafts.push({ type: 'message.created', data: { role: 'user', content: `question ${index}` } });
  for (const count of kind === 'none' ? [] : lost) {
    begin();
    for (let piece = 0; piece < count; piece += 1) chunk('text-delta', { id: 't', delta: `lost ${piece}` });
    noise();
    attempt += 1;
  }
  begin();
  const middle = Math.floor(texts.length / 2);
  for (const [piece, delta] of texts.entries()) {
    chunk('text-delta', { id: 't', delta });
    if (piece === middle) {
      noise();
      chunk('finish-step');
      chunk('start-step');
    }
  }
  // whoever has no turn ends his answer, or the next one of the same id would be more of it
  const isLeft = end === 'none' && kind !== 'none';
  if (!isLeft) chunk('text-end', { id: 't' });
  if (!isLeft) chunk(end === 'none' ? 'finish' : end, end === 'error' ? { errorText: 'no' } : {});
  if (kind !== 'none' && isPaused) {
    add('turn.waiting', { turn, attempt });
    attempt += 1;
    add('turn.started', { turn, attempt });
  }
  if (kind !== 'none') add('turn.completed', { turn, attempt });
  return { id: isIdGiven ? `a${index}-${isIdKept ? 1 : attemptOf(exchange)}` : undefined, text: texts.join('') };
}

const attemptOf = ({ turn, lost }: Exchange): number => (turn === 'none' ? 1 : lost.length + 1);
