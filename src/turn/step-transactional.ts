/** A tool whose effect is in this database: its writes, its journal, its event and its deliveries are one commit, or nothing. */
import { LedgerlineError } from '../base/errors.ts';
import type { Sequence } from '../event/sequence.ts';
import { verdictOf } from '../step/effect.ts';
import type { SealedIntent } from '../step/intent.ts';
import { insertStep, readStep } from '../step/step-row.ts';
import type { NewDelivery, StepState } from '../step/step.ts';
import { endCurrent } from './end.ts';
import { checkSame, journaledEvent, notNext, placeOf, storeOutcome, storeStep } from './step-stored.ts';
import type { OutcomeText } from './step-stored.ts';
import type { Work } from './transaction.ts';
import type { Attempt } from './turns.ts';
import { fenced, lockOwned } from './under-lock.ts';

export interface Effect {
  readonly outcome: OutcomeText;
  readonly deliveries: readonly NewDelivery[];
}

export type Transacted =
  | {
      readonly kind: 'settled';
      readonly state: StepState;
      readonly result: string;
      readonly isFromJournal: boolean;
      readonly sequence: Sequence | undefined;
    }
  /** Its attempt ends here. */
  | { readonly kind: 'in_doubt' };

/**
 * The step's row comes first: a second call of the same step waits for the first one's commit, and then finds it. The head comes
 * last, so that it is held for no longer than the commit takes, whatever the tool does before; an attempt that has lost its turn
 * learns it there, and all that it did is rolled back [I11].
 */
export async function transactional(
  work: Work,
  attempt: Attempt,
  index: number,
  intent: SealedIntent,
  run: () => Promise<Effect>,
): Promise<Transacted> {
  const { tx } = work;
  const place = placeOf(attempt, index);
  const step = { ...intent, kind: 'tool', state: 'started', fence: attempt.attempt } as const;
  if (!(await insertStep(tx, place, step))) return fromJournal(work, attempt, index, intent);

  const { outcome, deliveries } = await run();
  const sequence = await storeOutcome(work, attempt, { ...intent, index }, outcome, deliveries);
  const isDone = 'result' in outcome;
  return {
    kind: 'settled',
    state: isDone ? 'done' : 'failed',
    result: isDone ? outcome.result : 'null',
    isFromJournal: false,
    sequence,
  };
}

async function fromJournal(work: Work, attempt: Attempt, index: number, intent: SealedIntent): Promise<Transacted> {
  const { tx } = work;
  const head = await lockOwned(tx, attempt);
  if (head === undefined) throw fenced();
  const found = await readStep(tx, placeOf(attempt, index));
  if (found === undefined) throw notNext(index);
  checkSame(found, intent);
  const isOwn = found.fence === attempt.attempt;
  const verdict = verdictOf(intent.effect, { ...found, effect: found.effect ?? 'once', isOwn });
  if (verdict === 'doubt') {
    await endCurrent(work, head, { status: 'in_doubt', steps: [found] }, true);
    return { kind: 'in_doubt' };
  }
  if (verdict !== 'use') {
    throw new LedgerlineError(
      'step_conflict',
      `the tool was begun at the index ${index} as one outside this database`,
      { state: found.state },
    );
  }
  const result = found.result ?? 'null';
  const sequence = isOwn ? undefined : await storeStep(work, attempt, journaledEvent(attempt, found));
  return { kind: 'settled', state: found.state, result, isFromJournal: true, sequence };
}
