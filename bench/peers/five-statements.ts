/** The transaction that everybody writes first: lock the head, number the event, store it, move the head. */
import type { Sql } from '../../src/db/postgres.ts';

/** Five round trips: BEGIN and COMMIT are two of them. Returns the event's sequence. */
export async function appendInFive(sql: Sql, session: string, type: string, data: string): Promise<number> {
  return sql.begin(async (tx) => {
    const [head] = await tx<{ last_sequence: number }[]>`
      select last_sequence from ledgerline.session_head where session = ${session}::text and state = 'open' for update`;
    const sequence = (head?.last_sequence ?? 0) + 1;
    await tx`
      insert into ledgerline.event (session, sequence, type, payload, bytes, created_at)
      values (${session}::text, ${sequence}::bigint, ${type}::text, ${data}::text::json, ${Buffer.byteLength(data)}::int, clock_timestamp())`;
    await tx`update ledgerline.session_head set last_sequence = ${sequence}::bigint where session = ${session}::text`;
    return sequence;
  });
}
