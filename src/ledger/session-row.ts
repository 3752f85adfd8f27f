/** A session's own life: created, described, closed, and left as a tombstone. */
import { LedgerlineError } from '../base/errors.ts';
import { assert } from '../base/assert.ts';
import { sqlState } from '../db/postgres.ts';
import type { Sql } from '../db/postgres.ts';
import { toHead } from './head.ts';
import type { HeadRow } from './head.ts';
import type { Head, SessionRow } from './ledger.ts';

interface Row extends HeadRow {
  readonly metadata: unknown;
  readonly owner: string | null;
  readonly created_at: string;
}

function toSessionRow(row: Row): SessionRow {
  return {
    ...toHead(row),
    session: row.session,
    metadata: row.metadata,
    owner: row.owner ?? undefined,
    createdAt: row.created_at,
  };
}

export async function describeSession(sql: Sql, session: string): Promise<SessionRow | undefined> {
  const [row] = await sql<Row[]>`
    select h.session, h.last_sequence, h.floor, h.state, s.metadata, s.owner, ledgerline.utc_text(s.created_at) as created_at
      from ledgerline.session s join ledgerline.session_head h on h.session = s.session
     where s.session = ${session}::text`;
  return row && toSessionRow(row);
}

/** A create that races another waits for it and finds its session; both rows appear together. */
export async function createSession(
  sql: Sql,
  session: string,
  options: { metadata?: unknown; owner?: string },
): Promise<{ created: boolean; row: SessionRow }> {
  const metadata = options.metadata === undefined ? null : JSON.stringify(options.metadata);
  // ::text::json, because a parameter of type json would be encoded once more by the driver
  const [row] = await sql<Row[]>`
    with created as (
      insert into ledgerline.session (session, owner, metadata)
      values (${session}::text, ${options.owner ?? null}::text, ${metadata}::text::json)
      on conflict (session) do nothing
      returning session, owner, metadata, created_at
    ), head as (
      insert into ledgerline.session_head (session) select session from created
      returning session, last_sequence, floor, state
    )
    select h.*, c.metadata, c.owner, ledgerline.utc_text(c.created_at) as created_at
      from created c join head h on h.session = c.session`;
  if (row !== undefined) return { created: true, row: toSessionRow(row) };
  const existing = await describeSession(sql, session);
  assert(existing !== undefined, 'a session that is in the way of a create exists, for rows of sessions stay');
  return { created: false, row: existing };
}

/** Waits for the head's lock, so that an append either committed before the close or finds the session closed. */
export async function closeSession(sql: Sql, session: string): Promise<Head | undefined> {
  const [closed] = await busyWhenLocked(sql<HeadRow[]>`
    update ledgerline.session_head set state = 'closed'
     where session = ${session}::text and state = 'open'
    returning session, last_sequence, floor, state`);
  return closed ? toHead(closed) : await headOf(sql, session);
}

/**
 * The tombstone, in one short statement: from its commit on nobody reads an event of the session (the floor is its head),
 * nobody appends, and a worker's attempt no longer owns its turn. Erasing comes after (`erasure`).
 */
export async function entombSession(sql: Sql, session: string): Promise<Head | undefined> {
  const [deleted] = await busyWhenLocked(sql<HeadRow[]>`
    with head as (
      update ledgerline.session_head
         set state = 'deleted', floor = last_sequence,
             fence = fence + 1, turn_state = 'idle', turn_id = null, lease_until = null
       where session = ${session}::text and state <> 'deleted'
      returning session, last_sequence, floor, state
    ), tombstone as (
      update ledgerline.session set deleted_at = clock_timestamp(), metadata = null
       where session in (select session from head)
    )
    select * from head`);
  return deleted ? toHead(deleted) : await headOf(sql, session);
}

async function headOf(sql: Sql, session: string): Promise<Head | undefined> {
  const [row] = await sql<HeadRow[]>`
    select session, last_sequence, floor, state from ledgerline.session_head where session = ${session}::text`;
  return row && toHead(row);
}

/** A head that somebody holds for longer than the connection's lock timeout is busy, not broken. */
async function busyWhenLocked<T>(query: PromiseLike<T>): Promise<T> {
  try {
    return await query;
  } catch (error) {
    if (sqlState(error) !== '55P03') throw error;
    throw new LedgerlineError('session_busy', 'the session is locked by somebody else; nothing was changed', {}, error);
  }
}
