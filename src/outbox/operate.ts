/** What a person may ask and do about deliveries that do not go out by themselves. */
import { deliveryLimits } from '../base/delivery-limits.ts';
import type { Statements } from '../db/postgres.ts';
import { summaryColumns, toSummary } from './delivery-summary.ts';
import type { DeliverySummary, SummaryRow } from './delivery-summary.ts';

/** Dead or not published yet, the longest first; `isAll`: those that are dead and acknowledged, too. */
export async function listDeliveries(sql: Statements, isAll = false): Promise<DeliverySummary[]> {
  const rows = await sql<SummaryRow[]>`
    select ${summaryColumns(sql)} from ledgerline.outbox o
     where o.published_at is null ${isAll ? sql`` : sql`and o.acknowledged_at is null`}
     order by o.created_at, o.session, o.outbox_sequence limit ${deliveryLimits.deliveriesPerList}::int`;
  return rows.map(toSummary);
}

/**
 * Has it published again, dead or not. Consumers that have applied it know it again; those that passed its tombstone apply
 * it now, behind what came after it. Undefined: there is no such delivery, or it was forgotten.
 */
export async function redrive(sql: Statements, session: string, number: number): Promise<DeliverySummary | undefined> {
  const [row] = await sql<SummaryRow[]>`
    update ledgerline.outbox o
       set published_at = null, dead_at = null, acknowledged_at = null, next_attempt_at = null, attempts = 0, last_error = null
     where o.session = ${session}::text and o.outbox_sequence = ${number}::bigint
    returning ${summaryColumns(sql)}`;
  return row && toSummary(row);
}

/**
 * Gives it up: its relay publishes a tombstone in its place, and what waits behind it goes on. Only what waits; what a publish
 * under way stores all the same is published. Undefined: there is no such delivery that waits.
 */
export async function skip(sql: Statements, session: string, number: number): Promise<DeliverySummary | undefined> {
  const error = JSON.stringify({ message: 'skipped by an operator' });
  const [row] = await sql<SummaryRow[]>`
    update ledgerline.outbox o
       set attempts = greatest(o.attempts, ${deliveryLimits.deliveryAttempts}::int), next_attempt_at = null, last_error = ${error}::text::json
     where o.session = ${session}::text and o.outbox_sequence = ${number}::bigint
       and coalesce(o.published_at, o.dead_at) is null
    returning ${summaryColumns(sql)}`;
  return row && toSummary(row);
}

/** Takes one that is dead off the list; it goes when it is old. Undefined: there is no such delivery that is dead. */
export async function acknowledge(
  sql: Statements,
  session: string,
  number: number,
): Promise<DeliverySummary | undefined> {
  const [row] = await sql<SummaryRow[]>`
    update ledgerline.outbox o set acknowledged_at = coalesce(o.acknowledged_at, clock_timestamp())
     where o.session = ${session}::text and o.outbox_sequence = ${number}::bigint and o.dead_at is not null
    returning ${summaryColumns(sql)}`;
  return row && toSummary(row);
}
