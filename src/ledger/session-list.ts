/** The list of sessions, the one with the latest activity first: a page walks indexes, however many sessions there are. */
import { limits } from '../base/limits.ts';
import type { Statements } from '../db/postgres.ts';
import { toCursor } from '../event/sequence.ts';
import { storable } from '../event/storable.ts';
import { toHead } from './head.ts';
import type { HeadRow } from './head.ts';
import type { ListPlace, ListRange, ListedSession, SessionList } from './ledger.ts';
import type { SessionFilter } from './session-filter.ts';
import { toTurnNow } from './turn-now.ts';
import type { TurnColumns } from './turn-now.ts';

interface Row extends HeadRow, TurnColumns {
  readonly metadata: unknown;
  readonly activity: string;
  readonly activity_us: number;
  readonly notable_sequence: number;
  readonly read: number;
}

/**
 * One row more than the page holds tells whether there is another page. What belongs to a session is looked up for the
 * page's rows alone: OFFSET 0 keeps the planner from joining all heads first.
 */
export async function listSessions(
  sql: Statements,
  filter: SessionFilter,
  range: ListRange,
  subject: string,
): Promise<SessionList> {
  const limit = Math.min(range.limit, limits.sessionsPerList);
  const rows = await sql<Row[]>`
    with listed as materialized (
      ${candidates(sql, filter, range.after, limit + 1)}
      order by last_activity_at desc, session desc
      limit ${limit + 1}::int
    )
    select l.session, h.last_sequence, h.floor, h.state, h.turn_state, h.turn_id, h.fence, h.stop_mode,
           s.metadata, s.notable_sequence, ledgerline.utc_text(l.last_activity_at) as activity,
           (extract(epoch from l.last_activity_at) * 1000000)::bigint as activity_us, coalesce(r.sequence, 0) as read
      from listed l
     cross join lateral (select * from ledgerline.session s where s.session = l.session offset 0) s
     cross join lateral (select * from ledgerline.session_head h where h.session = l.session offset 0) h
      left join lateral (
             select r.sequence from ledgerline.read_position r
              where r.session = l.session and r.subject = ${storable(subject)}::text offset 0) r on true
     order by l.last_activity_at desc, l.session desc`;
  const page = rows.slice(0, limit);
  const last = rows.length > limit ? page.at(-1) : undefined;
  return {
    sessions: page.map(toListedSession),
    next: last && { activityUs: last.activity_us, session: last.session },
  };
}

/**
 * So many sessions of the latest activity are looked through for those with a prefix. Where many have it a page is found among
 * them; where few have it, reading those few costs little more.
 */
const WALKED = 2_000;

/**
 * Sessions with their activity, all different, among them the first `count` of the list. Each kind of reach is written so
 * that the planner, whose statistics may speak for a walk along all activity, has only the index that serves it: an
 * owner as a range, since only of the owners' index is the order then the list's; ids and prefixes apart from the rest
 * of the condition, which the list's own indexes are partial by.
 */
function candidates(sql: Statements, filter: SessionFilter, after: ListPlace | undefined, count: number) {
  const isBehind = (alias: string) => sql`
    ${sql(alias)}.deleted_at is null
    and (${sql(alias)}.last_activity_at, ${sql(alias)}.session)
      < (coalesce('epoch'::timestamptz + ${after?.activityUs ?? null}::bigint * interval '1 microsecond', 'infinity'),
         ${after?.session ?? ''}::text)`;
  if (filter.kind === 'all') {
    return sql`select s.session, s.last_activity_at from ledgerline.session s where ${isBehind('s')}`;
  }
  // Ids hold no comma, and nothing that sorts behind a brace.
  const list = (ids: readonly string[]) => sql`string_to_array(${ids.join(',')}::text, ',')`;
  const [sessions, prefixes, owner] = [list(filter.sessions), list(filter.prefixes), filter.owner ?? null];
  return sql`
    with recent as materialized (
      select w.session, w.last_activity_at
        from (select s.session, s.last_activity_at, s.owner
                from ledgerline.session s
               where ${isBehind('s')}
               order by s.last_activity_at desc, s.session desc
               limit ${filter.prefixes.length === 0 ? 0 : WALKED}::int) w
       where w.session = any (${sessions}) or w.owner = ${owner}::text
          or exists (select from unnest(${prefixes}) p (prefix) where starts_with(w.session, p.prefix))
       order by w.last_activity_at desc, w.session desc
       limit ${count}::int
    ), walk as materialized (
      select count(*) = ${count}::int as is_enough from recent
    )
    select session, last_activity_at from recent where (select is_enough from walk)
     union all
    select found.session, found.last_activity_at
      from (
        (select s.session, s.last_activity_at
           from ledgerline.session s
          where s.owner >= ${owner}::text and s.owner <= ${owner}::text and ${isBehind('s')}
          order by s.owner, s.last_activity_at desc, s.session desc
          limit ${count}::int)
        union
        select c.session, c.last_activity_at
          from (select s.session, s.last_activity_at, s.deleted_at
                  from ledgerline.session s
                 where s.session = any (${sessions})
                 union all
                select s.session, s.last_activity_at, s.deleted_at
                  from unnest(${prefixes}) p (prefix)
                 cross join lateral (
                         select * from ledgerline.session s
                          where s.session >= p.prefix and s.session < p.prefix || '{' offset 0) s
                offset 0) c
         where ${isBehind('c')}
      ) found
     where not (select is_enough from walk)`;
}

const toListedSession = (row: Row): ListedSession => ({
  ...toHead(row),
  session: row.session,
  metadata: row.metadata,
  turn: toTurnNow(row),
  activity: row.activity,
  notable: toCursor(row.notable_sequence),
  read: toCursor(row.read),
});
