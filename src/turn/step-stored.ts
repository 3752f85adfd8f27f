/** What every step that an attempt writes has in common: its event, its fence, its deliveries, and how it is refused. */
import { LedgerlineError } from '../base/errors.ts';
import type { Sequence } from '../event/sequence.ts';
import { numberDeliveries, stampStep } from '../ledger/step-head.ts';
import type { Further } from '../ledger/step-head.ts';
import type { TurnEvent } from '../ledger/turn-head.ts';
import { addDeliveries, delivering } from '../outbox/add.ts';
import type { SealedIntent } from '../step/intent.ts';
import { settling } from '../step/step-row.ts';
import type { Place } from '../step/step-row.ts';
import type { JournaledStep, NewDelivery } from '../step/step.ts';
import type { Work } from './transaction.ts';
import { attemptEvent } from './turn-event.ts';
import { progressing } from './turn-row.ts';
import type { Attempt } from './turns.ts';
import { fenced } from './under-lock.ts';

export const placeOf = ({ session, turn }: Attempt, index: number): Place => ({ session, turn, index });

/** An outcome as it is kept: JSON texts. */
export type OutcomeText = { readonly result: string } | { readonly error: string };

type CallEventType = 'step.started' | 'step.done' | 'step.failed' | 'step.in_doubt';

export function callEvent(
  type: CallEventType,
  attempt: Pick<Attempt, 'turn' | 'attempt'>,
  step: Pick<JournaledStep, 'index' | 'tool' | 'effect'>,
  outcome?: OutcomeText & { readonly isFromJournal: boolean },
): TurnEvent {
  const { index, tool, effect } = step;
  const facts = { step: index, kind: 'tool', tool, effect };
  if (outcome === undefined) return attemptEvent(type, attempt, facts);
  const { isFromJournal: fromJournal, ...text } = outcome;
  return attemptEvent(type, attempt, { ...facts, fromJournal }, text);
}

/** The event of what came of a call. */
const outcomeEvent = (
  attempt: Attempt,
  step: Pick<JournaledStep, 'index' | 'tool' | 'effect'>,
  outcome: OutcomeText,
  isFromJournal: boolean,
): TurnEvent =>
  callEvent('result' in outcome ? 'step.done' : 'step.failed', attempt, step, { ...outcome, isFromJournal });

/** The same of what the journal has: it was not this attempt that brought it. */
export const journaledEvent = (attempt: Attempt, found: JournaledStep): TurnEvent =>
  outcomeEvent(
    attempt,
    found,
    found.state === 'done' ? { result: found.result ?? 'null' } : { error: JSON.stringify(found.error ?? null) },
    true,
  );

/** Stores a step's event if the attempt owns the turn; else refuses, and nothing of the transaction is kept [I11]. `topics`: of what `further` delivers. */
export async function storeStep(
  work: Work,
  attempt: Attempt,
  event: TurnEvent,
  further: readonly Further[] = [],
  topics: readonly string[] = [],
): Promise<Sequence> {
  const moved = await stampStep(work.tx, attempt.session, attempt, event, topics, further);
  if (moved === undefined) throw fenced();
  work.stored(moved);
  if (topics.length > 0) work.wake({ kind: 'delivery' });
  return moved.last;
}

/** What came of a call of this attempt: the journal, the event and the deliveries, in one statement. It is progress. */
export function storeOutcome(
  work: Work,
  attempt: Attempt,
  step: Pick<JournaledStep, 'index' | 'tool' | 'effect'>,
  outcome: OutcomeText,
  deliveries: readonly NewDelivery[],
): Promise<Sequence> {
  const { tx } = work;
  const { session, turn } = attempt;
  const { index } = step;
  const further = [
    settling(tx, { session, turn, index }, outcome),
    progressing(tx, session, turn),
    ...(deliveries.length === 0 ? [] : [delivering(tx, { session, turn, step: index }, deliveries)]),
  ];
  const topics = deliveries.map(({ topic }) => topic);
  return storeStep(work, attempt, outcomeEvent(attempt, step, outcome, false), further, topics);
}

/** What came of a call was told by somebody who does not own the turn: its deliveries are due all the same. Behind the head's lock. */
export async function deliver(
  work: Work,
  { session, turn, index }: Place,
  deliveries: readonly NewDelivery[],
): Promise<{ readonly number: number; readonly topic: string }[]> {
  const first = await numberDeliveries(work.tx, session, deliveries.length);
  await addDeliveries(work.tx, { session, turn, step: index, first }, deliveries);
  work.wake({ kind: 'delivery' });
  return deliveries.map(({ topic }, place) => ({ number: first + place, topic }));
}

/** The journal has what this very call would have written. */
export function checkSame(found: JournaledStep, intent: SealedIntent): void {
  if (found.kind === 'tool' && found.requestHash === intent.hash) return;
  const what = found.kind === 'tool' ? 'another call' : `what is no call (${found.kind})`;
  throw new LedgerlineError(
    'step_conflict',
    `the journal has ${what} at the index ${found.index}: read it, and go on from there`,
    { state: found.state },
  );
}

export const notNext = (index: number): LedgerlineError =>
  new LedgerlineError(
    'step_conflict',
    `the index ${index} is neither the journal's next nor one that a model's answer has reserved: read the journal`,
    { state: null },
  );
