/** The call of the stamp (`sql/0009_traceparent.sql`): a whole group in one round trip, one verdict for each append. */
import { assert } from '../base/assert.ts';
import type { Statements } from '../db/postgres.ts';
import {
  NULL,
  PAYLOAD_SEPARATOR,
  SEPARATOR,
  joinGiven,
  joinPayloads,
  joinTraces,
  joinTypes,
  joinValues,
} from './append-text.ts';
import type { AppendRequest } from './ledger.ts';

assert(
  SEPARATOR === ',' && NULL === '*' && PAYLOAD_SEPARATOR === '\n',
  'the stamp is called with the separators of append-text',
);

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
  // One text whatever is called with it, so the separators stand in it as they are in `append-text`: put together of fragments
  // the call cost the driver half as much again [bench].
  const rows = await sql<{ receipt: string }[]>`
    select ledgerline.stamp(
      ${waitMs ?? null}::int,
      ${leaseMs}::int * interval '1 millisecond',
      string_to_array(${joinValues(sessions)}::text, ',', '*'),
      string_to_array(${joinValues(places)}::text, ',', '*')::int[],
      string_to_array(${joinValues(requests.map((request) => request.events.length))}::text, ',', '*')::int[],
      string_to_array(${joinGiven(requests.map((request) => request.producer?.id))}::text, ',', '*'),
      string_to_array(${joinGiven(requests.map((request) => request.producer?.sequence))}::text, ',', '*')::bigint[],
      string_to_array(${joinGiven(requests.map((request) => request.expectedHead))}::text, ',', '*')::bigint[],
      string_to_array(${joinGiven(requests.map((request) => request.fence?.turn))}::text, ',', '*'),
      string_to_array(${joinGiven(requests.map((request) => request.fence?.attempt))}::text, ',', '*')::bigint[],
      string_to_array(${joinValues(owners)}::text, ',', '*')::int[],
      string_to_array(${joinTypes(events)}::text, ','),
      string_to_array(${joinPayloads(events)}::text, e'\\n'),
      string_to_array(${joinTraces(events)}::text, ',', '*')
    ) as receipt`;
  assert(rows[0] !== undefined, 'the stamp answers in one row');
  return rows[0].receipt;
}
