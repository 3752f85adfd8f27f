/** How far each reader has read a session, by what the reader says. */
import type { Statements } from '../db/postgres.ts';
import { toCursor } from '../event/sequence.ts';
import type { Cursor } from '../event/sequence.ts';
import { storable } from '../event/storable.ts';
import type { ReadMark, SessionState } from './ledger.ts';

/** One statement: two screens of a reader that say something at the same time agree in the row, which only grows. */
export async function markRead(
  sql: Statements,
  session: string,
  subject: string,
  sequence: Cursor,
): Promise<ReadMark | undefined> {
  const [row] = await sql<{ state: SessionState; read: number | null }[]>`
    with head as (
      select h.session, h.last_sequence, h.state from ledgerline.session_head h where h.session = ${session}::text
    ), marked as (
      insert into ledgerline.read_position as r (session, subject, sequence)
      select h.session, ${storable(subject)}::text, least(${sequence}::bigint, h.last_sequence) from head h where h.state <> 'deleted'
      on conflict (session, subject) do update
         set sequence = greatest(r.sequence, excluded.sequence), updated_at = excluded.updated_at
      returning r.sequence
    )
    select h.state, m.sequence as read from head h left join marked m on true`;
  return row && { state: row.state, read: toCursor(row.read ?? 0) };
}
