/** The support agent's model: a real one asks a provider; this one follows a script, and says the same whenever it is asked (pure). */
import type { CallOutcome, ModelSaid } from '../worker/agent-steps.ts';
import { euros, findOrder, orderIn } from './order.ts';

/** What a model is told. */
export interface Asked {
  /** What the person wrote. */
  readonly text: string;
  /** How many answers the turn has had so far. */
  readonly answered: number;
  /** What came of the calls of the last one. */
  readonly outcomes: readonly CallOutcome[];
}

export interface Reply {
  readonly text: string;
}

export type AskModel = (asked: Asked, signal: AbortSignal) => Promise<ModelSaid<Reply>>;

/** First it asks for both calls at once, which so have the indices behind its own: 1 looks, 2 refunds. Then it replies. */
export function supportModel({ text, answered, outcomes }: Asked): ModelSaid<Reply> {
  if (answered > 0) return { result: { text: reply(outcomes) } };
  if (!/\brefund/i.test(text)) return { result: { text: 'I refund deposits. Ask me to refund order 7731.' } };
  const order = orderIn(text);
  const lookup = { call: 'lookup', tool: 'lookup_order', args: { order } };
  const cents = findOrder(order)?.depositCents;
  if (cents === undefined) return { result: { text: '' }, calls: [lookup] };
  const refund = { call: 'refund', tool: 'issue_refund', args: { order, cents } };
  const result = { text: `I look order ${order} up, and ask whether I may refund its deposit of ${euros(cents)}.` };
  return { result, calls: [lookup, refund] };
}

function reply(outcomes: readonly CallOutcome[]): string {
  for (const outcome of outcomes) if (outcome.state === 'failed') return `I refunded nothing: ${outcome.error.message}`;
  return 'Done: the deposit is on its way back to you.';
}
