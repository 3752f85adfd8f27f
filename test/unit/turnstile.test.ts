/** A herd at the door: let in a few at a turn, in order, and a lone caller at once. */
import { describe, expect, test } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { silentLog } from '../../src/base/log.ts';
import { createTurnstile } from '../../src/http/turnstile.ts';
import { manualClock } from '../support/manual-clock.ts';

function setUp() {
  const clock = manualClock();
  const turnstile = createTurnstile(clock, silentLog);
  const entered: number[] = [];
  /** Each works for a quarter of a turn. */
  const enter = async (number: number, session = 'a'): Promise<void> => {
    await turnstile(session);
    entered.push(number);
    clock.lookCostMs = limits.turnMs / 4;
    clock.now();
    clock.lookCostMs = 0;
  };
  const come = (count: number, first = 0) => Array.from({ length: count }, (_, index) => enter(first + index));
  return { clock, entered, enter, come };
}

describe('a turnstile', () => {
  test('lets a lone caller in at once', async () => {
    const { clock, entered, come } = setUp();
    await Promise.all(come(1));
    expect(entered).toEqual([0]);
    await clock.settle();
    expect(clock.waiting).toBe(0);
  });

  test('lets those who come in one breath in a few at a turn, in the order of their coming', async () => {
    const { clock, entered, come } = setUp();
    const herd = come(100);
    for (let hop = 0; hop < 200; hop += 1) await Promise.resolve();
    expect(entered).toEqual([0, 1, 2, 3]);
    herd.push(...come(20, 100));
    await clock.advance(limits.turnMs * herd.length);
    await Promise.all(herd);
    expect(entered).toEqual(Array.from({ length: 120 }, (_, number) => number));
    expect(clock.turns).toBeGreaterThanOrEqual(120 / 4);
  });

  test('lets one of another session in between those of a herd', async () => {
    const { clock, entered, enter, come } = setUp();
    const all = [...come(100), enter(999, 'b')];
    await clock.advance(1_000);
    await Promise.all(all);
    expect(entered.indexOf(999)).toBeLessThan(8);
  });

  test('takes its share of turns that others make long', async () => {
    const { clock, entered, come } = setUp();
    const busy = (): void => {
      clock.lookCostMs = 50;
      clock.now();
      clock.lookCostMs = 0;
      if (entered.length < 100) clock.soon(busy);
    };
    clock.soon(busy);
    const herd = come(100);
    await clock.advance(60_000);
    await Promise.all(herd);
    expect(clock.turns).toBeLessThan(2 * (100 / 4));
  });

  test('does not make a stall longer by its share of it', async () => {
    const { clock, entered, come } = setUp();
    const herd = come(100);
    for (let hop = 0; hop < 200; hop += 1) await Promise.resolve();
    clock.lookCostMs = 10_000;
    clock.now();
    clock.lookCostMs = 0;
    const before = entered.length;
    await clock.settle();
    expect(entered.length - before).toBeLessThan(40);
    await clock.advance(1_000);
    await Promise.all(herd);
  });

  test('rests when the herd is in', async () => {
    const { clock, come } = setUp();
    const herd = come(20);
    await clock.advance(1_000);
    await Promise.all(herd);
    expect(clock.waiting).toBe(0);
  });
});
