/** A turn asks a person: the attempt ends here, and a later one goes on with the answers. */
import { LedgerlineError } from '../base/errors.ts';
import { assert } from '../base/assert.ts';
import { plus } from '../event/sequence.ts';
import { noteActivity } from '../ledger/session-row.ts';
import { addApproval, dropOtherQuestions, readApproval } from './approval-row.ts';
import { retryCurrent } from './retry.ts';
import { release } from './settle.ts';
import type { Work } from './transaction.ts';
import { attemptEvent } from './turn-event.ts';
import { pauseTurn } from './turn-row.ts';
import type { Attempt, Question, Settled } from './turns.ts';
import { lockOwned, settledBefore } from './under-lock.ts';

/**
 * A question that an earlier attempt asked is not asked again, and one that was decided meanwhile is no reason to wait.
 * A turn that a person wants stopped asks nothing more.
 */
export async function wait(work: Work, attempt: Attempt, questions: readonly Question[]): Promise<Settled> {
  const { tx } = work;
  const head = await lockOwned(tx, attempt);
  if (head === undefined) return settledBefore(tx, attempt, ['waiting', 'open', 'cancelled']);
  if (head.stop !== undefined) return release(work, attempt);
  const { session, turn } = head;

  const known = await Promise.all(questions.map(({ approval }) => readApproval(tx, session, approval)));
  const foreign = questions.find((_, index) => (known[index]?.turn ?? turn) !== turn);
  if (foreign !== undefined) {
    throw new LedgerlineError('approval_conflict', `another turn asked a question with the id ${foreign.approval}`);
  }
  const open = questions.filter((_, index) => (known[index]?.decision ?? null) === null);
  if (open.length === 0) return retryCurrent(work, head, { reason: 'released', inMs: 0 }, false);

  const asked = questions.filter((_, index) => known[index] === undefined);
  const events = [
    ...asked.map(({ approval, data }) => attemptEvent('approval.required', attempt, { ...data, approval })),
    attemptEvent('turn.waiting', attempt, { approvals: open.map(({ approval }) => approval) }),
  ];
  const ids = questions.map(({ approval }) => approval);
  await dropOtherQuestions(tx, session, turn, ids);
  const stored = await work.move(head, { to: 'waiting' }, events);
  assert(stored !== undefined, 'waiting is an event');
  await Promise.all([
    ...asked.map(({ approval }, index) =>
      addApproval(tx, session, { id: approval, turn, sequence: plus(stored.first, index) }),
    ),
    pauseTurn(tx, session, turn, stored.last),
    noteActivity(tx, session, stored.last),
  ]);
  return { state: 'waiting', status: 'waiting', sequence: stored.last };
}
