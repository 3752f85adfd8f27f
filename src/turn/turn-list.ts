/** What is under way or needs a person, for whoever looks; nothing is decided by it. */
import { limits } from '../base/limits.ts';
import type { Statements } from '../db/postgres.ts';
import type { StopMode, TurnState } from '../event/turn-state.ts';
import type { SessionFilter } from '../ledger/session-filter.ts';
import type { Doubt, TurnError, TurnFigures, TurnStatus, TurnSummary } from './turns.ts';

interface Row {
  readonly session: string;
  readonly turn: string | null;
  readonly attempt: number | null;
  readonly status: TurnStatus | 'queued';
  readonly state: TurnState;
  readonly worker: string | null;
  readonly stop: StopMode | null;
  readonly tries: number | null;
  readonly maxAttempts: number | null;
  readonly since: string;
  readonly error: TurnError | null;
  readonly doubts: readonly Doubt[] | null;
}

/** Only within the sessions that the caller may see. */
const within = (sql: Statements, filter: SessionFilter) =>
  filter.kind === 'all'
    ? sql`true`
    : sql`(h.session = any (string_to_array(${filter.sessions.join(',')}::text, ','))
           or exists (select from unnest(string_to_array(${filter.prefixes.join(',')}::text, ',')) p (prefix)
                       where starts_with(h.session, p.prefix))
           or s.owner = ${filter.owner ?? null}::text)`;

const columns = (sql: Statements) => sql`
  h.session, t.turn_id as turn, t.fence as attempt, coalesce(t.status, 'queued') as status, h.turn_state as state,
  case when h.turn_id = t.turn_id then h.worker_id end as worker, t.attempts as tries, t.max_attempts as "maxAttempts", t.error`;

/** As many as one answer's calls can leave, by a partial index on what is in doubt: however long its journal is. */
const doubts = (sql: Statements) => sql`
  case when t.status = 'in_doubt' then
    (select json_agg(d.doubt order by d.step_index)
       from (select s.step_index, json_build_object('step', s.step_index, 'tool', s.tool, 'effect', s.effect) as doubt
               from ledgerline.step s
              where s.session = t.session and s.turn_id = t.turn_id and s.state = 'in_doubt'
              order by s.step_index limit ${limits.callsPerAnswer}::int) d)
  end as doubts`;

/** Failed and not acknowledged, in doubt, or waiting for a decision; the longest first. By a partial index on just those. */
export async function listAttention(sql: Statements, limit: number, filter: SessionFilter): Promise<TurnSummary[]> {
  const rows = await sql<Row[]>`
    select ${columns(sql)}, ledgerline.utc_text(coalesce(t.ended_at, t.created_at)) as since, ${doubts(sql)}
      from ledgerline.turn t
      join ledgerline.session_head h on h.session = t.session and h.state <> 'deleted'
      join ledgerline.session s on s.session = t.session
     where t.status in ('waiting', 'failed', 'in_doubt') and t.acknowledged_at is null and ${within(sql, filter)}
     order by t.created_at, t.session
     limit ${limit}::int`;
  return rows.map(toSummary);
}

/** Queued, running and waiting. By partial indexes again: idle sessions are not looked at. */
export async function listActive(sql: Statements, limit: number, filter: SessionFilter): Promise<TurnSummary[]> {
  const rows = await sql<Row[]>`
    with active as (
      select h.session, h.ready_at as since from ledgerline.session_head h where h.turn_state = 'ready'
      union all
      select h.session, null from ledgerline.session_head h where h.turn_state = 'running'
      union all
      select t.session, null from ledgerline.turn t where t.status = 'waiting' and t.acknowledged_at is null
    )
    select ${columns(sql)}, ledgerline.utc_text(coalesce(a.since, t.created_at, s.last_activity_at)) as since, null as doubts
      from active a
      join ledgerline.session_head h on h.session = a.session
      join ledgerline.session s on s.session = h.session
      left join ledgerline.turn t on t.session = h.session and t.turn_id = h.turn_id
     where ${within(sql, filter)}
     order by coalesce(a.since, t.created_at, s.last_activity_at), h.session
     limit ${limit}::int`;
  return rows.map(toSummary);
}

const toSummary = (row: Row): TurnSummary => ({
  session: row.session,
  turn: row.turn ?? undefined,
  attempt: row.attempt ?? undefined,
  status: row.status,
  state: row.state,
  worker: row.worker ?? undefined,
  tries: row.tries ?? 0,
  maxAttempts: row.maxAttempts ?? undefined,
  since: row.since,
  error: row.error ?? undefined,
  doubts: row.doubts ?? [],
});

/** For the gauges: what an operator watches. */
export async function readFigures(sql: Statements): Promise<TurnFigures> {
  const [row] = await sql<TurnFigures[]>`
    select count(*) filter (where h.turn_state = 'ready') as ready,
           coalesce(extract(epoch from clock_timestamp() - min(h.ready_at))::float8, 0) as "oldestReadySeconds",
           count(*) filter (where h.turn_state = 'running') as running,
           (select count(*) from ledgerline.turn t where t.status = 'waiting' and t.acknowledged_at is null) as waiting,
           (select count(*) from ledgerline.turn t where t.status = 'in_doubt' and t.acknowledged_at is null) as "inDoubt",
           (select count(*) from ledgerline.turn t where t.status = 'failed' and t.acknowledged_at is null) as failed
      from (select * from ledgerline.session_head where turn_state = 'ready'
            union all
            select * from ledgerline.session_head where turn_state = 'running') h`;
  return row ?? { ready: 0, oldestReadySeconds: 0, running: 0, waiting: 0, inDoubt: 0, failed: 0 };
}
