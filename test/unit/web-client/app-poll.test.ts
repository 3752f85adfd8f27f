/** What the page asks for again and again, it asks in vain more seldom, and not at all where no time mends it. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { usePoll } from '../../../web-client/app/base/use-poll.ts';
import { FollowError } from '../../../web-client/src/follow-error.ts';
import { renderHook } from '../../support/rendered-hook.ts';

const nothing = (): void => undefined;
const EVERY_MS = 500;
const isAny = (): boolean => true;

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal('document', { hidden: false, addEventListener: nothing, removeEventListener: nothing });
  vi.stubGlobal('addEventListener', nothing);
  vi.stubGlobal('removeEventListener', nothing);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** How often it is asked within a minute after the first answer came. */
async function askedWhile(error: FollowError): Promise<number> {
  let asked = 0;
  const ask = async (): Promise<never> => {
    asked += 1;
    throw error;
  };
  const hook = await renderHook(() => usePoll(ask, EVERY_MS), undefined);
  await vi.advanceTimersByTimeAsync(0);
  const first = asked;
  expect(hook.now.error).toBe(error);
  await vi.advanceTimersByTimeAsync(60_000);
  hook.now.refresh();
  await hook.unmount();
  return asked - first;
}

describe('a question', () => {
  test.each(['forbidden', 'session_deleted'])('that is answered %s is not asked again', async (problem) => {
    expect(await askedWhile(new FollowError('refused', 'no', { status: 403, problem }))).toBe(0);
  });

  test('that had no answer is asked again', async () => {
    expect(await askedWhile(new FollowError('unavailable', 'no answer'))).toBeGreaterThan(5);
  });

  test('whose answer is enough is not asked again, until something has happened', async () => {
    let asked = 0;
    const ask = async (): Promise<number> => (asked += 1);
    const isEnough = (value: number): boolean => value % 3 === 0;
    const hook = await renderHook(() => usePoll(ask, EVERY_MS, isEnough), undefined);
    await vi.advanceTimersByTimeAsync(60_000);
    const first = asked;
    expect(first % 3).toBe(0);
    hook.now.refresh();
    await vi.advanceTimersByTimeAsync(0);
    expect(asked).toBe(first + 1);
    await vi.advanceTimersByTimeAsync(60_000);
    expect([asked, hook.now.value]).toEqual([first + 3, first + 3]);
    await hook.unmount();
  });

  test('whose answer was enough is not asked when the page comes into sight again', async () => {
    let asked = 0;
    const ask = async (): Promise<number> => (asked += 1);
    const comeBack: (() => void)[] = [];
    const addEventListener = (_type: string, listener: () => void): void => void comeBack.push(listener);
    vi.stubGlobal('document', { hidden: false, addEventListener, removeEventListener: nothing });
    const hook = await renderHook(() => usePoll(ask, EVERY_MS, isAny), undefined);
    await vi.advanceTimersByTimeAsync(0);
    const first = asked;
    comeBack.at(-1)?.();
    await vi.advanceTimersByTimeAsync(0);
    expect([comeBack.length > 0, asked]).toEqual([true, first]);
    await hook.unmount();
  });

  test('during which something happens is asked once more, though its answer would have been enough', async () => {
    const answers: ((value: number) => void)[] = [];
    const ask = (): Promise<number> => new Promise((resolve) => void answers.push(resolve));
    const hook = await renderHook(() => usePoll(ask, EVERY_MS, isAny), undefined);
    await vi.advanceTimersByTimeAsync(0);
    const first = answers.length;
    hook.now.refresh();
    answers.forEach((answer) => answer(1));
    await vi.advanceTimersByTimeAsync(0);
    expect(answers.length).toBe(first + 1);
    answers.at(-1)?.(2);
    await vi.advanceTimersByTimeAsync(60_000);
    expect([answers.length, hook.now.value]).toEqual([first + 1, 2]);
    await hook.unmount();
  });
});
