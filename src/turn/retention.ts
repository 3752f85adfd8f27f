/** What the work half may forget: keys that nobody repeats any more, and turns that ended long ago. */
import { limits } from '../base/limits.ts';
import type { Statements } from '../db/postgres.ts';

/** One batch, so that no transaction is long; the rows that went. Failures stay until a person has taken note of them. */
export async function forgetOld(sql: Statements, batch: number): Promise<number> {
  const [keys] = await sql<{ rows: number }[]>`
    with gone as (
      delete from ledgerline.client_request
       where (session, request_key) in (
         select r.session, r.request_key from ledgerline.client_request r
          where r.created_at < statement_timestamp() - ${limits.clientRequestDays}::int * interval '1 day'
          order by r.created_at limit ${batch}::int for update skip locked)
      returning 1
    )
    select count(*) as rows from gone`;
  const [turns] = await sql<{ rows: number }[]>`
    with old as materialized (
      select t.session, t.turn_id from ledgerline.turn t
       where (t.status in ('done', 'cancelled') or t.acknowledged_at is not null)
         and t.ended_at < statement_timestamp() - ${limits.turnDays}::int * interval '1 day'
       order by t.ended_at limit ${batch}::int for update skip locked
    ), requests as (
      delete from ledgerline.turn_request r using old where r.session = old.session and r.turn_id = old.turn_id
    ), gone as (
      delete from ledgerline.turn t using old where t.session = old.session and t.turn_id = old.turn_id returning 1
    )
    select count(*) as rows from gone`;
  return (keys?.rows ?? 0) + (turns?.rows ?? 0);
}
