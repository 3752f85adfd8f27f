/** The rows that a relay has before it, and what becomes of them. */
import type { Statements } from '../db/postgres.ts';
import { deliveryLimits } from '../base/delivery-limits.ts';
import { identityOf } from './delivery.ts';
import type { Delivery } from './delivery.ts';

export interface OutboxRow {
  readonly delivery: Delivery & { readonly payload: string };
  /** How often the broker refused it. */
  readonly attempts: number;
  /** It does not pause after a refusal. */
  readonly isDue: boolean;
  /** It was published before, and is to be published again. */
  readonly isAgain: boolean;
}

/** Resolves when the database answers. */
export async function roundTrip(sql: Statements): Promise<void> {
  await sql`select 1`;
}

/** Which of these shards have anything to publish, due or not. */
export async function busyShards(sql: Statements, shards: readonly number[]): Promise<number[]> {
  const rows = await sql<{ shard: number }[]>`
    select s.shard
      from unnest(string_to_array(${shards.join(',')}::text, ',')::smallint[]) s (shard)
     where exists (select from ledgerline.outbox o
                    where o.shard = s.shard and o.published_at is null and o.dead_at is null)`;
  return rows.map((row) => row.shard);
}

interface Row {
  readonly session: string;
  readonly outbox_sequence: number;
  readonly turn_id: string;
  readonly step_index: number;
  readonly topic: string;
  readonly payload: string;
  readonly attempts: number;
  readonly is_due: boolean;
  readonly is_again: boolean;
}

/**
 * The next sessions of a shard behind `after`, each with its first deliveries in order. Sessions are found by jumping from one to
 * the next, so that a long backlog of one costs the others nothing. Never SKIP LOCKED over rows, and no cursor over numbers of
 * the whole table: the one reorders a session between relays, the other loses what commits late.
 */
export async function readSessions(
  sql: Statements,
  shard: number,
  after: string,
): Promise<ReadonlyMap<string, readonly OutboxRow[]>> {
  const rows = await sql<Row[]>`
    with recursive next (session, place) as (
      (select o.session, 1 from ledgerline.outbox o
        where o.shard = ${shard}::smallint and o.session > ${after}::text and o.published_at is null and o.dead_at is null
        order by o.session limit 1)
      union all
      select o.session, n.place + 1
        from next n
       cross join lateral (
         select o.session from ledgerline.outbox o
          where o.shard = ${shard}::smallint and o.session > n.session and o.published_at is null and o.dead_at is null
          order by o.session limit 1) o
       where n.place < ${deliveryLimits.relaySessions}::int
    )
    select b.session, b.outbox_sequence, b.turn_id, b.step_index, b.topic, b.payload, b.attempts, b.is_due, b.is_again
      from next n
     cross join lateral (
       select r.*, sum(octet_length(r.payload)) over (order by r.outbox_sequence) - octet_length(r.payload) as bytes_before
         from (
           select o.session, o.outbox_sequence, o.turn_id, o.step_index, o.topic, o.payload::text as payload, o.attempts,
                  coalesce(o.next_attempt_at <= clock_timestamp(), true) as is_due, o.stream_sequence is not null as is_again
             from ledgerline.outbox o
            where o.shard = ${shard}::smallint and o.session = n.session and o.published_at is null and o.dead_at is null
            order by o.outbox_sequence limit ${deliveryLimits.relayRows}::int) r) b
     where b.bytes_before < ${deliveryLimits.relayBytes}::int
     order by b.session, b.outbox_sequence`;
  const sessions = new Map<string, OutboxRow[]>();
  for (const row of rows) {
    const before = sessions.get(row.session);
    if (before === undefined) sessions.set(row.session, [toRow(row)]);
    else before.push(toRow(row));
  }
  return sessions;
}

const toRow = (row: Row): OutboxRow => ({
  delivery: {
    session: row.session,
    outboxSequence: row.outbox_sequence,
    identity: identityOf(row.turn_id, row.step_index, row.topic),
    topic: row.topic,
    payload: row.payload,
  },
  attempts: row.attempts,
  isDue: row.is_due,
  isAgain: row.is_again,
});

/** What a publish came to. */
export type Fate = Pick<Delivery, 'session' | 'outboxSequence'> &
  (
    | { readonly kind: 'published'; readonly streamSequence: number }
    /** Its tombstone was published in its place. */
    | { readonly kind: 'dead'; readonly streamSequence: number }
    | { readonly kind: 'refused'; readonly reason: string; readonly pauseMs: number }
  );

/**
 * Without a look at the lease: what the broker acknowledged is stored, whoever owns the shard meanwhile. What became of a
 * row before stands; one that a person has sent again while its tombstone was on its way is not dead.
 */
export async function markFates(sql: Statements, fates: readonly Fate[]): Promise<void> {
  const list = (value: (fate: Fate) => string | number) =>
    sql`string_to_array(${fates.map(value).join(',')}::text, ',')`;
  // Found by its key: said in the words of a partial index, this would walk through all that waits.
  const isOpen = sql`coalesce(o.published_at, o.dead_at) is null`;
  const stored = fates.filter((fate) => fate.kind !== 'refused');
  if (stored.length > 0) {
    await sql`
      update ledgerline.outbox o
         set published_at = case f.kind when 'published' then clock_timestamp() end,
             dead_at = case f.kind when 'dead' then clock_timestamp() end,
             stream_sequence = f.stream_sequence, next_attempt_at = null
        from unnest(${list((fate) => fate.session)}, ${list((fate) => fate.outboxSequence)}::bigint[], ${list((fate) => fate.kind)},
                    ${list((fate) => (fate.kind === 'refused' ? 0 : fate.streamSequence))}::bigint[])
             f (session, outbox_sequence, kind, stream_sequence)
       where o.session = f.session and o.outbox_sequence = f.outbox_sequence and f.kind <> 'refused'
         and ${isOpen} and (f.kind <> 'dead' or o.attempts >= ${deliveryLimits.deliveryAttempts}::int)`;
  }
  for (const fate of fates) {
    if (fate.kind !== 'refused') continue;
    await sql`
      update ledgerline.outbox o
         set attempts = o.attempts + 1, last_error = ${JSON.stringify({ message: fate.reason })}::text::json,
             next_attempt_at = clock_timestamp() + ${Math.round(fate.pauseMs)}::int * interval '1 millisecond'
       where o.session = ${fate.session}::text and o.outbox_sequence = ${fate.outboxSequence}::bigint
         and ${isOpen}`;
  }
}

/** One batch of what was published long ago; the rows that went. Who is dead stays until a person has taken note of it. */
export async function forgetPublished(sql: Statements): Promise<number> {
  const [gone] = await sql<{ rows: number }[]>`
    with gone as (
      delete from ledgerline.outbox
       where (session, outbox_sequence) in (
         select o.session, o.outbox_sequence from ledgerline.outbox o
          where o.created_at < statement_timestamp() - ${deliveryLimits.deliveryDays}::int * interval '1 day'
            and coalesce(o.published_at, o.acknowledged_at) < statement_timestamp() - ${deliveryLimits.deliveryDays}::int * interval '1 day'
          order by o.created_at limit ${deliveryLimits.forgetRows}::int for update skip locked)
      returning 1
    )
    select count(*) as rows from gone`;
  return gone?.rows ?? 0;
}

export interface OutboxFigures {
  readonly unpublished: number;
  readonly oldestSeconds: number;
  readonly dead: number;
}

/** For the gauges: what an operator watches. */
export async function readOutboxFigures(sql: Statements): Promise<OutboxFigures> {
  const [row] = await sql<OutboxFigures[]>`
    select count(*) filter (where o.dead_at is null) as unpublished, count(o.dead_at) as dead,
           coalesce(extract(epoch from clock_timestamp() - min(o.created_at) filter (where o.dead_at is null))::float8, 0) as "oldestSeconds"
      from ledgerline.outbox o
     where o.published_at is null and o.acknowledged_at is null`;
  return row ?? { unpublished: 0, oldestSeconds: 0, dead: 0 };
}
