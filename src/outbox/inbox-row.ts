/** What a consumer has applied, told from what is new in the transaction of its own effect. */
import type { Statements } from '../db/postgres.ts';
import { deliveryLimits } from '../base/delivery-limits.ts';
import type { Delivery } from './delivery.ts';
import { TOMBSTONE, rememberedAs } from './inbox-verdict.ts';
import type { Known } from './inbox-verdict.ts';

/**
 * Moves the mark from the number before to this one, and no other way, and remembers what moved it [I15]; false when this is not the next.
 * The mark's row stays locked, so that two processes never apply at the same time in one session; the primary key of the memory is
 * the tripwire behind it. `isFirst`: a session without a mark begins here. `memory`: as what it is remembered.
 */
export async function moveMark(
  tx: Statements,
  consumer: string,
  delivery: Delivery,
  isFirst: boolean,
  memory: string,
): Promise<boolean> {
  const { session, outboxSequence: number } = delivery;
  const remembered = (from: string) => tx`
    insert into ledgerline.inbox (consumer, session, outbox_sequence, identity)
    select m.consumer, m.session, m.outbox_sequence, ${memory}::text from ${tx(from)} m
    returning 1`;
  const moved = await tx`
    with moved as (
      update ledgerline.inbox_mark set outbox_sequence = ${number}::bigint
       where consumer = ${consumer}::text and session = ${session}::text and outbox_sequence = ${number}::bigint - 1
      returning consumer, session, outbox_sequence
    )
    ${remembered('moved')}`;
  if (moved.length > 0 || !(isFirst || number === 1)) return moved.length > 0;
  const begun = await tx`
    with begun as (
      insert into ledgerline.inbox_mark (consumer, session, outbox_sequence)
      values (${consumer}::text, ${session}::text, ${number}::bigint) on conflict do nothing
      returning consumer, session, outbox_sequence
    )
    ${remembered('begun')}`;
  return begun.length > 0;
}

export async function readKnown(tx: Statements, consumer: string, delivery: Delivery): Promise<Known> {
  const [row] = await tx<{ mark: number; identity: string | null }[]>`
    select m.outbox_sequence as mark, i.identity
      from ledgerline.inbox_mark m
      left join ledgerline.inbox i
        on i.consumer = m.consumer and i.session = m.session and i.outbox_sequence = ${delivery.outboxSequence}::bigint
     where m.consumer = ${consumer}::text and m.session = ${delivery.session}::text`;
  return { mark: row?.mark, identity: row?.identity ?? undefined };
}

/** In the place of its tombstone; false when somebody else was first. */
export async function noteLate(tx: Statements, consumer: string, delivery: Delivery, memory: string): Promise<boolean> {
  const tombstone = rememberedAs({ ...delivery, payload: undefined });
  const rows = await tx`
    update ledgerline.inbox set identity = ${memory}::text, applied_at = clock_timestamp()
     where consumer = ${consumer}::text and session = ${delivery.session}::text
       and outbox_sequence = ${delivery.outboxSequence}::bigint and identity = ${tombstone}::text
    returning 1`;
  return rows.length > 0;
}

/** Keeps it for a person. What died before stays, and so does another of its number. */
export async function bury(tx: Statements, consumer: string, delivery: Delivery, message: string): Promise<void> {
  await tx`
    insert into ledgerline.inbox_dead (consumer, session, outbox_sequence, identity, payload, error)
    values (${consumer}::text, ${delivery.session}::text, ${delivery.outboxSequence}::bigint, ${delivery.identity}::text,
            ${delivery.payload ?? null}::text::json, ${JSON.stringify({ message })}::text::json)
    on conflict do nothing`;
}

/**
 * One batch of what is so old that no stream brings it again; the rows that went. All of it is below the marks. Tombstones stay: a
 * person may send what is dead again at any time, and then it is to be applied.
 */
export async function forgetApplied(sql: Statements, consumer: string): Promise<number> {
  const [gone] = await sql<{ rows: number }[]>`
    with gone as (
      delete from ledgerline.inbox
       where (consumer, session, outbox_sequence) in (
         select i.consumer, i.session, i.outbox_sequence from ledgerline.inbox i
          where i.consumer = ${consumer}::text and not starts_with(i.identity, ${TOMBSTONE}::text)
            and i.applied_at < statement_timestamp() - ${deliveryLimits.deliveryDays}::int * interval '1 day'
          order by i.applied_at limit ${deliveryLimits.forgetRows}::int for update skip locked)
      returning 1
    )
    select count(*) as rows from gone`;
  return gone?.rows ?? 0;
}
