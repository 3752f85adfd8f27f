/** How far a producer has come in a session: what it asks after a failure that left open what was stored. */
import type { Statements } from '../db/postgres.ts';
import { toSequence } from '../event/sequence.ts';
import type { ProducerRow, SessionState } from './ledger.ts';

interface Row {
  readonly state: SessionState;
  readonly counter: number | null;
  readonly first: number | null;
  readonly last: number | null;
}

/** Two probes of the index by which repeats are found, however much there is; an aggregate would read all that the producer stored. */
export async function readProducer(
  sql: Statements,
  session: string,
  producer: string,
): Promise<ProducerRow | undefined> {
  const [row] = await sql<Row[]>`
    select h.state, newest.producer_sequence as counter, oldest.sequence as first, newest.sequence as last
      from ledgerline.session_head h
      left join lateral (
             select e.sequence, e.producer_sequence from ledgerline.event e
              where e.session = h.session and e.producer_id = ${producer}::text
              order by e.producer_sequence desc limit 1) newest on true
      left join lateral (
             select e.sequence from ledgerline.event e
              where e.session = h.session and e.producer_id = ${producer}::text
              order by e.producer_sequence limit 1) oldest on true
     where h.session = ${session}::text`;
  return (
    row && {
      state: row.state,
      counter: row.counter ?? 0,
      first: row.first === null ? undefined : toSequence(row.first),
      last: row.last === null ? undefined : toSequence(row.last),
    }
  );
}
