/** What every decision about a turn begins with: the session's head, locked, and whose it is. */
import { LedgerlineError } from '../base/errors.ts';
import type { Statements } from '../db/postgres.ts';
import { lockTurnHead, readTurnHead } from '../ledger/turn-head.ts';
import type { TurnHead } from '../ledger/turn-head.ts';
import { readTurn } from './turn-row.ts';
import type { Attempt, Settled, TurnStatus } from './turns.ts';

/** A session that is there. */
export const lockKnownHead = async (tx: Statements, session: string): Promise<TurnHead> =>
  known(await lockTurnHead(tx, session));

/** The same for whoever only shows it. */
export const readKnownHead = async (tx: Statements, session: string): Promise<TurnHead> =>
  known(await readTurnHead(tx, session));

function known(head: TurnHead | undefined): TurnHead {
  if (head === undefined) {
    throw new LedgerlineError('session_unknown', 'there is no such session within reach of this credential');
  }
  if (head.state === 'deleted') {
    throw new LedgerlineError('session_deleted', 'the session was deleted; its id is never used again');
  }
  return head;
}

/** For what appends: a session that takes events. */
export const lockOpenHead = async (tx: Statements, session: string): Promise<TurnHead> =>
  requireOpen(await lockKnownHead(tx, session));

export function requireOpen(head: TurnHead): TurnHead {
  if (head.state === 'open') return head;
  throw new LedgerlineError('session_closed', 'the session is closed and takes no more events');
}

/** A turn is under way: somebody runs it, a person is asked, or it is to be tried again. */
export const isUnderWay = (head: TurnHead): head is TurnHead & { readonly turn: string } => head.turn !== undefined;

export const turnBusy = (head: TurnHead): LedgerlineError =>
  new LedgerlineError('turn_busy', 'a turn is under way', { state: head.turnState, turn: head.turn ?? null });

export type OwnedHead = TurnHead & { readonly turn: string };

/**
 * The head, if the attempt still owns it [I11]. Time plays no part: a lease that is over and that nobody has taken is still its
 * own, and a takeover always bumps the fence.
 */
export async function lockOwned(tx: Statements, attempt: Attempt): Promise<OwnedHead | undefined> {
  const head = await lockTurnHead(tx, attempt.session);
  return head !== undefined && isOwner(head, attempt) ? head : undefined;
}

export const isOwner = (head: TurnHead, { turn, attempt }: Attempt): head is OwnedHead =>
  head.turn === turn && head.turnState === 'running' && head.fence === attempt && head.state === 'open';

/**
 * The answer to an attempt that owns nothing: the same as before if it was this very attempt that settled its turn so and
 * the answer was lost; else `fenced`. Nobody but its owner finishes a turn, and whoever takes one over, ends it without
 * its worker or claims it again makes the head's fence a higher one.
 */
export async function settledBefore(
  tx: Statements,
  attempt: Attempt,
  statuses: readonly TurnStatus[],
): Promise<Settled> {
  const [head, turn] = await Promise.all([
    lockTurnHead(tx, attempt.session),
    readTurn(tx, attempt.session, attempt.turn),
  ]);
  const isOwn = turn?.fence === attempt.attempt && (turn.status === 'done' || head?.fence === attempt.attempt);
  if (head !== undefined && turn !== undefined && isOwn && statuses.includes(turn.status)) {
    return { state: head.turnState, status: turn.status, sequence: turn.settledSequence ?? undefined };
  }
  throw fenced();
}

export const fenced = (): LedgerlineError =>
  new LedgerlineError('fenced', 'the turn belongs to a newer attempt, or to none any more; stop, nothing is taken');
