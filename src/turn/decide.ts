/** A person decides: the first one wins, and when nothing is left to decide the turn goes on. */
import { assert } from '../base/assert.ts';
import { LedgerlineError } from '../base/errors.ts';
import { toSequence } from '../event/sequence.ts';
import type { Sequence } from '../event/sequence.ts';
import { storable } from '../event/storable.ts';
import type { TurnState } from '../event/turn-state.ts';
import { noteActivity } from '../ledger/session-row.ts';
import { decideApproval, hasUndecided, readApproval } from './approval-row.ts';
import type { ApprovalRow } from './approval-row.ts';
import { journalInput } from './step-input.ts';
import type { Work } from './transaction.ts';
import { turnEvent } from './turn-event.ts';
import { resumeTurn } from './turn-row.ts';
import type { Decision } from './turns.ts';
import { lockKnownHead, requireOpen } from './under-lock.ts';

export interface Decided {
  readonly sequence: Sequence;
  readonly isRepeat: boolean;
  readonly state: TurnState;
}

export async function decide(work: Work, session: string, decision: Omit<Decision, 'sequence'>): Promise<Decided> {
  const { tx } = work;
  const { approval, comment } = decision;
  const by = storable(decision.by);
  const head = await lockKnownHead(tx, session);
  const row = await readApproval(tx, session, approval);
  if (row === undefined) throw new LedgerlineError('approval_unknown', 'the session has no such question');
  const { turn } = row;
  if (row.sequence !== null && row.decision === decision.decision && row.by === by) {
    return { sequence: toSequence(row.sequence), isRepeat: true, state: head.turnState };
  }
  requireOpen(head);
  if (row.decision !== null || head.turnState !== 'waiting' || head.turn !== turn) throw decidedBefore(row);

  const event = turnEvent('approval.decided', { turn, approval, decision: decision.decision, by, comment });
  const stored = await work.move(head, { to: 'stays' }, [event]);
  assert(stored !== undefined, 'a decision is an event');
  const decided = { ...decision, by, sequence: stored.first };
  await decideApproval(tx, session, decided);
  await journalInput(tx, { session, turn, fence: head.fence }, { decision: { ...decided, comment: comment ?? null } });
  const isLast = !(await hasUndecided(tx, session, turn));
  if (isLast) {
    await work.move(head, { to: 'ready', turn, inMs: 0 }, []);
    await resumeTurn(tx, session, turn);
    work.wake({ kind: 'ready', inMs: 0 });
  }
  await noteActivity(tx, session);
  return { sequence: stored.first, isRepeat: false, state: isLast ? 'ready' : 'waiting' };
}

function decidedBefore({ decision, by, sequence }: ApprovalRow): LedgerlineError {
  const message = decision === null ? 'the turn that asked waits no more' : `somebody has ${decision} it before`;
  return new LedgerlineError('approval_decided', message, { decision, by, sequence });
}
