/** The follower's states and its arithmetic: tables and formulas without anything around them. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { placeOf } from '../../../web-client/src/arithmetic.ts';
import { backoffMs } from '../../../web-client/src/backoff.ts';
import { transitions } from '../../../web-client/src/follower-state.ts';
import type { Input, State } from '../../../web-client/src/follower-state.ts';

const states: readonly State[] = ['connecting', 'replaying', 'live', 'waiting', 'stopped'];
const inputs: readonly Input[] = ['hello', 'connected', 'lost', 'due', 'stop'];

describe('the table of transitions', () => {
  test('answers every input in every state with a state', () => {
    expect(Object.keys(transitions).toSorted()).toEqual(states.toSorted());
    for (const state of states) {
      expect(Object.keys(transitions[state]).toSorted()).toEqual(inputs.toSorted());
      for (const input of inputs) expect(states).toContain(transitions[state][input]);
    }
  });

  test('leads to the end from everywhere, and nowhere from there', () => {
    for (const state of states) expect(transitions[state].stop).toBe('stopped');
    for (const input of inputs) expect(transitions.stopped[input]).toBe('stopped');
  });

  test('shows what came last, wherever it was before', () => {
    for (const state of states.filter((each) => each !== 'stopped')) {
      expect(transitions[state]).toEqual({
        hello: 'replaying',
        connected: 'live',
        lost: 'waiting',
        due: 'connecting',
        stop: 'stopped',
      });
    }
  });
});

describe('a sequence stands to a cursor', () => {
  test('as its next, as a repeat or behind a gap', () => {
    const count = fc.nat({ max: 2 ** 40 });
    fc.assert(
      fc.property(count, count, (cursor, sequence) => {
        const place = placeOf(cursor, sequence);
        expect(place === 'next').toBe(sequence - cursor === 1);
        expect(place === 'repeat').toBe(sequence - cursor < 1);
      }),
    );
    expect([placeOf(0, 1), placeOf(41, 42), placeOf(42, 42), placeOf(40, 42)]).toEqual([
      'next',
      'next',
      'repeat',
      'gap',
    ]);
  });
});

describe('the wait before a try', () => {
  test('doubles from half a second up to five, with full jitter', () => {
    const most = 1 - Number.EPSILON;
    expect([1, 2, 3, 4, 5, 50].map((attempt) => Math.round(backoffMs(attempt, most)))).toEqual([
      500, 1_000, 2_000, 4_000, 5_000, 5_000,
    ]);
    expect(backoffMs(4, 0.5)).toBe(2_000);
  });

  test('is never nothing, however the dice fall', () => {
    fc.assert(
      fc.property(
        fc.nat({ max: 10_000 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (attempt, random) => {
          const waitMs = backoffMs(attempt, random);
          expect(waitMs).toBeGreaterThanOrEqual(50);
          expect(waitMs).toBeLessThanOrEqual(5_000);
        },
      ),
    );
  });
});
