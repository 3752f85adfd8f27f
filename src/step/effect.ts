/** What is to be done at a step, by the class of its effect and what the journal has of it: a total table (pure) [I14]. */
import type { EffectClass, StepState } from './step.ts';

/** What the journal has at the index; its intent is the same. */
export interface Found {
  readonly state: StepState;
  /** What the tool promised when the step was begun. */
  readonly effect: EffectClass;
  /** It was begun by the attempt that asks. */
  readonly isOwn: boolean;
  readonly isKeyExpired: boolean;
}

/** `use`: the journal has the outcome. `wait`: another call of the same attempt is at it. */
export type Verdict = 'run' | 'run_again' | 'find' | 'wait' | 'use' | 'doubt';

/** It was started, and whoever began it is gone: the call may have happened, or not. */
const orphaned: Readonly<Record<EffectClass, (isKeyExpired: boolean) => Verdict>> = {
  read: () => 'run_again',
  idempotent: () => 'run_again',
  // One commit has its intent and its end, so there is no such row; if there is, nobody knows what it means.
  transactional: () => 'doubt',
  keyed: (isKeyExpired) => (isKeyExpired ? 'doubt' : 'run_again'),
  lookup: () => 'find',
  once: () => 'doubt',
};

/** A tool that promises something else by now made no such promise when the call was begun, nor need it keep the old one. */
export function verdictOf(effect: EffectClass, found: Found | undefined): Verdict {
  switch (found?.state) {
    case undefined:
      return 'run';
    case 'done':
    case 'failed':
      return 'use';
    case 'in_doubt':
      return 'doubt';
    case 'started':
      if (found.isOwn) return 'wait';
      return found.effect === effect ? orphaned[effect](found.isKeyExpired) : 'doubt';
  }
}

/** Made or not, it is not the same afterwards. */
export const hasLastingEffect = (effect: EffectClass): boolean => effect !== 'read' && effect !== 'idempotent';

/** Nobody but a person can tell what became of a step whose attempt is gone. */
export const isDoubtful = (step: { readonly effect: EffectClass; readonly isKeyExpired: boolean }): boolean =>
  orphaned[step.effect](step.isKeyExpired) === 'doubt';
