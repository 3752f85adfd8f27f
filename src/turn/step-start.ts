/** A call of a tool outside begins: its intent is committed before it is made, so that whoever comes next knows that it may have happened. */
import { assert } from '../base/assert.ts';
import { LedgerlineError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { verdictOf } from '../step/effect.ts';
import type { SealedIntent } from '../step/intent.ts';
import { insertStep, readStep, takeOverStep } from '../step/step-row.ts';
import { stepKey } from '../step/step.ts';
import type { JournaledStep, StepStart } from '../step/step.ts';
import { doubtfulSteps } from './doubt.ts';
import { endCurrent } from './end.ts';
import { callEvent, checkSame, journaledEvent, notNext, placeOf, storeStep } from './step-stored.ts';
import type { Work } from './transaction.ts';
import { readTurn } from './turn-row.ts';
import type { Attempt } from './turns.ts';
import { fenced, lockOwned } from './under-lock.ts';
import type { OwnedHead } from './under-lock.ts';

export async function start(
  work: Work,
  attempt: Attempt,
  index: number,
  intent: SealedIntent,
  keySeconds: number | undefined,
): Promise<StepStart> {
  const { tx } = work;
  const place = placeOf(attempt, index);
  const head = await lockOwned(tx, attempt);
  const found = await readStep(tx, place);
  if (head === undefined) return endedBefore(work, attempt, found);
  if (found !== undefined) checkSame(found, intent);

  const key = stepKey(attempt.turn, index);
  const { tool, effect } = intent;
  const begin = (): Promise<unknown> =>
    storeStep(work, attempt, callEvent('step.started', attempt, { index, tool, effect }));
  const isOwn = found?.fence === attempt.attempt;
  const verdict = verdictOf(effect, found && { ...found, effect: found.effect ?? 'once', isOwn });
  switch (verdict) {
    case 'run': {
      const step = { ...intent, kind: 'tool', state: 'started', fence: attempt.attempt } as const;
      const ofKey = effect === 'keyed' ? { keySeconds: keySeconds ?? limits.keySeconds } : {};
      if (!(await insertStep(tx, place, { ...step, ...ofKey }))) throw notNext(index);
      await begin();
      return { kind: 'run', key, isAgain: false };
    }
    case 'run_again':
    case 'find':
      await takeOverStep(tx, place, attempt.attempt);
      await begin();
      return verdict === 'find' ? { kind: 'find', key } : { kind: 'run', key, isAgain: true };
    case 'wait':
      return { kind: 'in_progress' };
    case 'use':
      assert(found !== undefined, 'what is used is in the journal');
      return fromJournal(work, attempt, found);
    case 'doubt':
      assert(found !== undefined, 'a doubt is about what is in the journal');
      return doubt(work, head, found);
  }
}

/** The outcome is the journal's; whoever watches sees that this attempt met it, too. */
async function fromJournal(work: Work, attempt: Attempt, found: JournaledStep): Promise<StepStart> {
  if (found.fence !== attempt.attempt) await storeStep(work, attempt, journaledEvent(attempt, found));
  if (found.state === 'done') return { kind: 'done', result: found.result ?? 'null' };
  assert(found.error !== undefined, 'what failed has its error');
  return { kind: 'failed', error: found.error };
}

/** Together with all that older attempts have left in doubt, so that a person sees the whole of it. */
async function doubt(work: Work, head: OwnedHead, found: JournaledStep): Promise<StepStart> {
  const others = (await doubtfulSteps(work.tx, head.session, head.turn)).filter(
    ({ index, fence }) => index !== found.index && fence !== head.fence,
  );
  await endCurrent(work, head, { status: 'in_doubt', steps: [found, ...others] }, true);
  return { kind: 'in_doubt' };
}

/** The same answer again, if it was this start that ended the attempt. */
async function endedBefore(work: Work, attempt: Attempt, found: JournaledStep | undefined): Promise<StepStart> {
  const turn = await readTurn(work.tx, attempt.session, attempt.turn);
  const isOwnEnd = turn?.status === 'in_doubt' && turn.fence === attempt.attempt;
  if (isOwnEnd && found?.state === 'in_doubt') return { kind: 'in_doubt' };
  throw fenced();
}

/** It shares a transaction with its journal, so nothing of it begins outside. */
export function refuseTransactional({ effect }: SealedIntent): void {
  if (effect !== 'transactional') return;
  throw new LedgerlineError(
    'malformed',
    'a transactional tool is not started: it runs in one transaction with its journal',
    {
      where: 'effect',
    },
  );
}
