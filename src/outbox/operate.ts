/** What a person may ask and do about deliveries that do not go out by themselves. */
import { deliveryLimits } from '../base/delivery-limits.ts';
import type { Statements } from '../db/postgres.ts';

export interface DeliverySummary {
  readonly session: string;
  readonly outboxSequence: number;
  readonly topic: string;
  readonly state: 'waiting' | 'refused' | 'dead' | 'published';
  readonly since: string;
  readonly attempts: number;
  readonly error: string | undefined;
}

interface Row extends Omit<DeliverySummary, 'outboxSequence' | 'error' | 'state'> {
  readonly sequence: number;
  readonly state: DeliverySummary['state'];
  readonly error: string | null;
}

const columns = (sql: Statements) => sql`
  o.session, o.outbox_sequence as sequence, o.topic, o.attempts, o.last_error::text as error,
  ledgerline.utc_text(coalesce(o.dead_at, o.created_at)) as since,
  case when o.published_at is not null then 'published' when o.dead_at is not null then 'dead'
       when o.attempts > 0 then 'refused' else 'waiting' end as state`;

/** Read here: Postgres keeps a text that it would not take apart. */
const messageOf = (error: string): string => (JSON.parse(error) as { message: string }).message;

const toSummary = ({ sequence, error, ...row }: Row): DeliverySummary => ({
  ...row,
  outboxSequence: sequence,
  error: error === null ? undefined : messageOf(error),
});

/** Dead or not published yet, the longest first. */
export async function listDeliveries(sql: Statements): Promise<DeliverySummary[]> {
  const rows = await sql<Row[]>`
    select ${columns(sql)} from ledgerline.outbox o
     where o.published_at is null
     order by o.created_at, o.session, o.outbox_sequence limit ${deliveryLimits.deliveriesPerList}::int`;
  return rows.map(toSummary);
}

/**
 * Has it published again, dead or not. Consumers that have applied it know it again; those that passed its tombstone apply
 * it now, behind what came after it. Undefined: there is no such delivery, or it was forgotten.
 */
export async function redrive(sql: Statements, session: string, number: number): Promise<DeliverySummary | undefined> {
  const [row] = await sql<Row[]>`
    update ledgerline.outbox o
       set published_at = null, dead_at = null, next_attempt_at = null, attempts = 0, last_error = null
     where o.session = ${session}::text and o.outbox_sequence = ${number}::bigint
    returning ${columns(sql)}`;
  return row && toSummary(row);
}

/**
 * Gives it up: its relay publishes a tombstone in its place, and what waits behind it goes on. Only what waits; what a publish
 * under way stores all the same is published. Undefined: there is no such delivery that waits.
 */
export async function skip(sql: Statements, session: string, number: number): Promise<DeliverySummary | undefined> {
  const error = JSON.stringify({ message: 'skipped by an operator' });
  const [row] = await sql<Row[]>`
    update ledgerline.outbox o
       set attempts = greatest(o.attempts, ${deliveryLimits.deliveryAttempts}::int), next_attempt_at = null, last_error = ${error}::text::json
     where o.session = ${session}::text and o.outbox_sequence = ${number}::bigint
       and coalesce(o.published_at, o.dead_at) is null
    returning ${columns(sql)}`;
  return row && toSummary(row);
}
