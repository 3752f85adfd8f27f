/** The rows by which messages ask for turns: the sender's key, and the request itself. */
import { limits } from '../base/limits.ts';
import { toSequence } from '../event/sequence.ts';
import type { Sequence } from '../event/sequence.ts';
import type { Statements } from '../db/postgres.ts';
import type { StoredMessage } from '../ledger/turn-stamp.ts';
import type { Input } from './turns.ts';

/**
 * Takes the key, or finds what it was taken for. Before the head's lock, because it may wait for a transaction that holds the
 * same key, and nobody else should wait with it.
 */
export async function takeKey(
  tx: Statements,
  session: string,
  key: string,
  hash: string,
): Promise<'taken' | { readonly sequence: Sequence; readonly isSame: boolean }> {
  const taken = await tx`
    insert into ledgerline.client_request (session, request_key, content_hash)
    values (${session}::text, ${key}::text, decode(${hash}::text, 'hex'))
    on conflict (session, request_key) do nothing
    returning 1`;
  if (taken.length > 0) return 'taken';
  const [row] = await tx<{ sequence: number; is_same: boolean }[]>`
    select r.sequence, r.content_hash = decode(${hash}::text, 'hex') as is_same
      from ledgerline.client_request r
     where r.session = ${session}::text and r.request_key = ${key}::text`;
  // Gone in between: it was as old as keys get.
  if (row === undefined) return takeKey(tx, session, key, hash);
  return { sequence: toSequence(row.sequence), isSame: row.is_same };
}

export async function addRequest(
  tx: Statements,
  session: string,
  request: { readonly key: string; readonly sequence: Sequence; readonly isSteering: boolean },
): Promise<void> {
  await tx`
    with answered as (
      update ledgerline.client_request set sequence = ${request.sequence}::bigint
       where session = ${session}::text and request_key = ${request.key}::text
    )
    insert into ledgerline.turn_request (session, sequence, is_steering)
    values (${session}::text, ${request.sequence}::bigint, ${request.isSteering}::boolean)`;
}

/** Messages that may join the turn that runs become inputs of it, the oldest first and no more than a worker can be handed [I6]. */
export async function bindSteering(tx: Statements, session: string, turn: string): Promise<Sequence[]> {
  const rows = await tx<{ sequence: number }[]>`
    select b.sequence
      from unnest(ledgerline.bind_requests(${session}::text, ${turn}::text, true,
                                           ${limits.turnInputs}::int, ${limits.turnInputBytes}::int)) b (sequence)`;
  return ascending(rows);
}

/** Takes back what no worker has begun. The event tells; a row of no turn would be nobody's to forget. */
export async function cancelPending(tx: Statements, session: string): Promise<Sequence[]> {
  const rows = await tx<{ sequence: number }[]>`
    delete from ledgerline.turn_request
     where session = ${session}::text and status = 'pending'
    returning sequence`;
  return ascending(rows);
}

/** The inputs of a turn that is over are to be answered by another. */
export async function freeRequests(tx: Statements, session: string, turn: string): Promise<Sequence[]> {
  const rows = await tx<{ sequence: number }[]>`
    update ledgerline.turn_request set status = 'pending', turn_id = null
     where session = ${session}::text and turn_id = ${turn}::text
    returning sequence`;
  return ascending(rows);
}

const ascending = (rows: readonly { sequence: number }[]): Sequence[] =>
  rows.map((row) => toSequence(row.sequence)).toSorted((a, b) => a - b);

/** Whether a session has more to do. In a statement of its own, behind the head's lock: one that also locks may look too early. */
export async function hasPending(tx: Statements, session: string): Promise<boolean> {
  const [row] = await tx<{ has: boolean }[]>`
    select exists (select from ledgerline.turn_request r where r.session = ${session}::text and r.status = 'pending') as has`;
  return row?.has === true;
}

export async function inputSequences(tx: Statements, session: string, turn: string): Promise<Sequence[]> {
  const rows = await tx<{ sequence: number }[]>`
    select r.sequence from ledgerline.turn_request r
     where r.session = ${session}::text and r.turn_id = ${turn}::text`;
  return ascending(rows);
}

export const toInput = ({ sequence, at, data, traceparent }: StoredMessage): Input => ({
  sequence: toSequence(sequence),
  at,
  data,
  ...(traceparent === null ? {} : { traceparent }),
});

/** The messages themselves, as they were stored. */
export async function readInputs(tx: Statements, session: string, turn: string): Promise<Input[]> {
  const rows = await tx<StoredMessage[]>`
    select e.sequence, ledgerline.utc_text(e.created_at) as at, e.payload::text as data, e.traceparent
      from ledgerline.turn_request r
      join ledgerline.event e on e.session = r.session and e.sequence = r.sequence
     where r.session = ${session}::text and r.turn_id = ${turn}::text
     order by e.sequence`;
  return rows.map(toInput);
}
