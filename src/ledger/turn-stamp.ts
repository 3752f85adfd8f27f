/** The calls of `sql/0011_turn_group.sql`: attempts begin, and turns are completed, many in one round trip. */
import { limits } from '../base/limits.ts';
import type { Statements } from '../db/postgres.ts';
import { plus, toSequence } from '../event/sequence.ts';
import type { Traceparent } from '../event/trace.ts';
import { NULL, assertSeparable, joinPayloads, joinTraces, joinTypes, joinValues } from './append-text.ts';
import type { AppendRequest } from './ledger.ts';
import { asStored } from './turn-head.ts';
import type { Moved, TurnEvent } from './turn-head.ts';

/** What somebody asks for: at most `limit` turns; the rest is of those that begin with the claim. */
export interface TurnClaim {
  readonly worker: string;
  readonly limit: number;
  readonly policy: string;
  readonly maxAttempts: number;
  readonly turnMs: number;
}

/** A session that was due, and what became of it. */
export interface ClaimedHead {
  /** For which of the claims, from 0. */
  readonly claim: number;
  readonly session: string;
  readonly turn: string;
  readonly fence: number;
  /** The claim begins the turn. */
  readonly isNew: boolean;
  /** How long it was ready. */
  readonly readyMs: number;
  /** Undefined: it had nothing to do, and is idle; or it failed. */
  readonly begun: BegunAttempt | undefined;
  /** What kept it from beginning, if it was to begin apart from the others; it is put off. */
  readonly failure: string | undefined;
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
  /** The inputs, in order. */
  readonly messages: readonly StoredMessage[];
}

/** `data` is a JSON text. */
export interface StoredMessage {
  readonly sequence: number;
  readonly at: string;
  readonly data: string;
  readonly traceparent: Traceparent | null;
}

interface HeadRow extends Omit<ClaimedHead, 'begun' | 'failure'> {
  readonly begun: string | null;
  readonly failure: string | null;
}

type Begun = Omit<BegunAttempt, 'moved'> & { readonly number: number; readonly at: string; readonly data: string };

/**
 * Takes sessions that are due, the longest due first and for the first who asks, and begins an attempt on each. `isApart`: one that cannot
 * begin is put off, and keeps none of the others; without it an error of one is thrown.
 */
export async function claimTurns(
  tx: Statements,
  claims: readonly TurnClaim[],
  how: { readonly leaseMs: number; readonly isApart: boolean },
): Promise<ClaimedHead[]> {
  const places = claims.flatMap(({ limit }, index) => Array.from({ length: limit }, () => index + 1));
  // A name is any text, so it is in no list of commas.
  const workers = JSON.stringify(claims.map(({ worker }) => worker));
  const rows = await tx<HeadRow[]>`
    select c.claim - 1 as claim, c.session, c.turn, c.attempt as fence, c.is_new as "isNew", c.ready_ms as "readyMs", c.begun, c.failure
      from ledgerline.claim_turns(
        string_to_array(${joinValues(places)}::text, ',')::int[],
        array(select json_array_elements_text(${workers}::text::json)),
        string_to_array(${joinValues(claims.map(({ policy }) => policy))}::text, ','),
        string_to_array(${joinValues(claims.map(({ maxAttempts }) => maxAttempts))}::text, ',')::int[],
        string_to_array(${joinValues(claims.map(({ turnMs }) => turnMs))}::text, ',')::bigint[],
        ${how.leaseMs}::int * interval '1 millisecond', ${limits.turnInputs}::int, ${limits.turnInputBytes}::int,
        ${how.isApart ? limits.claimPutOffMs : null}::int * interval '1 millisecond') c`;
  return rows.map((row) => ({
    ...row,
    begun: row.begun === null ? undefined : toBegun(row, JSON.parse(row.begun) as Begun),
    failure: row.failure ?? undefined,
  }));
}

function toBegun({ session, turn, fence }: HeadRow, { number, at, data, ...begun }: Begun): BegunAttempt {
  const sequence = toSequence(number);
  const started = { type: 'turn.started', data, bytes: Buffer.byteLength(data), fence: { turn, attempt: fence } };
  return { ...begun, moved: { session, first: sequence, last: sequence, at, events: [started] } };
}

/** An attempt that is to complete its turn. `events` are what it says last, and `turn.completed` up to its inputs. */
export interface TurnCompletion extends NonNullable<AppendRequest['fence']> {
  readonly session: string;
  readonly events: readonly TurnEvent[];
}

export interface Completed {
  readonly moved: Moved;
  readonly isPending: boolean;
}

/**
 * Ends turns as done where nothing about that needs judging; of sessions that differ. Undefined: nothing was done for this one, because
 * somebody holds the head, the attempt does not own it [I11], or a call was left open.
 */
export async function completeTurns(
  sql: Statements,
  completions: readonly TurnCompletion[],
): Promise<(Completed | undefined)[]> {
  for (const { session, turn, attempt, events } of completions) {
    assertSeparable({ session, fence: { turn, attempt }, events });
  }
  // Lists inside lists: those inside as in an append, and around them what its grammar excludes likewise.
  const types = completions.map(({ events }) => joinTypes(events)).join(';');
  const payloads = completions.map(({ events }) => joinPayloads(events)).join('\r');
  const traces = completions.map(({ events }) => joinTraces(events) ?? NULL).join(';');
  const rows = await sql<{ place: number; first: number; at: string; told: string; isPending: boolean }[]>`
    select c.place, c.first, c.at, c.told, c.is_pending as "isPending"
      from ledgerline.complete_turns(
        string_to_array(${joinValues(completions.map(({ session }) => session))}::text, ','),
        string_to_array(${joinValues(completions.map(({ turn }) => turn))}::text, ','),
        string_to_array(${joinValues(completions.map(({ attempt }) => attempt))}::text, ',')::bigint[],
        string_to_array(${types}::text, ';'), string_to_array(${payloads}::text, E'\\r'), string_to_array(${traces}::text, ';', '*')) c`;
  const completed: (Completed | undefined)[] = completions.map(() => undefined);
  for (const { place, first: number, at, told, isPending } of rows) {
    const completion = completions[place - 1];
    if (completion === undefined) continue;
    const { session, events } = completion;
    const first = toSequence(number);
    const stored = events.map((event, index) => (index === events.length - 1 ? asStored(event, told) : event));
    completed[place - 1] = {
      moved: { session, first, last: plus(first, events.length - 1), at, events: stored },
      isPending,
    };
  }
  return completed;
}
