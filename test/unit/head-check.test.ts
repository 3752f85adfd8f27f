/** Heads read in shared batches, and open rooms compared with them. */
import { describe, expect, test } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { silentLog } from '../../src/base/log.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import { toCursor } from '../../src/event/sequence.ts';
import type { Cursor } from '../../src/event/sequence.ts';
import type { Head } from '../../src/ledger/ledger.ts';
import { HeadCheck } from '../../src/room/head-check.ts';
import type { Known } from '../../src/room/head-check.ts';
import { lossyBus } from '../support/lossy-bus.ts';
import { manualClock } from '../support/manual-clock.ts';
import { memoryLedger, unavailable } from '../support/memory-ledger.ts';

function setUp() {
  const clock = manualClock();
  const ledger = memoryLedger();
  const bus = lossyBus();
  const learnt: { session: string; head: Head | undefined; watermarkThen: Cursor }[] = [];
  const rooms = new Map<string, { known: Known; learn(head: Head | undefined, knownThen: Known): void }>();
  const open = (session: string, watermark = 0): void => {
    rooms.set(session, {
      known: { watermark: toCursor(watermark), state: 'open' },
      learn: (head, { watermark: watermarkThen }) => void learnt.push({ session, head, watermarkThen }),
    });
  };
  const check = new HeadCheck({ ledger, bus, rooms, clock, log: silentLog, metrics: createMetrics() });
  check.start();
  return { clock, ledger, bus, learnt, rooms, open, check };
}

describe('reading heads', () => {
  test('the first read begins at once; those that come while it is under way share the next', async () => {
    const { clock, ledger, check } = setUp();
    ledger.commit('a', 3);
    ledger.beforeAnswer = () => new Promise((resolve) => void clock.after(2, resolve));
    const early = check.read('a');
    expect(ledger.headReads).toBe(1);
    await clock.settle();
    const late = Array.from({ length: 5_000 }, () => check.read('a'));
    ledger.commit('a');
    await clock.advance(50);
    expect((await early)?.head).toBe(3);
    for (const head of await Promise.all(late)) expect(head?.head).toBe(4);
    expect(ledger.headReads).toBe(2);
  });

  test('a read never joins a batch that has begun: what was committed before it is in its answer', async () => {
    const { clock, ledger, check } = setUp();
    ledger.commit('a');
    let release: () => void = () => undefined;
    ledger.beforeAnswer = () => new Promise<void>((resolve) => (release = resolve));
    const first = check.read('a');
    await clock.settle();
    ledger.commit('a');
    const second = check.read('a');
    ledger.beforeAnswer = () => undefined;
    release();
    await clock.advance(limits.headReadSpacingMs);
    expect([(await first)?.head, (await second)?.head]).toEqual([1, 2]);
  });

  test('batches begin apart, however many ask', async () => {
    const { clock, ledger, check } = setUp();
    const asked: Promise<unknown>[] = [];
    for (let ms = 0; ms < 100; ms += 1) {
      asked.push(check.read('a'));
      await clock.advance(1);
    }
    expect(ledger.headReads).toBeLessThanOrEqual(100 / limits.headReadSpacingMs + 1);
    await clock.advance(limits.headReadSpacingCapMs);
    await Promise.all(asked);
  });

  test('behind a herd the next batch waits as long as the herd is large, up to a cap', async () => {
    const { clock, ledger, check } = setUp();
    const first = check.read('a');
    const herd = Array.from({ length: 100 }, () => check.read('a'));
    await clock.advance(limits.headReadSpacingMs);
    expect(ledger.headReads).toBe(2);
    const crowd = Array.from({ length: 10_000 }, () => check.read('a'));
    await clock.advance(199);
    expect(ledger.headReads).toBe(2);
    await clock.advance(1);
    expect(ledger.headReads).toBe(3);
    const last = check.read('a');
    await clock.advance(limits.headReadSpacingCapMs - 1);
    expect(ledger.headReads).toBe(3);
    await clock.advance(1);
    expect(ledger.headReads).toBe(4);
    await Promise.all([first, ...herd, ...crowd, last]);
  });

  test('who waits for the same batch waits for the same promise, so that a herd costs one', () => {
    const { check } = setUp();
    const first = check.read('a');
    expect(check.read('b')).not.toBe(first);
    expect(check.read('a')).not.toBe(first);
    expect(check.read('a')).toBe(check.read('a'));
  });

  test('a session that does not exist has no head', async () => {
    const { clock, check } = setUp();
    const reading = check.read('nobody');
    await clock.settle();
    expect(await reading).toBeUndefined();
  });

  test('everybody in a batch that fails is told, and the next one works', async () => {
    const { clock, ledger, check } = setUp();
    ledger.beforeRead = () => Promise.reject(unavailable());
    const failing = [check.read('a'), check.read('b')];
    const outcome = Promise.allSettled(failing);
    await clock.advance(50);
    expect((await outcome).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    ledger.beforeRead = () => undefined;
    ledger.commit('a');
    const working = check.read('a');
    await clock.advance(50);
    expect((await working)?.head).toBe(1);
  });

  test('who waits when the process stops is told so, and leaves no timer', async () => {
    const { clock, check } = setUp();
    const first = check.read('a');
    const waiting = check.read('a');
    check.stop();
    await expect(waiting).rejects.toMatchObject({ code: 'draining' });
    await expect(check.read('a')).rejects.toMatchObject({ code: 'draining' });
    await clock.settle();
    await first;
    expect(clock.waiting).toBe(0);
  });
});

describe('checking open rooms', () => {
  test('one query an interval tells every room, and none is made without rooms', async () => {
    const { clock, ledger, learnt, open } = setUp();
    await clock.advance(limits.headCheckMs * 3);
    expect(ledger.headReads).toBe(0);
    ledger.commit('a', 2);
    open('a', 1);
    open('b');
    await clock.advance(limits.headCheckMs);
    expect(ledger.headReads).toBe(1);
    expect(learnt).toEqual([
      { session: 'a', head: { head: 2, floor: 0, state: 'open' }, watermarkThen: 1 },
      { session: 'b', head: undefined, watermarkThen: 0 },
    ]);
  });

  test('while the bus is away they come more often; when it may have lost something, at once', async () => {
    const { clock, ledger, bus, open } = setUp();
    open('a');
    bus.goAway();
    expect(ledger.headReads).toBe(1);
    await clock.advance(limits.headCheckAwayMs * 4);
    expect(ledger.headReads).toBe(5);
    await clock.advance(limits.headCheckAwayMs / 2);
    bus.comeBack();
    expect(ledger.headReads).toBe(6);
    await clock.advance(limits.headCheckMs * 2);
    expect(ledger.headReads).toBe(8);
    await clock.advance(limits.headReadSpacingMs);
    bus.suspect('dropped');
    expect(ledger.headReads).toBe(9);
  });

  test('a room is told the watermark it had when the read began, and one that opened later is not told', async () => {
    const { clock, ledger, learnt, rooms, open, check } = setUp();
    ledger.commit('a', 9);
    open('a', 5);
    let release: () => void = () => undefined;
    ledger.beforeAnswer = () => new Promise<void>((resolve) => (release = resolve));
    const reading = check.read('a');
    await clock.settle();
    open('a', 9);
    open('b', 9);
    expect(rooms.get('a')?.known.watermark).toBe(9);
    release();
    await clock.settle();
    await reading;
    expect(learnt.map(({ session, watermarkThen }) => [session, watermarkThen])).toEqual([['a', 5]]);
  });

  test('a failing ledger does not end the checks', async () => {
    const { clock, ledger, learnt, open } = setUp();
    open('a');
    ledger.beforeRead = () => Promise.reject(unavailable());
    await clock.advance(limits.headCheckMs * 5);
    expect(learnt).toEqual([]);
    ledger.beforeRead = () => undefined;
    ledger.commit('a');
    await clock.advance(limits.headCheckMs);
    expect(learnt).toHaveLength(1);
  });
});
