/** What a person may do about a turn that is over: have it tried again, have it done anew, or take note. */
import { LedgerlineError } from '../base/errors.ts';
import type { Statements } from '../db/postgres.ts';
import type { TurnNow } from '../event/turn-state.ts';
import { noteActivity } from '../ledger/session-row.ts';
import type { Move, TurnHead } from '../ledger/turn-head.ts';
import { freeRequests, inputSequences } from './request-row.ts';
import type { Work } from './transaction.ts';
import { turnEvent } from './turn-event.ts';
import { acknowledgeTurn, lockTurn, reopenTurn } from './turn-row.ts';
import type { TurnRow } from './turn-row.ts';
import { isUnderWay, lockKnownHead, lockOpenHead, turnBusy } from './under-lock.ts';

/** The same turn, with the same inputs; messages that wait go on waiting behind it. */
export async function retry(work: Work, session: string, turn: string, by: string): Promise<TurnNow> {
  const { tx } = work;
  const head = await freeHead(tx, session);
  await turnWith(tx, session, turn, ['failed'], 'only a failed turn is tried again');
  const inputs = await inputSequences(tx, session, turn);
  if (inputs.length === 0) throw answeredByAnother();
  const event = turnEvent('turn.retrying', { turn, attempt: head.fence, reason: 'asked', by, inputs, inMs: 0 });
  await work.move(head, { to: 'ready', turn, inMs: 0 }, [event]);
  await reopenTurn(tx, session, turn);
  await noteActivity(tx, session);
  work.wake({ kind: 'ready', inMs: 0 });
  return { state: 'ready', turn, attempt: head.fence, stop: undefined };
}

/** Another turn, with the inputs of this one and whatever waits. */
export async function rerun(work: Work, session: string, turn: string, by: string): Promise<TurnNow> {
  const { tx } = work;
  const head = await freeHead(tx, session);
  await turnWith(tx, session, turn, ['done', 'failed', 'cancelled'], 'only a turn that is over is done anew');
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

/** Nothing is under way. */
async function freeHead(tx: Statements, session: string): Promise<TurnHead> {
  const head = await lockOpenHead(tx, session);
  if (isUnderWay(head)) throw turnBusy(head);
  return head;
}

async function turnWith(
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
