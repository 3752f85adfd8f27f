/** What is to be done at a step: a table without a hole, and nothing in it that could have an effect twice [I14]. */
import { describe, expect, test } from 'vitest';
import { isDoubtful, verdictOf } from '../../src/step/effect.ts';
import type { Verdict } from '../../src/step/effect.ts';
import { effectClasses, stepStates } from '../../src/step/step.ts';
import type { EffectClass, StepState } from '../../src/step/step.ts';

/** Whoever began it is gone: while the key is known, and behind that. */
const orphaned: Readonly<Record<EffectClass, readonly [known: Verdict, expired: Verdict]>> = {
  read: ['run_again', 'run_again'],
  idempotent: ['run_again', 'run_again'],
  transactional: ['doubt', 'doubt'],
  keyed: ['run_again', 'doubt'],
  lookup: ['find', 'find'],
  once: ['doubt', 'doubt'],
};
const settled: Readonly<Record<Exclude<StepState, 'started'>, Verdict>> = {
  done: 'use',
  failed: 'use',
  in_doubt: 'doubt',
};

const table = effectClasses.flatMap((effect) =>
  stepStates.flatMap((state) =>
    [true, false].flatMap((isOwn) =>
      [false, true].map((isKeyExpired) => {
        const open: Verdict = isOwn ? 'wait' : orphaned[effect][isKeyExpired ? 1 : 0];
        return [effect, state, isOwn, isKeyExpired, state === 'started' ? open : settled[state]] as const;
      }),
    ),
  ),
);

describe('a call', () => {
  test.each(effectClasses)('of class %s that the journal does not know is run', (effect) => {
    expect(verdictOf(effect, undefined)).toBe('run');
  });

  test.each(table)(
    'of class %s that is %s (own: %s, key expired: %s) is answered %s',
    (effect, state, isOwn, isKeyExpired, verdict) => {
      expect(verdictOf(effect, { state, effect, isOwn, isKeyExpired })).toBe(verdict);
    },
  );

  test('whose tool promises something else by now is in doubt when its attempt is gone', () => {
    for (const before of effectClasses) {
      for (const now of effectClasses.filter((effect) => effect !== before)) {
        const found = { state: 'started', effect: before, isOwn: false, isKeyExpired: false } as const;
        expect(verdictOf(now, found)).toBe('doubt');
        expect(verdictOf(now, { ...found, state: 'done' })).toBe('use');
      }
    }
  });

  test('is left in doubt by those classes alone that nobody but a person can tell of', () => {
    const doubtful = (isKeyExpired: boolean) => effectClasses.filter((effect) => isDoubtful({ effect, isKeyExpired }));
    expect(doubtful(false)).toEqual(['transactional', 'once']);
    expect(doubtful(true)).toEqual(['transactional', 'keyed', 'once']);
  });
});
