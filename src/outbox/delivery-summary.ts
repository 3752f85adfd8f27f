/** A delivery as people see it: what became of it, and since when; never what it says. */
import type { Statements } from '../db/postgres.ts';

export interface DeliverySummary {
  readonly session: string;
  readonly outboxSequence: number;
  readonly topic: string;
  /** `refused` by the broker, and tried again. */
  readonly state: 'waiting' | 'refused' | 'dead' | 'published';
  /** When it was published or given up; else when it was written. */
  readonly since: string;
  /** How often the broker refused it. */
  readonly attempts: number;
  /** Why, the last time. */
  readonly error: string | undefined;
}

export interface SummaryRow extends Omit<DeliverySummary, 'outboxSequence' | 'error'> {
  readonly sequence: number;
  readonly error: string | null;
}

/** Of an `ledgerline.outbox o`. */
export const summaryColumns = (sql: Statements) => sql`
  o.session, o.outbox_sequence as sequence, o.topic, o.attempts, o.last_error::text as error,
  ledgerline.utc_text(coalesce(o.published_at, o.dead_at, o.created_at)) as since,
  case when o.published_at is not null then 'published' when o.dead_at is not null then 'dead'
       when o.attempts > 0 then 'refused' else 'waiting' end as state`;

/** Read here: Postgres keeps a text that it would not take apart. */
const messageOf = (error: string): string => (JSON.parse(error) as { message: string }).message;

export const toSummary = ({
  session,
  sequence,
  topic,
  state,
  since,
  attempts,
  error,
}: SummaryRow): DeliverySummary => ({
  session,
  outboxSequence: sequence,
  topic,
  state,
  since,
  attempts,
  error: error === null ? undefined : messageOf(error),
});
