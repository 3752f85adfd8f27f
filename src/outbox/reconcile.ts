/** Compares what was marked as stored with what the stream holds: a broker may lose what it had acknowledged [nats-server#7564]. */
import { deliveryLimits } from '../base/delivery-limits.ts';
import type { Pool } from '../db/pool.ts';
import type { Statements } from '../db/postgres.ts';
import { SHARDS } from './add.ts';
import type { DeliveryChannel } from './delivery.ts';

export interface ReconcileOptions {
  readonly pool: Pool;
  readonly channel: Pick<DeliveryChannel, 'stored'>;
  /** All of them, if left out. */
  readonly shards?: readonly number[];
  readonly signal?: AbortSignal;
}

export interface Reconciled {
  readonly compared: number;
  readonly lost: number;
}

const SESSIONS_AT_A_TIME = 100;
const everyShard = Array.from({ length: SHARDS }, (_, shard) => shard);

/**
 * What is missing is unmarked, and its relay publishes it again, in order: nobody else publishes here, since two publishers of
 * a session could overtake one another. Consumers know again what they have applied.
 */
export async function reconcile({ pool, channel, shards = everyShard, signal }: ReconcileOptions): Promise<Reconciled> {
  let compared = 0;
  let lost = 0;
  for (let after: string | undefined = ''; after !== undefined && signal?.aborted !== true;) {
    const from: string = after;
    // First the marks, then the stream: whatever is marked by now was stored before we look.
    const sessions = await pool.run('reading what was delivered', (sql) => readMarked(sql, shards, from));
    for (const [session, numbers] of sessions) {
      const stored = await channel.stored(session, (numbers[0] ?? 1) - 1);
      const missing = numbers.filter((number) => !stored.has(number));
      compared += numbers.length;
      if (missing.length === 0) continue;
      lost += await pool.run('unmarking lost deliveries', (sql) => unmark(sql, session, missing));
    }
    after = sessions.length < SESSIONS_AT_A_TIME ? undefined : sessions.at(-1)?.[0];
  }
  return { compared, lost };
}

/** Which of these shards were not compared for a day, by whomever. */
export async function shardsToReconcile(sql: Statements, shards: readonly number[]): Promise<number[]> {
  const rows = await sql<{ shard: number }[]>`
    select s.shard from ledgerline.relay_shard s
     where s.shard in (select unnest(string_to_array(${shards.join(',')}::text, ',')::smallint[]))
       and coalesce(s.reconciled_at < clock_timestamp() - ${deliveryLimits.reconcileMs}::int * interval '1 millisecond', true)`;
  return rows.map((row) => row.shard);
}

export async function noteReconciled(sql: Statements, shards: readonly number[]): Promise<void> {
  await sql`
    update ledgerline.relay_shard set reconciled_at = clock_timestamp()
     where shard in (select unnest(string_to_array(${shards.join(',')}::text, ',')::smallint[]))`;
}

/** Of the next sessions behind `after`: the numbers that the stream should still hold, in order. */
async function readMarked(
  sql: Statements,
  shards: readonly number[],
  after: string,
): Promise<(readonly [session: string, numbers: readonly number[]])[]> {
  const rows = await sql<{ session: string; numbers: string }[]>`
    select o.session, string_agg(o.outbox_sequence::text, ',' order by o.outbox_sequence) as numbers
      from ledgerline.outbox o
     where o.session > ${after}::text
       and o.shard in (select unnest(string_to_array(${shards.join(',')}::text, ',')::smallint[]))
       and coalesce(o.published_at, o.dead_at) > statement_timestamp() - ${deliveryLimits.reconcileDays}::int * interval '1 day'
     group by o.session order by o.session limit ${SESSIONS_AT_A_TIME}::int`;
  return rows.map(({ session, numbers }) => [session, numbers.split(',').map(Number)]);
}

/** `stream_sequence` stays: it says that this is to be stored again, whatever the broker remembers of it. */
async function unmark(sql: Statements, session: string, numbers: readonly number[]): Promise<number> {
  const rows = await sql`
    update ledgerline.outbox set published_at = null, dead_at = null, next_attempt_at = null
     where session = ${session}::text
       and outbox_sequence in (select unnest(string_to_array(${numbers.join(',')}::text, ',')::bigint[]))
       and (published_at is not null or dead_at is not null)
    returning 1`;
  return rows.length;
}
