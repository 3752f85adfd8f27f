/** What came of a call is a fact: it is recorded once, by its attempt, or late by one that has lost its turn since. */
import { LedgerlineError } from '../base/errors.ts';
import type { SealedIntent } from '../step/intent.ts';
import { readStep, settleStep } from '../step/step-row.ts';
import type { JournaledStep, NewDelivery, StepSettled } from '../step/step.ts';
import { checkSame, deliver, journaledEvent, placeOf, storeOutcome, storeStep } from './step-stored.ts';
import type { OutcomeText } from './step-stored.ts';
import type { Work } from './transaction.ts';
import type { Attempt } from './turns.ts';
import { fenced, isOwner, lockKnownHead } from './under-lock.ts';

export async function settle(
  work: Work,
  attempt: Attempt,
  index: number,
  intent: SealedIntent,
  outcome: OutcomeText,
  deliveries: readonly NewDelivery[],
): Promise<StepSettled> {
  const { tx } = work;
  const place = placeOf(attempt, index);
  const head = await lockKnownHead(tx, attempt.session);
  const found = await readStep(tx, place);
  if (found === undefined) throw new LedgerlineError('step_unknown', 'no call was begun at this index');
  checkSame(found, intent);
  const isOwn = isOwner(head, attempt);
  // The first outcome stays, whoever comes with another.
  if (found.state === 'done' || found.state === 'failed') {
    // It came late, from an older attempt and so without an event, while this one was at the same call.
    if (isOwn && found.fence !== attempt.attempt) await storeStep(work, attempt, journaledEvent(attempt, found));
    return { state: found.state, sequence: undefined };
  }

  if (!isOwn && !isLateFact(found, attempt, outcome)) throw fenced();
  const state = 'result' in outcome ? 'done' : 'failed';
  if (isOwn) return { state, sequence: await storeOutcome(work, attempt, found, outcome, deliveries) };
  await settleStep(tx, place, outcome, attempt.attempt);
  if (deliveries.length > 0) await deliver(work, place, deliveries);
  return { state, sequence: undefined };
}

/**
 * A result is true whoever brings it, as long as the call is open. An error says that a call has failed, which holds for a call of
 * one's own alone: a newer attempt may be making it again. A person who is asked what happened is better told than asked, by the attempt
 * that made the call.
 */
function isLateFact(found: JournaledStep, attempt: Attempt, outcome: OutcomeText): boolean {
  const isMakers = found.fence === attempt.attempt;
  return 'result' in outcome ? found.state === 'started' || isMakers : found.state === 'started' && isMakers;
}
