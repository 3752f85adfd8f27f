/** Events at a rate: what one waits too long the next waits less, and a long pause is not made up for. */
import { expect, it } from 'vitest';
import { createPace } from '../../src/cli/pace.ts';

it('waits the same between events, by the time that they are due', () => {
  const pace = createPace(50, 1_000);
  expect([1_000, 1_000, 1_025, 1_061].map((nowMs) => pace.next(nowMs))).toEqual([0, 20, 15, 0]);
  expect(pace.next(1_070)).toBe(10);
});

it('goes on from now when it is late', () => {
  const pace = createPace(10, 0);
  expect(pace.next(5_000)).toBe(0);
  expect(pace.next(5_000)).toBe(100);
});

it('waits for nothing without a rate', () => {
  const pace = createPace(undefined, 0);
  expect([pace.next(0), pace.next(0)]).toEqual([0, 0]);
});
