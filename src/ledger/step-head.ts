/** What a step moves of its session's head: the events' numbers and the deliveries', if its attempt still owns the turn. */
import { assert } from '../base/assert.ts';
import type { Statements } from '../db/postgres.ts';
import { toSequence } from '../event/sequence.ts';
import { assertEvents } from './append-text.ts';
import type { AppendRequest } from './ledger.ts';
import { asStored, storing } from './turn-head.ts';
import type { Moved, TurnEvent } from './turn-head.ts';

/** A part of a statement. */
export type Further = ReturnType<typeof storing>;

/** Behind the last brace of an event's data comes what only the head's lock gives: `,"deliveries":[{"number":7,"topic":"mail"}]}`. */
const telling = (tx: Statements, topics: readonly string[]) => {
  const each = topics.map((topic, index) => {
    const [open, close] = [`${index === 0 ? '' : ','}{"number":`, `,"topic":${JSON.stringify(topic)}}`];
    return tx` || ${open}::text || (outbox_sequence - ${topics.length}::int + 1 + ${index}::int) || ${close}::text`;
  });
  return tx`',"deliveries":['${each} || ']}'`;
};

/**
 * One statement that locks, asks whose the turn is, numbers and stores [I1] [I11]: sent last, it holds the head for no longer than
 * the commit takes. `further` are CTEs that go along, of the tables of others: each begins with a comma and reads
 * `head (session, delivery)`, so that it runs behind the lock, and only for the owner. `topics` are those of the deliveries that one
 * of them writes, which the event tells of by number. Undefined: the attempt owns the turn no more, and its transaction must not commit.
 */
export async function stampStep(
  tx: Statements,
  session: string,
  { turn, attempt }: NonNullable<AppendRequest['fence']>,
  event: TurnEvent,
  topics: readonly string[],
  further: readonly Further[],
): Promise<Moved | undefined> {
  assertEvents([event]);
  const isTelling = topics.length > 0;
  const [row] = await tx<{ before: number; at: string; told: string | null }[]>`
    with head as (
      update ledgerline.session_head
         set last_sequence = last_sequence + 1, outbox_sequence = outbox_sequence + ${topics.length}::int
       where session = ${session}::text and turn_id = ${turn}::text and fence = ${attempt}::bigint
         and turn_state = 'running' and state = 'open'
      returning session, last_sequence - 1 as before, outbox_sequence - ${topics.length}::int + 1 as delivery,
                date_trunc('milliseconds', clock_timestamp()) as at, ${isTelling ? telling(tx, topics) : tx`null`} as told
    ), ${storing(tx, [event], isTelling)} ${further.length === 0 ? tx`` : [...further]}
    select h.before, ledgerline.utc_text(h.at) as at, h.told from head h`;
  if (row === undefined) return undefined;
  const sequence = toSequence(row.before + 1);
  const stored = row.told === null ? event : asStored(event, row.told);
  return { session, first: sequence, last: sequence, at: row.at, events: [stored] };
}

/** For a fact that came late, without an event: its deliveries are due all the same. Behind the head's lock; the first's number. */
export async function numberDeliveries(tx: Statements, session: string, deliveries: number): Promise<number> {
  const [row] = await tx<{ delivery: number }[]>`
    update ledgerline.session_head set outbox_sequence = outbox_sequence + ${deliveries}::int
     where session = ${session}::text
    returning outbox_sequence - ${deliveries}::int + 1 as delivery`;
  assert(row !== undefined, 'a head that is locked is there');
  return row.delivery;
}
