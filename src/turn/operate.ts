/** What a person may do about a turn that is over: have it tried again, have it done anew, or take note. */
import { LedgerlineError } from '../base/errors.ts';
import type { Statements } from '../db/postgres.ts';
import type { TurnNow } from '../event/turn-state.ts';
import { noteActivity } from '../ledger/session-row.ts';
import type { Move, TurnHead } from '../ledger/turn-head.ts';
import { hasDoubt, hasEffects } from '../step/step-row.ts';
import { freeRequests, inputSequences } from './request-row.ts';
import type { Work } from './transaction.ts';
import { turnEvent } from './turn-event.ts';
import { acknowledgeTurn, lockTurn, reopenTurn } from './turn-row.ts';
import type { TurnRow } from './turn-row.ts';
import { isUnderWay, lockKnownHead, requireOpen, turnBusy } from './under-lock.ts';

/** The same turn, with the same inputs and its journal; messages that wait go on waiting behind it. */
export async function retry(work: Work, session: string, turn: string, by: string): Promise<TurnNow> {
  const { tx } = work;
  const head = await freeHead(tx, session);
  const { status } = await turnWith(tx, session, turn, ['failed', 'in_doubt'], 'only a failed turn is tried again');
  if (status === 'in_doubt' && (await hasDoubt(tx, session, turn))) {
    throw new LedgerlineError('turn_over', 'a step of the turn is in doubt: resolve it first', { turnStatus: status });
  }
  return reopen(work, head, turn, by);
}

/** For a turn that is over, in a session whose agent has nothing under way. */
export async function reopen(work: Work, head: TurnHead, turn: string, by: string): Promise<TurnNow> {
  const { tx } = work;
  const { session } = head;
  const inputs = await inputSequences(tx, session, turn);
  if (inputs.length === 0) throw answeredByAnother();
  const event = turnEvent('turn.retrying', { turn, attempt: head.fence, reason: 'asked', by, inputs, inMs: 0 });
  await work.move(head, { to: 'ready', turn, inMs: 0 }, [event]);
  await reopenTurn(tx, session, turn);
  await noteActivity(tx, session);
  work.wake({ kind: 'ready', inMs: 0 });
  return { state: 'ready', turn, attempt: head.fence, stop: undefined };
}

/**
 * Another turn, with the inputs of this one and whatever waits. It has a journal of its own, so what this one has done to the
 * world would be done again: only by `isForced`.
 */
export async function rerun(
  work: Work,
  session: string,
  turn: string,
  by: string,
  isForced: boolean,
): Promise<TurnNow> {
  const { tx } = work;
  const head = await freeHead(tx, session);
  const over = ['done', 'failed', 'cancelled', 'in_doubt'] as const;
  const { status } = await turnWith(tx, session, turn, over, 'only a turn that is over is done anew');
  if (!isForced && (await hasEffects(tx, session, turn))) {
    throw new LedgerlineError('turn_over', 'it has had effects, and they would be had again: force it if they should', {
      turnStatus: status,
    });
  }
  const inputs = await freeRequests(tx, session, turn);
  if (inputs.length === 0) throw answeredByAnother();
  const move: Move = { to: 'ready', turn: undefined, inMs: 0 };
  await work.move(head, move, [turnEvent('turn.requested', { turn, by, inputs })]);
  await acknowledgeTurn(tx, session, turn);
  await noteActivity(tx, session);
  work.wake({ kind: 'ready', inMs: 0 });
  return { state: 'ready', turn: undefined, attempt: undefined, stop: undefined };
}

export async function acknowledge({ tx }: Work, session: string, turn: string): Promise<void> {
  await lockKnownHead(tx, session); // also of a session that was closed meanwhile
  await turnWith(tx, session, turn, ['failed', 'in_doubt'], 'only a failure is acknowledged');
  await acknowledgeTurn(tx, session, turn);
}

/** It was done anew before, and what it has for inputs is another turn's now. */
const answeredByAnother = (): LedgerlineError =>
  new LedgerlineError('turn_over', 'its messages were given to another turn: look there', { turnStatus: 'done' });

const freeHead = async (tx: Statements, session: string): Promise<TurnHead> =>
  requireFree(await lockKnownHead(tx, session));

/** Nothing is under way. */
export function requireFree(head: TurnHead): TurnHead {
  requireOpen(head);
  if (isUnderWay(head)) throw turnBusy(head);
  return head;
}

export async function turnWith(
  tx: Statements,
  session: string,
  turn: string,
  statuses: readonly TurnRow['status'][],
  otherwise: string,
): Promise<TurnRow> {
  const row = await lockTurn(tx, session, turn);
  if (row === undefined) throw new LedgerlineError('turn_unknown', 'the session has no such turn');
  if (statuses.includes(row.status)) return row;
  throw new LedgerlineError('turn_over', `${otherwise}; this one is ${row.status}`, { turnStatus: row.status });
}
