/** The tools of the support agent: one looks, and one gives money back, in the transaction that journals its step. */
import { z } from 'zod';
import { ToolError } from '../worker/define-agent.ts';
import type { OutsideTool, Tools, TransactionalTool } from '../worker/tool.ts';
import { euros, findOrder, mostCents } from './order.ts';
import type { Order } from './order.ts';

export const REFUND_ISSUED = 'refund.issued';

const orderShape = z.string().regex(/^[0-9]{3,10}$/, 'is the number of an order, as a text');

export const lookupShape = z.strictObject({ order: orderShape });
/** Whole cents: `true`, 40.5, "40", nothing and less than nothing are no amounts. */
export const refundShape = z.strictObject({ order: orderShape, cents: z.int().min(1) });

export const lookupOrder: OutsideTool<typeof lookupShape> = {
  effect: 'read',
  args: lookupShape,
  run: ({ order }) => Promise.resolve(known(order)),
};

export const issueRefund: TransactionalTool<typeof refundShape> = {
  effect: 'transactional',
  args: refundShape,
  async run({ order, cents }, { tx, key, deliver }) {
    const most = mostCents(known(order));
    if (cents > most) throw new ToolError('too_much', `No more than ${euros(most)} was paid for order ${order}.`);
    await tx`insert into example.refund (refund_key, order_id, cents) values (${key}::text, ${order}::text, ${cents}::int)`;
    deliver(REFUND_ISSUED, { refund: key, order, cents });
    return { refund: key, order, cents };
  },
};

export const refundTools: Tools<{ lookup_order: typeof lookupShape; issue_refund: typeof refundShape }> = {
  lookup_order: lookupOrder,
  issue_refund: issueRefund,
};

/** What a person is asked about it; undefined if the tool will refuse it, whatever the person says. */
export function questionOf(args: unknown): string | undefined {
  const { success, data } = refundShape.safeParse(args);
  const order = success ? findOrder(data.order) : undefined;
  if (!success || order === undefined || data.cents > mostCents(order)) return undefined;
  return `The agent wants to refund ${euros(data.cents)} of order ${data.order}.`;
}

function known(order: string): Order {
  const found = findOrder(order);
  if (found === undefined) throw new ToolError('unknown_order', `There is no order ${order}.`);
  return found;
}
