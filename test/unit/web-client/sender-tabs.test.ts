/** One tab sends at a time, as far as the browser's locks let it, and nothing is held up by a tab that is frozen. */
import { afterEach, describe, expect, test, vi } from 'vitest';
import { openSenderTabs, takeLock } from '../../../web-client/src/sender-tabs.ts';
import type { SenderNews } from '../../../web-client/src/sender-tabs.ts';
import type { TabLocks } from '../../../web-client/src/tab-lock.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { eventually } from '../../support/waits.ts';

const { signal } = new AbortController();
afterEach(() => vi.unstubAllGlobals());
const denied: TabLocks = { request: () => Promise.reject(new DOMException('denied', 'SecurityError')) };

/** Granted by the test. */
function heldLocks(): { readonly locks: TabLocks; grant(): Promise<void>; readonly waiting: number } {
  const queue: (() => Promise<void>)[] = [];
  const locks: TabLocks = {
    request: (_, options, hold) =>
      new Promise<void>((resolve, reject) => {
        const turn = () => hold().then(resolve);
        queue.push(turn);
        if (!('signal' in options)) return;
        options.signal.addEventListener('abort', () => {
          if (queue.splice(queue.indexOf(turn), 1).length > 0) reject(new DOMException('left', 'AbortError'));
        });
      }),
  };
  return {
    locks,
    grant: async () => queue.shift()?.(),
    get waiting() {
      return queue.length;
    },
  };
}

describe('a turn to send', () => {
  test('comes when the lock is given, and gives it back', async () => {
    const clock = manualClock();
    const held = heldLocks();
    const sending = takeLock(held.locks, 'a', clock, () => Promise.resolve(7), signal);
    expect([held.waiting, clock.waiting]).toEqual([1, 1]);
    await held.grant();
    expect([await sending, clock.waiting]).toEqual([7, 0]);
  });

  test('comes without the lock when its holder is frozen: what is sent twice is stored once', async () => {
    const clock = manualClock();
    const held = heldLocks();
    const sending = takeLock(held.locks, 'a', clock, () => Promise.resolve(7), signal);
    await clock.advance(20_000);
    expect([await sending, held.waiting, clock.waiting]).toEqual([7, 0, 0]);
  });

  test('comes at once where locks are denied, or there are none', async () => {
    const clock = manualClock();
    expect(await takeLock(denied, 'a', clock, () => Promise.resolve(7), signal)).toBe(7);
    const tabs = openSenderTabs('a', clock, () => undefined);
    expect(await tabs.inTurn(() => Promise.resolve(8), signal)).toBe(8);
    tabs.close();
    expect(clock.waiting).toBe(0);
  });

  test('is left when the sender closes', async () => {
    const clock = manualClock();
    const held = heldLocks();
    const controller = new AbortController();
    const sending = takeLock(held.locks, 'a', clock, () => Promise.resolve(7), controller.signal);
    controller.abort();
    await sending;
    expect([held.waiting, clock.waiting]).toEqual([0, 0]);
  });
});

describe('the tabs', () => {
  test('hear what became of a message, and nothing more of a sender that has closed', async () => {
    vi.stubGlobal('location', { origin: 'http://ledgerline.test' });
    vi.stubGlobal('navigator', { locks: heldLocks().locks });
    const heard: SenderNews[] = [];
    const other = openSenderTabs('a', manualClock(), (news) => heard.push(news));
    const tabs = openSenderTabs('a', manualClock(), () => undefined);
    tabs.tell({ kind: 'kept', key: 'first' });
    await eventually('the other one hears', () => heard[0]);
    tabs.close();
    expect(() => tabs.tell({ kind: 'kept', key: 'second' })).not.toThrow();
    other.close();
    expect(heard).toEqual([{ kind: 'kept', key: 'first' }]);
  });
});
