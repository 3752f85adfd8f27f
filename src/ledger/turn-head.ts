/** The head as the work half sees it: locked first, then moved, together with the events that say so, in one statement. */
import { assert } from '../base/assert.ts';
import { limits } from '../base/limits.ts';
import type { Statements } from '../db/postgres.ts';
import type { NewEvent } from '../event/event.ts';
import { plus, toCursor, toSequence } from '../event/sequence.ts';
import type { Cursor, Sequence } from '../event/sequence.ts';
import { turnTransitions } from '../event/turn-state.ts';
import type { StopMode, TurnState } from '../event/turn-state.ts';
import {
  NULL,
  PAYLOAD_SEPARATOR,
  SEPARATOR,
  assertEvents,
  joinPayloads,
  joinTypes,
  joinValues,
} from './append-text.ts';
import type { AppendRequest, SessionState } from './ledger.ts';

/** What was true under the lock. Time is asked of the database, whose clock leases are counted by. */
export interface TurnHead {
  readonly session: string;
  readonly head: Cursor;
  readonly state: SessionState;
  readonly turnState: TurnState;
  readonly turn: string | undefined;
  readonly fence: number;
  readonly stop: StopMode | undefined;
  readonly isLeaseOver: boolean;
  /** A stop was asked so long ago that it is to be done without the worker. */
  readonly isStopOverdue: boolean;
}

/** An event of a transition; with `fence`, one that an attempt says. */
export type TurnEvent = NewEvent & { readonly fence?: AppendRequest['fence'] };

/** Where a head goes. Whatever belongs to the state that it leaves (worker, lease, stop) goes with it. */
export type Move =
  | { readonly to: 'stays' }
  | { readonly to: 'idle' }
  /** Without a turn, the next claim begins one. */
  | { readonly to: 'ready'; readonly turn: string | undefined; readonly inMs: number }
  /** Ready already, and another message came: the debounce begins anew, up to its cap. */
  | { readonly to: 'debounced'; readonly byMs: number; readonly capMs: number }
  | { readonly to: 'waiting' }
  | { readonly to: 'stopping'; readonly mode: StopMode };

/** What a move stored. */
export interface Moved {
  readonly session: string;
  readonly first: Sequence;
  readonly last: Sequence;
  readonly at: string;
  readonly events: readonly TurnEvent[];
}

interface Row {
  readonly session: string;
  readonly last_sequence: number;
  readonly state: SessionState;
  readonly turn_state: TurnState;
  readonly turn_id: string | null;
  readonly fence: number;
  readonly stop_mode: StopMode | null;
  readonly is_lease_over: boolean;
  readonly is_stop_overdue: boolean;
}

/**
 * Waits for the head, up to the connection's lock timeout; with `isPatient` false a head that somebody holds is as good
 * as none. FOR NO KEY UPDATE: the keys of other tables that point here stay free. Nothing that the lock guards may be
 * looked at in this statement, since its snapshot can be older than the lock.
 */
export async function lockTurnHead(tx: Statements, session: string, isPatient = true): Promise<TurnHead | undefined> {
  const [row] = await tx<Row[]>`
    select h.session, h.last_sequence, h.state, h.turn_state, h.turn_id, h.fence, h.stop_mode,
           coalesce(h.lease_until < clock_timestamp(), false) as is_lease_over,
           coalesce(h.stop_at < clock_timestamp() - ${limits.forcedStopMs}::int * interval '1 millisecond', false) as is_stop_overdue
      from ledgerline.session_head h
     where h.session = ${session}::text
       for no key update ${isPatient ? tx`` : tx`skip locked`}`;
  return row && toTurnHead(row);
}

/** The same facts without the lock: for whoever only shows them. */
export async function readTurnHead(tx: Statements, session: string): Promise<TurnHead | undefined> {
  const [row] = await tx<Row[]>`
    select h.session, h.last_sequence, h.state, h.turn_state, h.turn_id, h.fence, h.stop_mode,
           false as is_lease_over, false as is_stop_overdue
      from ledgerline.session_head h
     where h.session = ${session}::text`;
  return row && toTurnHead(row);
}

const toTurnHead = (row: Row): TurnHead => ({
  session: row.session,
  head: toCursor(row.last_sequence),
  state: row.state,
  turnState: row.turn_state,
  turn: row.turn_id ?? undefined,
  fence: row.fence,
  stop: row.stop_mode ?? undefined,
  isLeaseOver: row.is_lease_over,
  isStopOverdue: row.is_stop_overdue,
});

/**
 * For a head that this transaction has locked. `isFenced` makes whatever the last attempt still writes a stale write.
 * Numbers and rows come and go together, as with an append [I1].
 */
export async function moveTurnHead(
  tx: Statements,
  head: TurnHead,
  move: Move,
  events: readonly TurnEvent[],
  isFenced = false,
): Promise<Moved | undefined> {
  assertEvents(events);
  assert(turnTransitions[head.turnState][move.to] !== undefined, `no way leads from ${head.turnState} by ${move.to}`);
  const [row] = await tx<{ before: number; at: string }[]>`
    with head as (
      update ledgerline.session_head
         set last_sequence = last_sequence + ${events.length}::int,
             fence = fence + ${isFenced ? 1 : 0}::int
             ${assignments(tx, move)}
       where session = ${head.session}::text
      returning session, last_sequence - ${events.length}::int as before, date_trunc('milliseconds', clock_timestamp()) as at
    ), ${storing(tx, events)}
    select h.before, ledgerline.utc_text(h.at) as at from head h`;
  assert(row !== undefined, 'a head that is locked is there');
  if (events.length === 0) return undefined;
  const first = plus(toSequence(row.before + events.length), 1 - events.length);
  return { session: head.session, first, last: plus(first, events.length - 1), at: row.at, events };
}

/**
 * The rest of a statement whose `head (session, before, at)` was moved: the events, numbered from there. `isTelling`: the end of their
 * data is `head.told`, in the place of their last brace.
 */
export function storing(tx: Statements, events: readonly TurnEvent[], isTelling = false) {
  const payload = isTelling ? tx`(left(e.payload, -1) || h.told)` : tx`e.payload`;
  const values = (list: readonly (string | number | undefined)[]) =>
    tx`string_to_array(${joinValues(list)}::text, ${SEPARATOR}::text, ${NULL}::text)`;
  return tx`stored as (
      insert into ledgerline.event (session, sequence, type, payload, bytes, created_at, turn_id, attempt, traceparent)
      select h.session, h.before + e.i, e.type, ${payload}::json, octet_length(${payload}), h.at, e.turn, e.attempt::bigint,
             e.traceparent
        from head h,
             unnest(string_to_array(${joinTypes(events)}::text, ${SEPARATOR}::text),
                    string_to_array(${joinPayloads(events)}::text, ${PAYLOAD_SEPARATOR}::text),
                    ${values(events.map((event) => event.fence?.turn))},
                    ${values(events.map((event) => event.fence?.attempt))},
                    ${values(events.map((event) => event.traceparent))})
               with ordinality e (type, payload, turn, attempt, traceparent, i)
       where ${events.length}::int > 0
    )`;
}

/**
 * An event whose data ends with what only the head's lock gives, `told`, in the place of its last brace. Live and replayed frames are
 * equal [I2], so that is the very text that was stored.
 */
export function asStored(event: TurnEvent, told: string): TurnEvent {
  const data = `${event.data.slice(0, -1)}${told}`;
  return { ...event, data, bytes: Buffer.byteLength(data) };
}

function assignments(tx: Statements, move: Move) {
  const free = tx`lease_until = null, worker_id = null, stop_mode = null, stop_at = null`;
  const inMs = (ms: number) => tx`clock_timestamp() + ${Math.round(ms)}::int * interval '1 millisecond'`;
  switch (move.to) {
    case 'stays':
      return tx``;
    case 'idle':
      return tx`, turn_state = 'idle', turn_id = null, ready_at = null, due_at = null, ${free}`;
    case 'waiting':
      return tx`, turn_state = 'waiting', ready_at = null, due_at = null, ${free}`;
    case 'ready':
      return tx`, turn_state = 'ready', turn_id = ${move.turn ?? null}::text,
                  ready_at = clock_timestamp(), due_at = ${inMs(move.inMs)}, ${free}`;
    case 'debounced':
      return tx`, due_at = greatest(due_at, least(${inMs(move.byMs)}, ready_at + ${move.capMs}::int * interval '1 millisecond'))`;
    case 'stopping':
      return tx`, stop_mode = ${move.mode}::text, stop_at = coalesce(stop_at, clock_timestamp())`;
  }
}
