/** What the demo's scripted agent makes of a message, and of what came of its calls (pure). */
import { euros, findOrder, orderIn } from '../example/order.ts';
import { refundShape } from '../example/refund-tools.ts';
import type { CallOutcome } from '../worker/agent-steps.ts';

export interface Plan {
  readonly thought: string;
  readonly text: string;
  readonly calls: readonly { readonly tool: string; readonly args: object }[];
}

const QUOTED_LENGTH = 80;
const REFUND = /\brefund/i;
/** What people ask of a shop, and this agent has no tool for. */
const BEYOND = /\b(?:cancel|delete|remove|erase)\b/i;

export const asksForRefund = (text: string): boolean => REFUND.test(text);

export function planFor(text: string): Plan {
  if (!asksForRefund(text)) return { thought: '', text: BEYOND.test(text) ? beyond : talk(text), calls: [] };
  const order = orderIn(text);
  const lookup = { tool: 'lookup_order', args: { order } };
  const cents = findOrder(order)?.depositCents;
  if (cents === undefined) {
    return { thought: `They want a refund of order ${order}. I look it up first.`, text: '', calls: [lookup] };
  }
  return {
    thought:
      `They want me to refund order ${order}. I look the order up; then I must ask, because money that is given back ` +
      'is gone.',
    text:
      `I look order ${order} up, and then I ask whether I may refund the deposit of its box, ${euros(cents)}. That takes the ` +
      'approval of a person, so I stop there and wait. While I wait nothing of me is running: you may kill everything and ' +
      'decide tomorrow.',
    calls: [lookup, { tool: 'issue_refund', args: { order, cents } }],
  };
}

export function replyTo(outcomes: readonly CallOutcome[]): string {
  const failed = outcomes.find((outcome) => outcome.state === 'failed');
  if (failed?.error.code === 'denied')
    return `All right: ${failed.error.message} Nothing was refunded, and nothing was written.`;
  if (failed !== undefined) return `${failed.error.message} So I refund nothing. Ask me to *refund order 7731*.`;
  const refund = outcomes.find(({ call }) => call.tool === 'issue_refund');
  const { success, data } = refundShape.safeParse(refund?.call.args);
  if (!success) return 'I found the order, and changed nothing.';
  return (
    `Done: ${euros(data.cents)} of order ${data.order} are refunded. The row of the refund, its place in the journal and the ` +
    'delivery to the bookkeeping were one commit, so it happened once, whatever had died meanwhile; and the bookkeeping posts it ' +
    'once, however often it is told.'
  );
}

const beyond =
  'That I cannot do, and I would rather say so than pretend: I have two tools, one that looks an order up, and one that refunds. ' +
  'Ask me to *refund order 7731*, and you will see both.';

function talk(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  const quoted = line.length > QUOTED_LENGTH ? `${line.slice(0, QUOTED_LENGTH).trimEnd()}…` : line;
  return (
    `You wrote: “${quoted}”. I am the demo's agent, and I follow a script; everything around me is real. ` +
    'Your message and the request for this answer were stored in one transaction, so neither exists without the other. ' +
    'A worker has claimed the turn under a lease. Each word that you read is an event with a number of its own, and if this ' +
    'page, the gateway or the worker went away now, none would be lost and none would come twice.\n\n' +
    'Some things to try while I speak: press **Stop**, and what I said so far stays. Write something more, and let it steer ' +
    'me: I look for that between two sentences. Or lose a broadcast in the lab. And ask me to *refund order 7731*: for that ' +
    'I need your approval.'
  );
}
