/** The calls of `sql/0010_turn.sql`: an attempt begins, and a turn is completed, in one round trip each. */
import { limits } from '../base/limits.ts';
import type { Statements } from '../db/postgres.ts';
import { plus, toSequence } from '../event/sequence.ts';
import {
  NULL,
  PAYLOAD_SEPARATOR,
  SEPARATOR,
  assertEvents,
  joinPayloads,
  joinTypes,
  joinValues,
} from './append-text.ts';
import type { AppendRequest } from './ledger.ts';
import { asStored } from './turn-head.ts';
import type { Moved, TurnEvent } from './turn-head.ts';
import type { ClaimedHead } from './turn-lease.ts';

/** Of a turn that begins with its first attempt. */
export interface NewTurn {
  readonly policy: string;
  readonly maxAttempts: number;
  readonly turnMs: number;
}

/** An attempt at a turn as it begins. */
export interface BegunAttempt {
  readonly moved: Moved;
  /** Tries without progress, this one among them. */
  readonly attempts: number;
  readonly maxAttempts: number;
  /** `2026-11-30T04:00:00.000Z`, and how far off that is; below 0 if it has passed. */
  readonly deadline: string;
  readonly remainingMs: number;
  /** The inputs as a JSON array of `{sequence, at, data, traceparent}`; `data` is a JSON text, `traceparent` may be null. */
  readonly messages: string;
}

/**
 * Behind the claim's statement, whose lock is older than this one's snapshot. `started` is the event up to which try it is and its
 * inputs. Undefined: the session had nothing to do, and is idle.
 */
export async function beginAttempt(
  tx: Statements,
  { session, turn, fence, isNew }: ClaimedHead,
  { policy, maxAttempts, turnMs }: NewTurn,
  started: TurnEvent,
): Promise<BegunAttempt | undefined> {
  assertEvents([started]);
  const [row] = await tx<(Omit<BegunAttempt, 'moved'> & { number: number | null; at: string; told: string })[]>`
    select a.number, a.at, a.told, a.attempts, a.max_attempts as "maxAttempts", a.deadline, a.remaining_ms as "remainingMs", a.messages
      from ledgerline.begin_attempt(
        ${session}::text, ${turn}::text, ${fence}::bigint, ${isNew}::boolean, ${policy}::text, ${maxAttempts}::int,
        ${turnMs}::int * interval '1 millisecond', ${started.data}::text,
        ${limits.turnInputs}::int, ${limits.turnInputBytes}::int) a`;
  if (row === undefined || row.number === null) return undefined;
  const sequence = toSequence(row.number);
  const events = [asStored(started, row.told)];
  return { ...row, moved: { session, first: sequence, last: sequence, at: row.at, events } };
}

/**
 * Ends a turn as done if nothing about that needs judging. `events` are what the attempt says last, and `turn.completed` up to its inputs.
 * Undefined: nothing was done, because somebody holds the head, the attempt does not own it [I11], or a call was left open.
 */
export async function completeTurn(
  sql: Statements,
  session: string,
  { turn, attempt }: NonNullable<AppendRequest['fence']>,
  events: readonly TurnEvent[],
): Promise<{ readonly moved: Moved; readonly isPending: boolean } | undefined> {
  assertEvents(events);
  const traces = joinValues(events.map((event) => event.traceparent));
  const [row] = await sql<{ first: number | null; at: string; told: string; isPending: boolean }[]>`
    select c.first, c.at, c.told, c.is_pending as "isPending"
      from ledgerline.complete_turn(
        ${session}::text, ${turn}::text, ${attempt}::bigint,
        string_to_array(${joinTypes(events)}::text, ${SEPARATOR}::text),
        string_to_array(${joinPayloads(events)}::text, ${PAYLOAD_SEPARATOR}::text),
        string_to_array(${traces}::text, ${SEPARATOR}::text, ${NULL}::text)) c`;
  if (row === undefined || row.first === null) return undefined;
  const first = toSequence(row.first);
  const stored = events.map((event, index) => (index === events.length - 1 ? asStored(event, row.told) : event));
  return {
    moved: { session, first, last: plus(first, events.length - 1), at: row.at, events: stored },
    isPending: row.isPending,
  };
}
