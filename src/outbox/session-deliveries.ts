/** What a session's effects have others told, page by page, and who has applied it as far as this database knows. */
import { deliveryLimits } from '../base/delivery-limits.ts';
import type { Statements } from '../db/postgres.ts';
import { summaryColumns, toSummary } from './delivery-summary.ts';
import type { DeliverySummary, SummaryRow } from './delivery-summary.ts';

export interface SessionDelivery extends DeliverySummary {
  readonly turn: string;
  readonly step: number;
  /** The consumers that have applied it, by name. */
  readonly applied: readonly string[];
}

export interface DeliveryRange {
  /** Numbers below this one; all, if left out. */
  readonly before?: number | undefined;
  readonly limit: number;
}

export interface DeliveryPage {
  readonly deliveries: readonly SessionDelivery[];
  /** What `before` takes for the following page. */
  readonly next: number | undefined;
}

interface Row extends SummaryRow {
  readonly turn: string;
  readonly step: number;
  readonly applied: readonly string[] | null;
}

/**
 * The newest first. Consumers are found by jumping from one to the next among the marks, and each is asked for a number by the key
 * of its memory. Applied is what the inbox has under the delivery's own identity, and did not bury.
 */
export async function listSession(
  sql: Statements,
  session: string,
  { before, limit }: DeliveryRange,
): Promise<DeliveryPage> {
  const rows = await sql<Row[]>`
    with recursive consumer (name) as (
      (select m.consumer from ledgerline.inbox_mark m order by m.consumer limit 1)
      union all
      select (select m.consumer from ledgerline.inbox_mark m where m.consumer > c.name order by m.consumer limit 1)
        from consumer c where c.name is not null
    ), known (name) as (
      select c.name from consumer c where c.name is not null limit ${deliveryLimits.consumersPerList}::int
    ), page as (
      select * from ledgerline.outbox o
       where o.session = ${session}::text and o.outbox_sequence < coalesce(${before ?? null}::bigint, 9223372036854775807)
       order by o.outbox_sequence desc limit ${limit + 1}::int
    )
    select ${summaryColumns(sql)}, o.turn_id as turn, o.step_index as step,
           (select json_agg(k.name order by k.name) from known k
             where (select i.identity from ledgerline.inbox i
                     where i.consumer = k.name and i.session = o.session and i.outbox_sequence = o.outbox_sequence)
                   = concat_ws(':', o.turn_id, o.step_index, o.topic)
               and (select count(*) from ledgerline.inbox_dead d
                     where d.consumer = k.name and d.session = o.session and d.outbox_sequence = o.outbox_sequence
                       and d.identity = concat_ws(':', o.turn_id, o.step_index, o.topic)) = 0) as applied
      from page o
     order by o.outbox_sequence desc`;
  const deliveries = rows
    .slice(0, limit)
    .map((row): SessionDelivery => ({ ...toSummary(row), turn: row.turn, step: row.step, applied: row.applied ?? [] }));
  return { deliveries, next: rows.length > limit ? deliveries.at(-1)?.outboxSequence : undefined };
}
