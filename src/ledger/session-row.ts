/** A session's own life: created, described, closed, and left as a tombstone. */
import { assert } from '../base/assert.ts';
import { transaction } from '../db/postgres.ts';
import type { Sql, Statements } from '../db/postgres.ts';
import type { Sequence } from '../event/sequence.ts';
import { busyWhenLocked } from './busy.ts';
import { toHead } from './head.ts';
import type { HeadRow } from './head.ts';
import type { Head, SessionRow } from './ledger.ts';
import { lockTurnHead, moveTurnHead } from './turn-head.ts';
import type { TurnEvent, TurnHead } from './turn-head.ts';
import { toTurnNow } from './turn-now.ts';
import type { TurnColumns } from './turn-now.ts';

interface Row extends HeadRow, TurnColumns {
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
    turn: toTurnNow(row),
  };
}

export async function describeSession(sql: Sql, session: string): Promise<SessionRow | undefined> {
  const [row] = await sql<Row[]>`
    select h.session, h.last_sequence, h.floor, h.state, h.turn_state, h.turn_id, h.fence, h.stop_mode, s.metadata, s.owner, ledgerline.utc_text(s.created_at) as created_at
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
      returning session, last_sequence, floor, state, turn_state, turn_id, fence, stop_mode
    )
    select h.*, c.metadata, c.owner, ledgerline.utc_text(c.created_at) as created_at
      from created c join head h on h.session = c.session`;
  if (row !== undefined) return { created: true, row: toSessionRow(row) };
  const existing = await describeSession(sql, session);
  assert(existing !== undefined, 'a session that is in the way of a create exists, for rows of sessions stay');
  return { created: false, row: existing };
}

/**
 * What else ends with a session, told by the floor that knows of it: its agent's work. In the same transaction, behind the
 * head's lock; what it returns is stored before the session takes no more.
 */
export type EndWork = (tx: Statements, head: TurnHead) => Promise<readonly TurnEvent[]>;

export interface Ending {
  readonly endWork: EndWork;
  /** For the head; then it is `session_busy`. */
  readonly lockWaitMs: number;
}

/** Waits for the head's lock, so that an append either committed before the close or finds the session closed. */
export function closeSession(sql: Sql, session: string, how: Ending): Promise<Head | undefined> {
  return ending(sql, session, how.lockWaitMs, async (tx, head) => {
    if (head.state !== 'open') return;
    const ended = await moveTurnHead(tx, head, { to: 'idle' }, await how.endWork(tx, head), head.turnState !== 'idle');
    if (ended !== undefined) await noteActivity(tx, session, ended.last);
    await tx`update ledgerline.session_head set state = 'closed' where session = ${session}::text`;
  });
}

/**
 * The tombstone, in one short transaction: from its commit on nobody reads an event of the session (the floor is its head),
 * nobody appends, and a worker's attempt no longer owns its turn. Erasing comes after (`erasure`).
 */
export function entombSession(sql: Sql, session: string, how: Ending): Promise<Head | undefined> {
  return ending(sql, session, how.lockWaitMs, async (tx, head) => {
    if (head.state === 'deleted') return;
    if (head.state === 'open') {
      await how.endWork(tx, head); // its events would be erased at once
      await moveTurnHead(tx, head, { to: 'idle' }, [], true);
    }
    await tx`
      with head as (
        update ledgerline.session_head set state = 'deleted', floor = last_sequence where session = ${session}::text
        returning session
      )
      update ledgerline.session set deleted_at = clock_timestamp(), metadata = null
       where session in (select session from head)`;
  });
}

/** Undefined when there is no such session. */
function ending(
  sql: Sql,
  session: string,
  lockWaitMs: number,
  end: (tx: Statements, head: TurnHead) => Promise<void>,
): Promise<Head | undefined> {
  return busyWhenLocked(
    transaction(sql, async (tx) => {
      // In the transaction, since a pooler keeps no settings of a connection.
      await tx`select set_config('lock_timeout', ${`${lockWaitMs}ms`}::text, true)`;
      const head = await lockTurnHead(tx, session);
      if (head !== undefined) await end(tx, head);
      return headOf(tx, session);
    }),
  );
}

async function headOf(sql: Statements, session: string): Promise<Head | undefined> {
  const [row] = await sql<HeadRow[]>`
    select session, last_sequence, floor, state from ledgerline.session_head where session = ${session}::text`;
  return row && toHead(row);
}

/** Moves a session up in the list; `notable` is what a person should see, and so what makes it unread. */
export async function noteActivity(tx: Statements, session: string, notable?: Sequence): Promise<void> {
  await tx`
    update ledgerline.session
       set last_activity_at = clock_timestamp(),
           notable_sequence = greatest(notable_sequence, ${notable ?? 0}::bigint)
     where session = ${session}::text`;
}
