/** What the page asks for again and again, it asks in vain more seldom, and not at all where no time mends it. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { usePoll } from '../../../web-client/app/base/use-poll.ts';
import { FollowError } from '../../../web-client/src/follow-error.ts';
import { renderHook } from '../../support/rendered-hook.ts';

const nothing = (): void => undefined;
const EVERY_MS = 500;

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
});
