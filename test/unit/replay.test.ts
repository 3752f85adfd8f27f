/** Pages of history: where they are cut, who shares them, and who waits. */
import { describe, expect, test } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { silentLog } from '../../src/base/log.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import { toCursor } from '../../src/event/sequence.ts';
import type { Cursor } from '../../src/event/sequence.ts';
import type { Page } from '../../src/ledger/ledger.ts';
import { PageCache, readPage } from '../../src/room/page-cache.ts';
import { Replay } from '../../src/room/replay.ts';
import type { Answer } from '../../src/room/replay.ts';
import { manualClock } from '../support/manual-clock.ts';
import { textOf } from '../support/ledger.ts';
import { memoryLedger, unavailable } from '../support/memory-ledger.ts';

function setUp(options: { cacheBytes?: number; latencyMs?: number } = {}) {
  const clock = manualClock();
  const ledger = memoryLedger();
  const { latencyMs } = options;
  if (latencyMs !== undefined) ledger.beforeRead = () => new Promise((resolve) => void clock.after(latencyMs, resolve));
  const cache = new PageCache(options.cacheBytes);
  const replay = new Replay({ ledger, clock, log: silentLog, metrics: createMetrics(), cache });
  const find = (session: string, cursor: Cursor, tailStart = cursor) => replay.find(session, cursor, tailStart);
  const answers: Answer[] = [];
  const ask = (session: string, cursor: number, watermark: number) =>
    replay.ask(session, toCursor(cursor), { watermark: toCursor(watermark) }, (answer) => answers.push(answer));
  const spans = () => answers.map((answer) => (answer === 'gone' ? answer : [answer.after, answer.last]));
  return { clock, ledger, cache, replay, find, answers, ask, spans };
}

describe('pages', () => {
  test('end at fixed places, and at the watermark at the latest', async () => {
    const { clock, ledger, ask, spans } = setUp();
    ledger.commit('a', 2_500);
    for (const [cursor, watermark] of [
      [0, 2_500],
      [37, 2_500],
      [1_000, 2_500],
      [2_000, 2_345],
      [2_001, 2_100],
    ] as const) {
      ask('a', cursor, watermark);
      await clock.settle();
    }
    expect(spans()).toEqual([
      [0, 1_000],
      [37, 1_000],
      [1_000, 2_000],
      [2_000, 2_345],
      [2_001, 2_100],
    ]);
  });

  test('are cut by bytes, and the next one begins where the last ended', async () => {
    const { clock, ledger, answers, ask } = setUp();
    ledger.commit('a', 1_000, 5_000);
    let cursor = 0;
    while (cursor < 1_000) {
      ask('a', cursor, 1_000);
      await clock.settle();
      const page = answers.at(-1) as Page;
      expect(page.after).toBe(cursor);
      expect(page.bytes).toBeLessThanOrEqual(limits.pageBytes);
      cursor = page.last;
    }
    expect(answers.length).toBeGreaterThan(4);
  });

  test('of large events hold at least one', async () => {
    const { clock, ledger, ask, spans } = setUp();
    ledger.commit('a', 2, limits.pageBytes);
    ask('a', 0, 2);
    await clock.settle();
    expect(spans()).toEqual([[0, 1]]);
  });

  test('read from any cursor as the whole does', async () => {
    const { clock, ledger, answers, ask } = setUp();
    ledger.commit('a', 900, 500);
    ask('a', 0, 900);
    await clock.settle();
    const page = answers[0] as Page;
    const whole = textOf(page);
    expect(page.pieces.length).toBeGreaterThan(5);
    for (const cursor of [0, 1, 100, 126, 127, 128, 500, 899]) {
      const slice = readPage(page, toCursor(cursor));
      expect(slice?.bytes.toString().startsWith(`id: ${cursor + 1}\n`)).toBe(true);
      expect(whole).toContain(slice?.bytes.toString());
      expect((slice?.last ?? 0) > cursor).toBe(true);
    }
    expect(readPage(page, toCursor(900))).toBeUndefined();
  });
});

describe('sharing', () => {
  test('all who want what one read brings wait for it together', async () => {
    const { clock, ledger, ask, spans } = setUp({ latencyMs: 5 });
    ledger.commit('a', 1_000);
    for (let reader = 0; reader < 100; reader += 1) ask('a', reader, 1_000);
    await clock.advance(10);
    expect(ledger.pageReads).toBe(1);
    expect(spans()).toEqual(Array.from({ length: 100 }, () => [0, 1_000]));
  });

  test('those that follow find it, wherever in it they stand', async () => {
    const { clock, ledger, find, ask } = setUp();
    ledger.commit('a', 1_000);
    ask('a', 10, 1_000);
    await clock.settle();
    expect(find('a', toCursor(500))?.last).toBe(1_000);
    expect(find('a', toCursor(9))).toBeUndefined();
    expect(find('b', toCursor(500))).toBeUndefined();
  });

  test('of two pages that hold a cursor the one that reaches further is given', async () => {
    const { clock, ledger, find, ask } = setUp();
    ledger.commit('a', 1_000);
    ask('a', 10, 20);
    await clock.settle();
    ask('a', 5, 900);
    await clock.settle();
    expect(find('a', toCursor(12))?.last).toBe(900);
  });

  test('what is kept is bounded in bytes, and what was used last stays', async () => {
    const { clock, ledger, find, cache, ask } = setUp({ cacheBytes: 300_000 });
    ledger.commit('a', 5_000, 10);
    for (const cursor of [0, 1_000, 2_000]) {
      ask('a', cursor, 5_000);
      await clock.settle();
      expect(find('a', toCursor(0))).toBeDefined();
      expect(cache.bytes).toBeLessThanOrEqual(300_000);
      await clock.advance(limits.readAheadMs + 1); // at no run
    }
    expect(find('a', toCursor(1_000))).toBeUndefined();
  });

  test('a history that changed is served from nothing that was read before, or is being read', async () => {
    const { clock, ledger, replay, find, cache, answers, ask } = setUp();
    ledger.commit('a', 10);
    ask('a', 7, 10);
    await clock.settle();
    ledger.beforeAnswer = () => new Promise((resolve) => void clock.after(5, resolve));
    const old = ask('a', 5, 10);
    await clock.settle();
    replay.forget('a');
    old.cancel();
    expect(cache.bytes).toBe(0);
    ledger.restore('a', 0);
    ledger.commit('a', 10, 77);
    await clock.advance(10);
    expect(find('a', toCursor(5))).toBeUndefined();
    ask('a', 5, 10);
    await clock.advance(10);
    expect(textOf(answers.at(-1) as Page)).toContain('6'.padEnd(77, '.'));
    expect(answers).toHaveLength(2);
  });
});

describe('reading ahead', () => {
  /** Two pages at a run, each asked for as soon as the one before is there. */
  const atARun = async (latencyMs: number, cacheBytes?: number) => {
    const all = setUp({ latencyMs, ...(cacheBytes === undefined ? {} : { cacheBytes }) });
    all.ledger.commit('a', 9_000, 1);
    for (const cursor of [0, 1_000]) {
      all.ask('a', cursor, 9_000);
      await all.clock.advance(latencyMs);
    }
    return all;
  };

  test('a reader at a run finds each page there, one ahead of it and no more', async () => {
    const { clock, ledger, find } = await atARun(5);
    for (let cursor = 2_000; cursor < 8_000; cursor += 1_000) {
      expect(ledger.pageReads).toBe(cursor / 1_000 + 1);
      await clock.advance(50);
      expect(find('a', toCursor(cursor), toCursor(9_000))).toMatchObject({ after: cursor, last: cursor + 1_000 });
    }
  });

  test('who comes while it is being read waits for that read, and is at a run still', async () => {
    const { clock, ledger, ask, spans } = await atARun(5);
    ask('a', 2_000, 9_000);
    await clock.advance(5);
    expect(spans().at(-1)).toEqual([2_000, 3_000]);
    expect(ledger.pageReads).toBe(4);
  });

  test('nothing is read for a reader that falls behind, nor for one that stalls in the middle of a page', async () => {
    const { clock, ledger, find, ask } = await atARun(5);
    await clock.advance(limits.readAheadMs + 1);
    expect(find('a', toCursor(2_000), toCursor(9_000))).toBeDefined();
    await clock.advance(limits.readAheadMs + 1);
    expect(find('a', toCursor(2_900), toCursor(9_000))).toBeDefined();
    ask('a', 3_000, 9_000);
    await clock.advance(1_000);
    expect(ledger.pageReads).toBe(4);
  });

  test('nothing is read for more runners than the cache has places for', async () => {
    const { clock, ledger, answers } = await atARun(5);
    const pageBytes = (answers[0] as Page).bytes;
    await clock.advance(1_000);
    expect(ledger.pageReads).toBe(3);
    const crowded = await atARun(5, Math.floor(1.5 * pageBytes));
    await crowded.clock.advance(1_000);
    expect(crowded.ledger.pageReads).toBe(2);
  });

  test('it ends where the tail begins', async () => {
    const { clock, ledger, find } = await atARun(5);
    await clock.advance(5);
    find('a', toCursor(2_000), toCursor(3_700));
    await clock.advance(5);
    expect(find('a', toCursor(3_000), toCursor(3_700))).toMatchObject({ after: 3_000, last: 3_700 });
    await clock.advance(1_000);
    expect(ledger.pageReads).toBe(4);
  });

  test('who waits for a page goes before what nobody waits for', async () => {
    const { clock, ledger, find, ask, answers } = await atARun(10);
    await clock.advance(10);
    for (let block = 0; block < 2 * limits.replayConnections; block += 1) ask('b', block * 1_000, 90_000);
    const before = ledger.pageReads;
    find('a', toCursor(2_000), toCursor(9_000));
    await clock.advance(10);
    expect(ledger.pageReads - before).toBe(limits.replayConnections);
    await clock.advance(10);
    expect(answers).toHaveLength(2 + 2 * limits.replayConnections);
  });

  test('what could not be read ahead is read when somebody asks', async () => {
    const { clock, ledger, ask, spans } = setUp();
    ledger.commit('a', 9_000, 1);
    ask('a', 0, 9_000);
    await clock.settle();
    ledger.beforeRead = () => {
      if (ledger.pageReads === 3) throw unavailable();
    };
    ask('a', 1_000, 9_000);
    await clock.settle();
    expect([ledger.pageReads, clock.waiting]).toEqual([3, 0]);
    ask('a', 2_000, 9_000);
    await clock.settle();
    expect(spans().at(-1)).toEqual([2_000, 3_000]);
  });
});

describe('the line', () => {
  test('no more reads run together than there are connections', async () => {
    const { clock, ledger, ask, spans } = setUp();
    ledger.commit('a', 40_000, 1);
    let running = 0;
    let most = 0;
    ledger.beforeRead = async () => {
      most = Math.max(most, (running += 1));
      await new Promise<void>((resolve) => void clock.after(1, resolve));
      running -= 1;
    };
    for (let block = 0; block < 40; block += 1) ask('a', block * 1_000, 40_000);
    await clock.advance(100);
    expect(most).toBe(limits.replayConnections);
    expect(spans()).toHaveLength(40);
  });

  test('a session with many readers does not keep another waiting', async () => {
    const { clock, ledger, answers, ask } = setUp({ latencyMs: 10 });
    ledger.commit('busy', 100_000, 1);
    ledger.commit('quiet', 5);
    for (let block = 0; block < 100; block += 1) ask('busy', block * 1_000, 100_000);
    ask('quiet', 0, 5);
    await clock.advance(25);
    expect(answers).toContainEqual(expect.objectContaining({ after: 0, last: 5 }));
  });

  test('who left before its turn costs no read', async () => {
    const { clock, ledger, ask, answers } = setUp({ latencyMs: 10 });
    ledger.commit('a', 50_000, 1);
    const asks = Array.from({ length: 50 }, (_, block) => ask('a', block * 1_000, 50_000));
    for (const waiting of asks) waiting.cancel();
    await clock.advance(1_000);
    expect([ledger.pageReads, answers.length, clock.waiting]).toEqual([limits.replayConnections, 0, 0]);
  });

  test('a page for thousands is handed out in turns', async () => {
    const { clock, ledger, ask, answers } = setUp();
    ledger.commit('a', 10);
    for (let reader = 0; reader < 1_000; reader += 1) ask('a', 0, 10);
    clock.lookCostMs = limits.turnMs / 2;
    await clock.advance(1_000);
    expect(answers).toHaveLength(1_000);
    expect(clock.turns).toBeGreaterThan(50);
  });
});

describe('a ledger that does not answer', () => {
  test('is asked again, less and less often, until it does', async () => {
    const { clock, ledger, ask, answers } = setUp();
    ledger.commit('a', 10);
    ledger.beforeRead = () => Promise.reject(unavailable());
    ask('a', 0, 10);
    await clock.advance(30_000);
    expect(ledger.pageReads).toBeGreaterThan(10);
    expect(ledger.pageReads).toBeLessThan(40);
    ledger.beforeRead = () => undefined;
    await clock.advance(limits.pageRetryCapMs);
    expect(answers).toHaveLength(1);
  });

  test('holds no place in the line of those that it would answer', async () => {
    const { clock, ledger, ask, answers } = setUp();
    ledger.commit('a', 10);
    ledger.commit('b', 10);
    let failing = 0;
    ledger.beforeRead = () => {
      if (failing++ < limits.replayConnections) throw unavailable();
    };
    for (let block = 0; block < limits.replayConnections; block += 1) ask('a', block * 1_000, 90_000);
    ask('b', 0, 10);
    await clock.settle();
    expect(answers).toHaveLength(1);
  });

  test('an ask that is given up is not tried again', async () => {
    const { clock, ledger, ask } = setUp();
    ledger.beforeRead = () => Promise.reject(unavailable());
    const waiting = ask('a', 0, 10);
    await clock.settle();
    waiting.cancel();
    await clock.advance(10_000);
    expect([ledger.pageReads, clock.waiting]).toEqual([1, 0]);
  });
});

describe('rows that are gone', () => {
  test('are said to be gone when there are none, and when they begin later than they should', async () => {
    const { clock, ledger, ask, answers, cache } = setUp();
    ledger.commit('a', 10);
    ledger.retain('a', 6);
    ask('a', 3, 10);
    ask('b', 0, 10);
    await clock.settle();
    expect(answers).toEqual(['gone', 'gone']);
    expect(cache.bytes).toBe(0);
  });

  test('a page that ends early is given to who asked, and kept for nobody', async () => {
    const { clock, ledger, ask, spans, cache } = setUp();
    ledger.commit('a', 10);
    ledger.restore('a', 4);
    ask('a', 0, 10);
    await clock.settle();
    expect([spans(), cache.bytes]).toEqual([[[0, 4]], 0]);
  });
});
