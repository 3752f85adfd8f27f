/** Calls whose outcome nobody can tell but a person: which they are, and that they are never made again by themselves. */
import type { Statements } from '../db/postgres.ts';
import type { TurnEvent } from '../ledger/turn-head.ts';
import { hasLastingEffect, isDoubtful } from '../step/effect.ts';
import { doubtStep, readStarted } from '../step/step-row.ts';
import type { JournaledStep } from '../step/step.ts';
import { callEvent } from './step-stored.ts';
import type { OwnedHead } from './under-lock.ts';

/** What the turn's attempts have begun, when all of them are gone, and no further attempt could settle. */
export async function doubtfulSteps(tx: Statements, session: string, turn: string): Promise<JournaledStep[]> {
  const started = await readStarted(tx, session, turn);
  return started.filter(({ effect, isKeyExpired }) => effect !== undefined && isDoubtful({ effect, isKeyExpired }));
}

/** What is left open when no further attempt comes by itself: also what one could have settled. */
export async function openEffects(tx: Statements, session: string, turn: string): Promise<JournaledStep[]> {
  const started = await readStarted(tx, session, turn);
  return started.filter(({ effect }) => effect !== undefined && hasLastingEffect(effect));
}

/** Behind the head's lock; the events that say so. */
export async function putInDoubt(
  tx: Statements,
  { session, turn, fence }: OwnedHead,
  steps: readonly JournaledStep[],
): Promise<TurnEvent[]> {
  await Promise.all(steps.map(({ index }) => doubtStep(tx, { session, turn, index })));
  return steps.map((step) => callEvent('step.in_doubt', { turn, attempt: fence }, step));
}
