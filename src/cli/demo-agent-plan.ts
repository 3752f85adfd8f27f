/** What the demo's scripted agent makes of a message (pure): it talks, or it does something that a person must approve. */

export type Plan =
  | { readonly kind: 'talk'; readonly text: string }
  | {
      readonly kind: 'act';
      readonly thought: string;
      readonly order: string;
      readonly tool: string;
      readonly args: object;
      /** What the person who decides is told. */
      readonly reason: string;
      /** What the tool comes to when it may run. */
      readonly result: object;
      readonly found: string;
      readonly done: string;
      readonly declined: string;
    };

/** The first one that a message speaks of. */
const acts = [
  { words: /\brefund/i, tool: 'refunds.create', verb: 'refund', past: 'refunded', extra: { amount: '49.00 EUR' } },
  { words: /\bcancel/i, tool: 'orders.cancel', verb: 'cancel', past: 'cancelled', extra: {} },
  { words: /\b(?:delete|remove|erase)\b/i, tool: 'orders.delete', verb: 'delete', past: 'deleted', extra: {} },
] as const;

const AN_ORDER = '58213';

export const asksForAct = (text: string): boolean => acts.some(({ words }) => words.test(text));

export function planFor(text: string): Plan {
  const act = acts.find(({ words }) => words.test(text));
  if (act === undefined) return { kind: 'talk', text: talk(text) };
  const order = /\b\d{3,10}\b/.exec(text)?.[0] ?? AN_ORDER;
  const args = { order, ...act.extra };
  return {
    kind: 'act',
    thought:
      `They want me to ${act.verb} order ${order}. First I look the order up; then I must ask, because this changes ` +
      'something that I cannot take back.',
    order,
    tool: act.tool,
    args,
    reason: `The agent wants to ${act.verb} order ${order}.`,
    result: { order, status: act.past },
    found:
      `I found order ${order}: one Aurelia 400, delivered this morning. To ${act.verb} it I need the approval of a person, so I ` +
      'stop here and wait. While I wait nothing of me is running: you may restart everything and decide tomorrow.',
    done: `Done: order ${order} is ${act.past}. You approved it, so it ran once, and the answer goes on in the same turn.`,
    declined: `All right, I leave order ${order} as it is. Nothing was changed.`,
  };
}

const QUOTED_LENGTH = 80;

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
