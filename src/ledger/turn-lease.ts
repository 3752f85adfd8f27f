/** Leases on heads, which claims take: when the next can, extended by renewals, and found when they are over. */
import { limits } from '../base/limits.ts';
import type { Statements } from '../db/postgres.ts';
import type { StopMode } from '../event/turn-state.ts';
import { SEPARATOR, joinValues } from './append-text.ts';
import type { AppendRequest } from './ledger.ts';

/** In how many milliseconds the next session is due; undefined when none is ready. */
export async function nextDueMs(sql: Statements): Promise<number | undefined> {
  const [row] = await sql<{ ms: number | null }[]>`
    select extract(epoch from min(h.due_at) - clock_timestamp())::float8 * 1000 as ms
      from ledgerline.session_head h where h.turn_state = 'ready'`;
  return row?.ms === null || row === undefined ? undefined : Math.max(0, Math.ceil(row.ms));
}

type Owner = { readonly session: string } & NonNullable<AppendRequest['fence']>;

interface OwnerRow extends Owner {
  readonly stop_mode: StopMode | null;
}

export type ToldOwner = Owner & { readonly stop: StopMode | undefined };

const toldOwner = ({ stop_mode: stop, ...owner }: OwnerRow): ToldOwner => ({ ...owner, stop: stop ?? undefined });

/** The heads that these own. */
function ownedHeads(sql: Statements, owners: readonly Owner[]) {
  const list = (values: readonly (string | number)[]) =>
    sql`string_to_array(${joinValues(values)}::text, ${SEPARATOR}::text)`;
  return sql`
    ledgerline.session_head h
      join unnest(${list(owners.map((owner) => owner.session))},
                  ${list(owners.map((owner) => owner.turn))},
                  ${list(owners.map((owner) => owner.attempt))}::bigint[]) o (session, turn, attempt)
        on h.session = o.session and h.turn_id = o.turn and h.fence = o.attempt and h.turn_state = 'running'`;
}

/**
 * One statement for all turns of a process. It waits for no head: one that somebody holds would keep the leases of all the
 * others from going on. Time plays no part: a lease that is over and that nobody has taken goes on.
 */
export async function renewHeads(sql: Statements, owners: readonly Owner[], leaseMs: number): Promise<ToldOwner[]> {
  const rows = await sql<OwnerRow[]>`
    with owned as materialized (
      select h.session from ${ownedHeads(sql, owners)} for no key update of h skip locked
    )
    update ledgerline.session_head h
       set lease_until = clock_timestamp() + ${leaseMs}::int * interval '1 millisecond'
      from owned
     where h.session = owned.session
    returning h.session, h.turn_id as turn, h.fence as attempt, h.stop_mode`;
  return rows.map(toldOwner);
}

/** Who still owns his turn, with or without a lease; for those whose heads could not be locked. */
export async function readOwners(sql: Statements, owners: readonly Owner[]): Promise<ToldOwner[]> {
  const rows = await sql<OwnerRow[]>`
    select h.session, h.turn_id as turn, h.fence as attempt, h.stop_mode from ${ownedHeads(sql, owners)}`;
  return rows.map(toldOwner);
}

/**
 * Sessions that may have lost their worker, must be stopped without it, or have a turn whose time is over, whether somebody
 * runs it or it is to be tried again: those behind `after` in the order of their ids. Who decides locks each first.
 */
export async function findLostHeads(sql: Statements, after: string): Promise<string[]> {
  const rows = await sql<{ session: string }[]>`
    select h.session
      from (select * from ledgerline.session_head where turn_state = 'running'
            union all
            select * from ledgerline.session_head where turn_state = 'ready' and turn_id is not null) h
      left join ledgerline.turn t on t.session = h.session and t.turn_id = h.turn_id
     where h.session > ${after}::text
       and (h.lease_until < statement_timestamp()
            or h.stop_at < statement_timestamp() - ${limits.forcedStopMs}::int * interval '1 millisecond'
            or t.deadline < statement_timestamp())
     order by h.session
     limit ${limits.recoverTurns}::int`;
  return rows.map((row) => row.session);
}
