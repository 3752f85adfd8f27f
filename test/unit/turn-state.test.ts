/** The states of a session's agent: every move from every state has a place in the table. */
import { expect, test } from 'vitest';
import { turnStates, turnTransitions } from '../../src/event/turn-state.ts';
import type { TurnMove } from '../../src/event/turn-state.ts';

const moves: readonly TurnMove[] = ['stays', 'idle', 'ready', 'debounced', 'claimed', 'waiting', 'stopping'];

test('the table is total, and leads to states alone', () => {
  for (const state of turnStates) {
    expect(Object.keys(turnTransitions[state]).toSorted()).toEqual(moves.toSorted());
    for (const next of Object.values(turnTransitions[state])) expect([...turnStates, undefined]).toContain(next);
  }
});

test('an attempt begins in a ready session alone, and a question is asked by a running one', () => {
  expect(turnStates.filter((state) => turnTransitions[state].claimed !== undefined)).toEqual(['ready']);
  expect(turnStates.filter((state) => turnTransitions[state].waiting !== undefined)).toEqual(['running']);
});

test('from every state a way leads to idle', () => {
  for (const state of turnStates) expect(turnTransitions[state].idle).toBe('idle');
});
