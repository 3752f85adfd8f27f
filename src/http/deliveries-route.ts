/** GET /sessions/:session/deliveries: what the session's effects have others told, the newest first. */
import { z } from 'zod';
import { deliveryLimits } from '../base/delivery-limits.ts';
import { LedgerlineError } from '../base/errors.ts';
import type { SessionDelivery } from '../outbox/session-deliveries.ts';
import type { Steps } from '../turn/steps.ts';
import type { AppContext } from './context.ts';
import type { SessionHandler } from './door.ts';
import { json } from './openapi/operation.ts';
import type { Operation } from './openapi/operation.ts';
import { sequenceShape, timeShape } from './openapi/shapes.ts';
import { readLimit, single } from './query.ts';

const countShape = z.int().min(0);
const deliveryShape = z.object({
  number: sequenceShape.describe('From 1 in its session, without a hole.'),
  topic: z.string(),
  turn: z.string(),
  step: countShape,
  state: z.enum(['waiting', 'refused', 'published', 'dead']),
  attempts: countShape.describe('How often the broker refused it.'),
  since: timeShape,
  error: z.string().nullable(),
  applied: z
    .array(z.string())
    .readonly()
    .describe('The consumers that have applied it, as far as their inbox is in this database.'),
});

const deliveriesShape = z
  .object({ deliveries: z.array(deliveryShape), next: sequenceShape.nullable().describe('What `before` takes.') })
  .meta({
    id: 'Deliveries',
    examples: [
      {
        deliveries: [
          {
            number: 1,
            topic: 'refund.issued',
            turn: '0b6c',
            step: 2,
            state: 'published',
            attempts: 0,
            since: '2026-11-30T04:00:00.000Z',
            error: null,
            applied: ['entries'],
          },
        ],
        next: null,
      },
    ],
  });

export const deliveriesOperation = {
  id: 'listDeliveries',
  group: 'Steps',
  summary: 'List what the effects of a session have others told',
  description: 'The newest first. Payloads are not told.',
  scope: 'read',
  query: z.object({
    limit: z.int().min(1).max(deliveryLimits.deliveriesPerList).default(deliveryLimits.deliveriesPerListDefault),
    before: sequenceShape.optional().describe('What the page before gave as `next`.'),
  }),
  answers: { 200: { description: 'A page of the list.', contents: json(deliveriesShape) } },
  refusals: ['session_deleted'],
} as const satisfies Operation;

export function deliveriesRoute(steps: Pick<Steps, 'deliveries'>): SessionHandler {
  return async (c, { session }) => {
    const range = {
      before: numberOf(c, 'before'),
      limit: readLimit(c, deliveryLimits.deliveriesPerListDefault, deliveryLimits.deliveriesPerList),
    };
    const { deliveries, next } = await steps.deliveries(session, range);
    return c.json({ deliveries: deliveries.map(sessionDelivery), next: next ?? null });
  };
}

const sessionDelivery = (delivery: SessionDelivery): z.infer<typeof deliveryShape> => ({
  number: delivery.outboxSequence,
  topic: delivery.topic,
  turn: delivery.turn,
  step: delivery.step,
  state: delivery.state,
  attempts: delivery.attempts,
  since: delivery.since,
  error: delivery.error ?? null,
  applied: delivery.applied,
});

function numberOf(c: AppContext, name: string): number | undefined {
  const text = single(c, name);
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^[1-9][0-9]{0,15}$/.test(text) && Number.isSafeInteger(value)) return value;
  throw new LedgerlineError('malformed', `${name} is the number of a delivery`, { where: name });
}
