/** The call of the stamp (`sql/0009_traceparent.sql`): a whole group in one round trip, one verdict for each append. */
import { assert } from '../base/assert.ts';
import type { Statements } from '../db/postgres.ts';
import { NULL, PAYLOAD_SEPARATOR, SEPARATOR, joinPayloads, joinTraces, joinTypes, joinValues } from './append-text.ts';
import type { AppendRequest } from './ledger.ts';

/**
 * Requests come sorted by session. A repeated append gets a verdict that says where it is stored [I8]. With `waitMs`,
 * heads that somebody holds are waited for; else their appends are skipped.
 */
export async function stamp(
  sql: Statements,
  requests: readonly AppendRequest[],
  waitMs: number | undefined,
  leaseMs: number,
): Promise<string> {
  const sessions: string[] = [];
  const places = requests.map((request) => {
    if (sessions.at(-1) !== request.session) sessions.push(request.session);
    return sessions.length;
  });
  const events = requests.flatMap((request) => request.events);
  const owners = requests.flatMap((request, index) => request.events.map(() => index + 1));
  const list = (values: readonly (string | number | undefined)[]) =>
    sql`string_to_array(${joinValues(values)}::text, ${SEPARATOR}::text, ${NULL}::text)`;
  const rows = await sql<{ receipt: string }[]>`
    select ledgerline.stamp(
      ${waitMs ?? null}::int,
      ${leaseMs}::int * interval '1 millisecond',
      ${list(sessions)},
      ${list(places)}::int[],
      ${list(requests.map((request) => request.events.length))}::int[],
      ${list(requests.map((request) => request.producer?.id))},
      ${list(requests.map((request) => request.producer?.sequence))}::bigint[],
      ${list(requests.map((request) => request.expectedHead))}::bigint[],
      ${list(requests.map((request) => request.fence?.turn))},
      ${list(requests.map((request) => request.fence?.attempt))}::bigint[],
      ${list(owners)}::int[],
      string_to_array(${joinTypes(events)}::text, ${SEPARATOR}::text),
      string_to_array(${joinPayloads(events)}::text, ${PAYLOAD_SEPARATOR}::text),
      string_to_array(${joinTraces(events)}::text, ${SEPARATOR}::text, ${NULL}::text)
    ) as receipt`;
  assert(rows[0] !== undefined, 'the stamp answers in one row');
  return rows[0].receipt;
}
