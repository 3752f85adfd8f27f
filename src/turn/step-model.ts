/** A model's answer is journaled before anything is done that it asks for: nobody pays for it twice. */
import { LedgerlineError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { hashOf } from '../step/intent.ts';
import { answerText, requestText } from '../step/outcome.ts';
import { insertStep, readStarted, readStep } from '../step/step-row.ts';
import type { JournaledStep, StepSettled } from '../step/step.ts';
import type { ModelAnswer } from './steps.ts';
import { notNext, placeOf, storeStep } from './step-stored.ts';
import type { Work } from './transaction.ts';
import { attemptEvent } from './turn-event.ts';
import { progressing } from './turn-row.ts';
import type { Attempt } from './turns.ts';
import { fenced, lockOwned } from './under-lock.ts';

export interface SealedAnswer {
  readonly result: string;
  readonly hash: string;
  readonly request: string | undefined;
  readonly reserved: number;
}

/** Before anything is written. The hash of what was asked is for people: a prompt may be told differently at every attempt. */
export function sealAnswer(request: unknown, { result, calls }: ModelAnswer): SealedAnswer {
  if (calls.length > limits.callsPerAnswer) {
    throw new LedgerlineError('too_large', `an answer asks for at most ${limits.callsPerAnswer} calls`, {
      limit: 'callsPerAnswer',
      max: limits.callsPerAnswer,
    });
  }
  const { full, kept } = requestText(request);
  return { result: answerText(result, calls), hash: hashOf(full), request: kept, reserved: calls.length };
}

export async function model(work: Work, attempt: Attempt, index: number, answer: SealedAnswer): Promise<StepSettled> {
  const { tx } = work;
  const place = placeOf(attempt, index);
  if ((await lockOwned(tx, attempt)) === undefined) throw fenced();
  const found = await readStep(tx, place);
  if (found !== undefined) {
    if (found.kind === 'model' && found.result === answer.result) return { state: 'done', sequence: undefined };
    throw new LedgerlineError(
      'step_conflict',
      `the journal has something else at the index ${index}: go on from there`,
      {
        state: found.state,
      },
    );
  }
  const [open] = await readStarted(tx, attempt.session, attempt.turn);
  if (open !== undefined) throw stillOpen(open);
  const step = { ...answer, kind: 'model', state: 'done', fence: attempt.attempt } as const;
  if (!(await insertStep(tx, place, step))) throw notNext(index);
  const event = attemptEvent('step.done', attempt, {
    step: index,
    kind: 'model',
    reserved: answer.reserved,
    fromJournal: false,
  });
  return {
    state: 'done',
    sequence: await storeStep(work, attempt, event, [progressing(tx, attempt.session, attempt.turn)]),
  };
}

/**
 * What a call came to is told to the model, or nothing is: one that is open, and was taken for failed, would be asked for again at another
 * index, and be made twice. Of the same attempt or of an older one, that has left it.
 */
const stillOpen = ({ index, tool, effect, state }: JournaledStep): LedgerlineError =>
  new LedgerlineError(
    'step_conflict',
    `the step ${index} (${[tool, effect].join(', ')}) is open: start it again and settle it before the model is asked further`,
    { state },
  );
