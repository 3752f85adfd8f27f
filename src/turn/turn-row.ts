/** The rows of turns: begun by a claim, counted by every further one, ended once. */
import type { Statements } from '../db/postgres.ts';
import type { Sequence } from '../event/sequence.ts';
import type { Policy, TurnError, TurnStatus } from './turns.ts';

export interface TurnRow {
  readonly turn: string;
  readonly status: TurnStatus;
  readonly policy: Policy;
  readonly fence: number;
  readonly attempts: number;
  readonly totalAttempts: number;
  readonly maxAttempts: number;
  readonly deadline: string;
  readonly remainingMs: number;
  readonly isOverdue: boolean;
  readonly settledSequence: Sequence | null;
  readonly error: TurnError | null;
}

const columns = (tx: Statements) => tx`
  t.turn_id as turn, t.status, t.policy, t.fence, t.attempts, t.total_attempts as "totalAttempts",
  t.max_attempts as "maxAttempts", ledgerline.utc_text(t.deadline) as deadline,
  ceil(extract(epoch from t.deadline - clock_timestamp()) * 1000)::float8 as "remainingMs",
  t.deadline < clock_timestamp() as "isOverdue", t.settled_sequence as "settledSequence", t.error`;

/** Read it after the head's lock, which guards it. */
export async function readTurn(tx: Statements, session: string, turn: string): Promise<TurnRow | undefined> {
  const [row] = await tx<TurnRow[]>`
    select ${columns(tx)} from ledgerline.turn t where t.session = ${session}::text and t.turn_id = ${turn}::text`;
  return row;
}

/** The same for a turn that is over, locked: when it is old, retention takes it without asking for the head. */
export async function lockTurn(tx: Statements, session: string, turn: string): Promise<TurnRow | undefined> {
  const [row] = await tx<TurnRow[]>`
    select ${columns(tx)} from ledgerline.turn t where t.session = ${session}::text and t.turn_id = ${turn}::text
       for no key update`;
  return row;
}

/** Its requests end with it; those of a turn in doubt stay its own, because a person may have it go on. */
export async function endTurn(
  tx: Statements,
  session: string,
  turn: string,
  end: {
    readonly status: 'done' | 'failed' | 'cancelled' | 'in_doubt';
    readonly sequence: Sequence | undefined;
    readonly error?: TurnError | undefined;
  },
): Promise<void> {
  await tx`
    update ledgerline.turn
       set status = ${end.status}::text, ended_at = clock_timestamp(), acknowledged_at = null,
           error = ${end.error === undefined ? null : JSON.stringify(end.error)}::text::json,
           settled_sequence = ${end.sequence ?? null}::bigint
     where session = ${session}::text and turn_id = ${turn}::text`;
  if (end.status === 'in_doubt') return;
  await tx`
    update ledgerline.turn_request set status = ${end.status}::text
     where session = ${session}::text and turn_id = ${turn}::text`;
}

/** Waiting is progress, so the tries begin anew. */
export async function pauseTurn(
  tx: Statements,
  session: string,
  turn: string,
  sequence: Sequence | undefined,
): Promise<void> {
  await tx`
    update ledgerline.turn set status = 'waiting', attempts = 0, settled_sequence = ${sequence ?? null}::bigint
     where session = ${session}::text and turn_id = ${turn}::text`;
}

/** A step came to an end, so its try is the first without progress again: within the statement that moves the head. */
export const progressing = (tx: Statements, session: string, turn: string) => tx`, progressed as (
      update ledgerline.turn t set attempts = 1 from head h
       where t.session = ${session}::text and t.turn_id = ${turn}::text and t.attempts > 1
    )`;

/** A person answered; the time that this took is not the turn's. */
export async function resumeTurn(tx: Statements, session: string, turn: string): Promise<void> {
  await tx`
    update ledgerline.turn
       set status = 'open', deadline = clock_timestamp() + time_allowed
     where session = ${session}::text and turn_id = ${turn}::text`;
}

/** It will be tried again. An attempt that is given back does not count: whoever ran it was asked to end. */
export async function noteRetry(
  tx: Statements,
  session: string,
  turn: string,
  retry: {
    readonly sequence: Sequence | undefined;
    readonly error: TurnError | undefined;
    readonly isGivenBack: boolean;
  },
): Promise<void> {
  await tx`
    update ledgerline.turn
       set settled_sequence = ${retry.sequence ?? null}::bigint,
           error = coalesce(${retry.error === undefined ? null : JSON.stringify(retry.error)}::text::json, error),
           attempts = greatest(attempts - ${retry.isGivenBack ? 1 : 0}::int, 0),
           total_attempts = greatest(total_attempts - ${retry.isGivenBack ? 1 : 0}::int, 0)
     where session = ${session}::text and turn_id = ${turn}::text`;
}

/** A turn that failed, or was in doubt, once more: its tries and its time begin anew, its inputs are as they were. */
export async function reopenTurn(tx: Statements, session: string, turn: string): Promise<void> {
  await tx`
    update ledgerline.turn
       set status = 'open', ended_at = null, acknowledged_at = null, error = null, attempts = 0, total_attempts = 0,
           deadline = clock_timestamp() + time_allowed
     where session = ${session}::text and turn_id = ${turn}::text`;
  await tx`
    update ledgerline.turn_request set status = 'claimed'
     where session = ${session}::text and turn_id = ${turn}::text`;
}

export async function acknowledgeTurn(tx: Statements, session: string, turn: string): Promise<void> {
  await tx`
    update ledgerline.turn set acknowledged_at = clock_timestamp()
     where session = ${session}::text and turn_id = ${turn}::text`;
}
