/** GET /sessions/:session/deliveries: what the session's effects have others told, the newest first. */
import { deliveryLimits } from '../base/delivery-limits.ts';
import { LedgerlineError } from '../base/errors.ts';
import type { SessionDelivery } from '../outbox/session-deliveries.ts';
import type { Steps } from '../turn/steps.ts';
import type { AppContext } from './context.ts';
import type { SessionHandler } from './door.ts';
import { readLimit, single } from './query.ts';

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

const sessionDelivery = (delivery: SessionDelivery) => ({
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
