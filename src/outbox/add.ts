/** Writes what is to be delivered, in the transaction of the effect that asks for it. */
import { createHash } from 'node:crypto';
import { assert } from '../base/assert.ts';
import { LedgerlineError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { deliveryLimits } from '../base/delivery-limits.ts';
import type { Statements } from '../db/postgres.ts';
import { topicShape } from '../event/step-id.ts';

/** The step that delivers, and the number that the head gave to the first of its deliveries. */
export interface DeliveryOrigin {
  readonly session: string;
  readonly turn: string;
  readonly step: number;
  readonly first: number;
}

interface NewDelivery {
  readonly topic: string;
  readonly payload: unknown;
}

/** Part of the schema: another number would give sessions to other relays, two at a time while it changes. */
export const SHARDS = 16;

/** The same for ever: one relay at a time publishes what a session delivers. */
export const shardOf = (session: string): number =>
  createHash('sha256').update(session).digest().readUInt16BE(0) % SHARDS;

/** Refuses what could never be delivered, while whoever asks can still be told: `malformed`, `too_large`. */
export function deliveryTexts(
  deliveries: readonly NewDelivery[],
): { readonly topic: string; readonly payload: string }[] {
  const max = limits.deliveriesPerStep;
  if (deliveries.length > max) {
    throw new LedgerlineError('too_large', `a step has at most ${max} deliveries`, { limit: 'deliveriesPerStep', max });
  }
  const topics = new Set<string>();
  return deliveries.map(({ topic, payload }, index) => {
    const where = `deliveries[${index}]`;
    const { error } = topicShape.safeParse(topic);
    if (error !== undefined) {
      throw new LedgerlineError('malformed', error.issues.map((issue) => issue.message).join('; '), {
        where: `${where}.topic`,
      });
    }
    if (topics.has(topic)) {
      throw new LedgerlineError('malformed', 'a step delivers once to a topic: put both into one payload', {
        where: `${where}.topic`,
      });
    }
    topics.add(topic);
    const text = jsonText(payload, `${where}.payload`);
    if (Buffer.byteLength(text) > deliveryLimits.deliveryBytes) {
      throw new LedgerlineError(
        'too_large',
        `a delivery's payload is at most ${deliveryLimits.deliveryBytes} bytes of JSON: deliver where it is, not what it is`,
        { limit: 'deliveryBytes', max: deliveryLimits.deliveryBytes, index },
      );
    }
    return { topic, payload: text };
  });
}

function jsonText(payload: unknown, where: string): string {
  const refuse = (cause?: unknown) =>
    new LedgerlineError('malformed', 'a payload is what JSON can say', { where }, cause);
  let text: string | undefined;
  try {
    text = JSON.stringify(payload) as string | undefined;
  } catch (thrown) {
    throw refuse(thrown);
  }
  if (text === undefined) throw refuse();
  return text;
}

/**
 * The same within the statement that moves the head: a CTE for behind its `head (session, delivery)`, where `delivery` is the
 * first one's number.
 */
export function delivering(
  tx: Statements,
  { session, turn, step }: Omit<DeliveryOrigin, 'first'>,
  deliveries: readonly NewDelivery[],
) {
  const rows = deliveryTexts(deliveries).map(
    ({ topic, payload }, index) => tx`${index === 0 ? tx`` : tx`,`} (${index}::int, ${topic}::text, ${payload}::text)`,
  );
  return tx`, delivered as (
      insert into ledgerline.outbox (session, outbox_sequence, turn_id, step_index, topic, payload, shard)
      select h.session, h.delivery + d.place, ${turn}::text, ${step}::int, d.topic, d.payload::json, ${shardOf(session)}::smallint
        from head h, (values ${rows}) d (place, topic, payload)
    )`;
}

/** The head is locked by this transaction, and gave the numbers: `first` and those behind it. */
export async function addDeliveries(
  tx: Statements,
  { session, turn, step, first }: DeliveryOrigin,
  deliveries: readonly NewDelivery[],
): Promise<void> {
  assert(Number.isSafeInteger(first) && first > 0, 'deliveries are numbered from 1');
  // One statement each, on their way together; a list of JSON texts as one value would be read before it is stored.
  await Promise.all(
    deliveryTexts(deliveries).map(
      ({ topic, payload }, index) => tx`
        insert into ledgerline.outbox (session, outbox_sequence, turn_id, step_index, topic, payload, shard)
        values (${session}::text, ${first + index}::bigint, ${turn}::text, ${step}::int, ${topic}::text,
                ${payload}::text::json, ${shardOf(session)}::smallint)`,
    ),
  );
}
