/** Time as the house keeps it, where Node's own timers would surprise. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { sleep as wait, systemClock } from '../../src/base/clock.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Node fires a timer of more than 2^31−1 ms at once. */
const TOO_LONG_MS = 2 ** 31;

it('a wait that is longer than a timer can be does not end at once', async () => {
  const ended: string[] = [];
  systemClock.after(TOO_LONG_MS, () => ended.push('a timer'));
  void wait(TOO_LONG_MS).then(() => ended.push('a sleep'));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(ended).toEqual([]);
});
