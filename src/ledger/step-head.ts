/** What a step moves of its session's head: the events' numbers and the deliveries', if its attempt still owns the turn. */
import { assert } from '../base/assert.ts';
import type { Statements } from '../db/postgres.ts';
import { plus, toSequence } from '../event/sequence.ts';
import { assertEvents } from './append-text.ts';
import type { AppendRequest } from './ledger.ts';
import { storing } from './turn-head.ts';
import type { Moved, TurnEvent } from './turn-head.ts';

/** A part of a statement. */
export type Further = ReturnType<typeof storing>;

/**
 * One statement that locks, asks whose the turn is, numbers and stores [I1] [I11]: sent last, it holds the head for no longer than
 * the commit takes. `further` are CTEs that go along, of the tables of others: each begins with a comma and reads
 * `head (session, delivery)`, so that it runs behind the lock, and only for the owner. Undefined: the attempt owns the turn no
 * more, and its transaction must not commit.
 */
export async function stampStep(
  tx: Statements,
  session: string,
  { turn, attempt }: NonNullable<AppendRequest['fence']>,
  events: readonly TurnEvent[],
  deliveries: number,
  further: readonly Further[],
): Promise<Moved | undefined> {
  assert(events.length > 0, 'a step has an event');
  assertEvents(events);
  const [row] = await tx<{ before: number; at: string }[]>`
    with head as (
      update ledgerline.session_head
         set last_sequence = last_sequence + ${events.length}::int, outbox_sequence = outbox_sequence + ${deliveries}::int
       where session = ${session}::text and turn_id = ${turn}::text and fence = ${attempt}::bigint
         and turn_state = 'running' and state = 'open'
      returning session, last_sequence - ${events.length}::int as before, outbox_sequence - ${deliveries}::int + 1 as delivery,
                date_trunc('milliseconds', clock_timestamp()) as at
    ), ${storing(tx, events)} ${further.length === 0 ? tx`` : [...further]}
    select h.before, ledgerline.utc_text(h.at) as at from head h`;
  if (row === undefined) return undefined;
  const first = plus(toSequence(row.before + events.length), 1 - events.length);
  return { session, first, last: plus(first, events.length - 1), at: row.at, events };
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
