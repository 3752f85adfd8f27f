/** The consumer of the example: posts each refund to a ledger of entries, once, however often it is delivered. */
import { z } from 'zod';
import type { Service } from '../base/service.ts';
import type { Statements } from '../db/postgres.ts';
import { createConsumer } from '../outbox/inbox.ts';
import type { AppliedDelivery, ConsumerOptions } from '../outbox/inbox.ts';
import { REFUND_ISSUED } from './refund-tools.ts';

const issuedShape = z.object({ refund: z.string(), order: z.string(), cents: z.int().min(1) });

/** Stays the same for ever: what was posted is remembered by it. */
const NAME = 'entries';

export const createEntries = (options: Pick<ConsumerOptions, 'databaseUrl' | 'from' | 'log' | 'clock'>): Service =>
  createConsumer({ ...options, name: NAME, topics: [REFUND_ISSUED], apply: postEntry });

/** It does not look whether the refund was posted before: that is the inbox's part, in the same transaction. */
export async function postEntry(tx: Statements, { payload }: Pick<AppliedDelivery, 'payload'>): Promise<void> {
  const { refund, order, cents } = issuedShape.parse(JSON.parse(payload));
  await tx`insert into example.entry (refund_key, order_id, cents) values (${refund}::text, ${order}::text, ${cents}::int)`;
}
