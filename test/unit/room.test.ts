/** Rooms as their readers see them, over a bus and a ledger that misbehave. */
import { describe, expect, test, vi } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import type { Broadcast } from '../../src/bus/bus.ts';
import { toCursor, toSequence } from '../../src/event/sequence.ts';
import type { Cursor } from '../../src/event/sequence.ts';
import { fakeWriter } from '../support/fake-writer.ts';
import { unavailable } from '../support/memory-ledger.ts';
import { createWorld, range } from '../support/world.ts';
import type { World } from '../support/world.ts';

const session = 's1';
const oneCheckMs = limits.headCheckMs + limits.headReadSpacingMs + limits.reorderMs + limits.coalesceMs;

async function count(world: World, name: 'repairs' | 'pages' | 'streamEnds', label: string): Promise<number> {
  const { values } = await world.metrics[name].get();
  return values
    .filter((entry) => Object.values(entry.labels).includes(label))
    .reduce((sum, entry) => sum + entry.value, 0);
}

describe('joining', () => {
  test('a reader gets retry, hello, the events, connected, and then what comes', async () => {
    const world = await createWorld();
    world.append(session, 3);
    const reader = await world.follow(session);
    await world.clock.settle();
    world.append(session);
    expect(reader.text).toMatch(
      /^retry: \d+\n\nevent: hello\nid: 0\ndata: \{"session":"s1","after":0,"floor":0,"head":3\}\n\n/,
    );
    expect(reader.frames.map((frame) => frame.event ?? frame.id)).toEqual(['hello', '1', '2', '3', 'connected', '4']);
  });

  test('the first bytes come within the join itself, also on an idle session', async () => {
    const world = await createWorld();
    world.append(session);
    const reader = await world.follow(session, 'head');
    expect(reader.controls).toEqual(['hello', 'connected']);
  });

  test('the wait before a reconnect is jittered around its mean', async () => {
    const world = await createWorld();
    world.append(session);
    const waits: number[] = [];
    for (let index = 0; index < 200; index += 1) {
      const reader = await world.follow(session, 'head');
      waits.push(Number(/retry: (\d+)/.exec(reader.text)?.[1]));
    }
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(limits.retryMs / 2);
    expect(Math.max(...waits)).toBeLessThanOrEqual(limits.retryMs * 1.5);
    expect(new Set(waits).size).toBeGreaterThan(100);
  });

  test.each([
    ['malformed', '1e3', 2],
    ['ahead', '99', 2],
    ['expired', '1', 2],
  ])('a %s cursor gets a reset and then the stream from the floor', async (reason, cursor, floor) => {
    const world = await createWorld();
    world.append(session, 5);
    world.ledger.retain(session, floor);
    const reader = await world.follow(session, cursor);
    await world.clock.settle();
    expect(reader.frames.map((frame) => frame.event ?? frame.id)).toEqual([
      'hello',
      'reset',
      '3',
      '4',
      '5',
      'connected',
    ]);
    expect(reader.frames[1]).toMatchObject({ id: String(floor), data: { reason, floor, head: 5 } });
  });

  test('a reader that comes from a gateway that is ahead waits for this room, and is connected at once', async () => {
    const world = await createWorld();
    world.append(session, 2);
    await world.follow(session);
    world.ledger.commit(session, 3);
    const reader = await world.follow(session, '5');
    expect(reader.controls).toEqual(['hello', 'connected']);
    expect(reader.frames.at(-1)).toMatchObject({ id: '5', data: { head: 5 } });
    world.append(session);
    await world.clock.advance(oneCheckMs);
    expect(reader.sequences).toEqual([6]);
  });

  test('connected is said once, when everything up to the head of joining was handed over', async () => {
    const world = await createWorld();
    world.append(session, 2_500);
    const reader = await world.follow(session);
    await world.clock.advance(50);
    world.append(session);
    await world.clock.advance(oneCheckMs);
    const names = reader.frames.map((frame) => frame.event ?? Number(frame.id));
    expect(names.filter((name) => name === 'connected')).toHaveLength(1);
    expect(names.indexOf('connected')).toBe(names.indexOf(2_500) + 1);
  });
});

describe('what the bus loses', () => {
  test('the last broadcast of a burst is lost: a head check delivers it within its interval', async () => {
    const world = await createWorld();
    world.append(session);
    const reader = await world.follow(session);
    await world.clock.settle();
    world.ledger.commit(session, 3);
    await world.clock.advance(oneCheckMs);
    expect(reader.sequences).toEqual(range(1, 4));
    expect(await count(world, 'repairs', 'head')).toBe(1);
  });

  test('the broadcast of a close is lost: the stream ends all the same', async () => {
    const world = await createWorld();
    world.append(session);
    const reader = await world.follow(session);
    world.ledger.commit(session, 2);
    world.ledger.close(session);
    await world.clock.advance(oneCheckMs);
    expect(reader.sequences).toEqual([1, 2, 3]);
    expect(reader.frames.at(-1)).toMatchObject({ event: 'end', id: '3', data: { reason: 'closed', head: 3 } });
    expect(reader.isEnded).toBe(true);
  });

  test('mere reordering needs no query', async () => {
    const world = await createWorld();
    world.append(session);
    const reader = await world.follow(session, 'head');
    await world.clock.settle();
    const reads = world.ledger.pageReads;
    const [a, b, c] = [world.ledger.commit(session), world.ledger.commit(session), world.ledger.commit(session)];
    for (const broadcast of [c, b, a, b, c]) world.broadcast(session, broadcast);
    await world.clock.advance(limits.reorderMs * 2);
    expect(reader.sequences).toEqual([2, 3, 4]);
    expect(world.ledger.pageReads).toBe(reads);
    expect(await count(world, 'repairs', 'gap')).toBe(0);
  });

  test('a gap is read from the ledger once for a hundred readers, before what revealed it', async () => {
    const world = await createWorld();
    world.append(session);
    const readers = [];
    for (let index = 0; index < 100; index += 1) readers.push(await world.follow(session, 'head'));
    await world.clock.advance(100);
    const reads = world.ledger.pageReads;
    world.ledger.commit(session, 2);
    world.append(session);
    await world.clock.advance(limits.reorderMs + limits.coalesceMs);
    for (const reader of readers) expect(reader.sequences).toEqual([2, 3, 4]);
    expect(world.ledger.pageReads - reads).toBe(1);
    expect(await count(world, 'repairs', 'gap')).toBe(1);
  });

  test('a range without frames is read from the ledger', async () => {
    const world = await createWorld();
    world.append(session);
    const reader = await world.follow(session);
    const { first, last } = world.ledger.commit(session, 2);
    world.broadcast(session, { kind: 'events', first, last });
    await world.clock.advance(limits.coalesceMs);
    expect(reader.sequences).toEqual([1, 2, 3]);
    expect(await count(world, 'repairs', 'range')).toBe(1);
  });

  test('a range that lies across the watermark repeats nothing', async () => {
    const world = await createWorld();
    world.append(session, 2);
    const reader = await world.follow(session, 'head');
    const whole = world.ledger.commit(session, 4);
    const firstHalf: Broadcast = {
      kind: 'events',
      first: whole.first,
      last: toSequence(4),
      frames: (whole.frames as Buffer).subarray(0, (whole.frames as Buffer).indexOf('id: 5')),
    };
    world.broadcast(session, firstHalf);
    world.broadcast(session, whole);
    await world.clock.advance(limits.coalesceMs);
    expect(reader.sequences).toEqual([3, 4, 5, 6]);
  });

  test('frames that are not what their broadcast says are read from the ledger', async () => {
    const world = await createWorld();
    world.append(session);
    const reader = await world.follow(session);
    await world.clock.settle();
    const told = world.ledger.commit(session, 2);
    world.broadcast(session, { ...told, frames: Buffer.from('id: 2\ndata: {"sequence":2}\n\n') });
    const more = world.ledger.commit(session);
    world.broadcast(session, { ...more, frames: told.frames?.subarray(0, told.frames.length / 2) as Buffer });
    await world.clock.advance(oneCheckMs);
    expect(reader.sequences).toEqual([1, 2, 3, 4]);
    expect(await count(world, 'repairs', 'range')).toBe(2);
  });

  test('while the bus is away readers go on by polling, and closer together', async () => {
    const world = await createWorld();
    world.append(session);
    world.bus.goAway();
    const reader = await world.follow(session);
    for (let sequence = 2; sequence < 6; sequence += 1) {
      world.append(session);
      await world.clock.advance(
        limits.headCheckAwayMs + limits.reorderMs + limits.headReadSpacingMs + limits.coalesceMs,
      );
      expect(reader.sequences.at(-1)).toBe(sequence);
    }
    world.append(session);
    world.bus.comeBack();
    await world.clock.advance(limits.headReadSpacingMs + limits.reorderMs + limits.coalesceMs);
    expect(reader.sequences).toEqual(range(1, 6));
  });

  test('what fell between the head of the first join and the subscription is read as soon as that is ready', async () => {
    const world = await createWorld();
    world.append(session);
    const subscribe = world.bus.subscribe.bind(world.bus);
    world.bus.subscribe = (id, listener) => {
      const ready = new Promise<void>((resolve) => {
        world.clock.after(100, () => {
          subscribe(id, listener);
          resolve();
        });
      });
      return { ready, unsubscribe: () => undefined };
    };
    const reader = await world.follow(session);
    world.append(session);
    await world.clock.advance(50);
    expect(reader.sequences).toEqual([1]);
    await world.clock.advance(50 + limits.headReadSpacingMs + limits.reorderMs + limits.coalesceMs);
    expect(reader.sequences).toEqual([1, 2]);
  });

  test('a subscription that fails is tried again, and head checks carry the room meanwhile', async () => {
    const world = await createWorld();
    world.append(session);
    const subscribe = world.bus.subscribe.bind(world.bus);
    let tries = 0;
    world.bus.subscribe = (id, listener) =>
      (tries += 1) < 4
        ? { ready: Promise.reject(new Error('no')), unsubscribe: () => undefined }
        : subscribe(id, listener);
    const reader = await world.follow(session);
    world.append(session);
    await world.clock.advance(oneCheckMs);
    expect(reader.sequences).toEqual([1, 2]);
    await world.clock.advance(5_000);
    expect(tries).toBe(4);
    world.append(session);
    expect(reader.sequences).toEqual([1, 2, 3]);
  });

  test('a busy session that is merely ahead of its broadcasts is not repaired by a head check', async () => {
    const world = await createWorld();
    world.append(session);
    const reader = await world.follow(session, 'head');
    await world.clock.advance(50);
    world.ledger.beforeAnswer = (kind) => {
      if (kind === 'heads') queueMicrotask(() => void world.clock.after(1, () => world.bus.release()));
    };
    world.bus.meet(() => 'hold');
    world.append(session);
    await world.clock.advance(oneCheckMs);
    expect(reader.sequences).toEqual([2]);
    expect(await count(world, 'repairs', 'head')).toBe(0);
  });
});

describe('the end', () => {
  test('a close that is broadcast ends every reader at the head', async () => {
    const world = await createWorld();
    world.append(session, 3);
    const readers = [await world.follow(session), await world.follow(session, 'head')];
    await world.clock.settle();
    world.ledger.close(session);
    world.broadcast(session, { kind: 'head' });
    await world.clock.advance(50);
    for (const reader of readers) expect([reader.controls.at(-1), reader.isEnded]).toEqual(['end', true]);
    expect(await count(world, 'streamEnds', 'closed')).toBe(2);
  });

  test('a reader of a closed session gets all of it and the end', async () => {
    const world = await createWorld();
    world.append(session, 1_500);
    world.ledger.close(session);
    const reader = await world.follow(session);
    await world.clock.advance(20);
    expect(reader.sequences).toEqual(range(1, 1_500));
    expect(reader.controls).toEqual(['hello', 'connected', 'end']);
  });

  test('a close is not the end for a reader that waits for history, nor for a slow one, until they have it', async () => {
    const world = await createWorld();
    world.append(session, 3_000, 200);
    const slow = fakeWriter();
    slow.stall();
    await world.follow(session, '0', { writer: slow });
    await world.clock.advance(50);
    world.ledger.close(session);
    world.broadcast(session, { kind: 'head' });
    await world.clock.advance(50);
    expect(slow.controls).not.toContain('end');
    for (let turn = 0; turn < 20; turn += 1) {
      slow.gulp();
      await world.clock.advance(20);
    }
    slow.drain();
    await world.clock.advance(50);
    expect(slow.sequences).toEqual(range(1, 3_000));
    expect(slow.controls.at(-1)).toBe('end');
  });

  test('a deletion ends every reader, whatever it was doing, without the erased rows', async () => {
    const world = await createWorld();
    world.append(session, 5_000, 200);
    const slow = fakeWriter();
    slow.stall();
    const readers = [await world.follow(session), await world.follow(session, 'head')];
    await world.follow(session, '0', { writer: slow });
    await world.clock.advance(20);
    world.ledger.beforeRead = (kind) => (kind === 'page' ? Promise.reject(unavailable()) : undefined);
    const paging = await world.follow(session, '2500');
    world.ledger.erase(session);
    world.broadcast(session, { kind: 'head' });
    await world.clock.advance(50);
    for (const reader of [...readers, paging]) {
      expect(reader.frames.at(-1)).toMatchObject({ event: 'end', data: { reason: 'deleted' } });
    }
    slow.drain();
    await world.clock.advance(50);
    expect(slow.frames.at(-1)).toMatchObject({
      event: 'end',
      id: String(slow.sequences.at(-1)),
      data: { reason: 'deleted' },
    });
  });

  test('a deletion whose broadcast is lost is noticed by the reader that finds no rows', async () => {
    const world = await createWorld();
    world.append(session, 2_500, 200);
    const slow = fakeWriter();
    slow.stall();
    await world.follow(session, '0', { writer: slow });
    await world.clock.advance(50);
    world.ledger.erase(session);
    slow.drain();
    await world.clock.advance(50);
    expect(slow.frames.at(-1)).toMatchObject({ event: 'end', data: { reason: 'deleted' } });
  });

  test('an older answer does not open a closed session again', async () => {
    const world = await createWorld();
    world.append(session, 1);
    const before = world.ledger.head(session);
    world.ledger.close(session);
    const first = await world.follow(session);
    const late = fakeWriter();
    world.rooms.join({ session, requested: { kind: 'head' }, head: before, writer: late });
    await world.clock.settle();
    expect([first.controls.at(-1), late.controls.at(-1)]).toEqual(['end', 'end']);
  });
});

describe('a database that went back', () => {
  test('readers beyond its head are reset and go on from the floor; the others do not notice', async () => {
    const world = await createWorld();
    world.append(session, 20);
    const ahead = await world.follow(session);
    const behind = fakeWriter();
    await world.clock.settle();
    world.ledger.restore(session, 5);
    await world.clock.advance(oneCheckMs);
    await world.follow(session, '3', { writer: behind });
    world.append(session, 2);
    await world.clock.advance(oneCheckMs);
    expect(ahead.frames.find((frame) => frame.event === 'reset')).toMatchObject({
      id: '0',
      data: { reason: 'restored', floor: 0, head: 5 },
    });
    expect(ahead.sequences).toEqual([...range(1, 20), ...range(1, 7)]);
    expect(ahead.controls.filter((name) => name === 'connected')).toHaveLength(1);
    expect(behind.sequences).toEqual(range(4, 7));
    expect(behind.controls).not.toContain('reset');
  });

  test('a page that was under way when the database went back is not served', async () => {
    const world = await createWorld();
    world.append(session, 20);
    await world.follow(session, 'head');
    let release: () => void = () => undefined;
    world.ledger.beforeAnswer = (kind) =>
      kind === 'page' ? new Promise<void>((resolve) => (release = resolve)) : undefined;
    const reader = await world.follow(session);
    world.ledger.restore(session, 5);
    world.append(session, 2, 90);
    world.ledger.beforeAnswer = () => undefined;
    await world.clock.advance(oneCheckMs);
    release();
    await world.clock.advance(oneCheckMs);
    expect(reader.sequences).toEqual(range(1, 7));
    expect(reader.frames.find((frame) => frame.id === '7')?.data['data']).toMatchObject({ text: '7'.padEnd(90, '.') });
  });

  test('a page that was read before is not served after, though nobody was there when it went back', async () => {
    const world = await createWorld();
    world.append(session, 20);
    (await world.follow(session)).cut();
    await world.clock.advance(limits.roomLingerMs + 100);
    world.ledger.restore(session, 5);
    world.append(session, 3, 90);
    const reader = await world.follow(session);
    await world.clock.advance(oneCheckMs);
    expect(reader.sequences).toEqual(range(1, 8));
    expect(reader.frames.find((frame) => frame.id === '8')?.data['data']).toMatchObject({ text: '8'.padEnd(90, '.') });
  });

  test.each(['close', 'erase'] as const)(
    'it takes back that a session was over (%s), with its head where it was',
    async (over) => {
      const world = await createWorld();
      world.append(session, 2);
      const watching = await world.follow(session);
      world.ledger[over](session);
      await world.clock.advance(oneCheckMs);
      expect(watching.controls.at(-1)).toBe('end');
      world.ledger.restore(session, 2);
      await world.follow(session, '2');
      await world.clock.advance(oneCheckMs);
      const back = await world.follow(session, '2');
      await world.clock.advance(oneCheckMs);
      world.append(session);
      await world.clock.advance(oneCheckMs);
      expect(back.sequences).toEqual([3]);
      expect(back.controls).not.toContain('end');
    },
  );

  test('a watermark that rose while the heads were read is not taken for a head that fell', async () => {
    const world = await createWorld();
    world.append(session);
    const reader = await world.follow(session);
    let release: () => void = () => undefined;
    world.ledger.beforeAnswer = () => new Promise<void>((resolve) => (release = resolve));
    await world.clock.advance(limits.headCheckMs);
    world.append(session, 2);
    release();
    await world.clock.advance(50);
    expect(reader.controls).not.toContain('reset');
    expect(reader.sequences).toEqual([1, 2, 3]);
  });

  test('retention that overtakes a slow reader is said, not skipped', async () => {
    const world = await createWorld();
    world.append(session, 3_000, 300);
    const slow = fakeWriter();
    slow.stall();
    await world.follow(session, '0', { writer: slow });
    await world.clock.advance(20);
    const seen = slow.sequences.length;
    world.ledger.retain(session, 2_000);
    slow.drain();
    for (let turn = 0; turn < 10; turn += 1) await world.clock.advance(20);
    expect(slow.frames.find((frame) => frame.event === 'reset')).toMatchObject({
      data: { reason: 'expired', floor: 2_000 },
    });
    expect(seen).toBeLessThan(2_000);
    expect(slow.sequences.slice(-1_000)).toEqual(range(2_001, 3_000));
  });

  test('a reader whose floor rose is given what the tail holds for it at once', async () => {
    const world = await createWorld();
    const writer = fakeWriter();
    world.append(session, 3_000, 300);
    await world.follow(session, 'head');
    world.append(session, 500, 3_000);
    writer.stall();
    await world.follow(session, '0', { writer });
    await world.clock.advance(20);
    world.ledger.retain(session, 3_000);
    const before = writer.flushes;
    writer.drain();
    for (let turn = 0; turn < 10; turn += 1) await world.clock.advance(20);
    expect(writer.sequences.slice(-500)).toEqual(range(3_001, 3_500));
    // of 1.5 MB no more than the socket takes at a time
    expect(writer.flushes - before).toBeLessThan(15);
  });
});

describe('Postgres away', () => {
  test('open streams stay open and go on by themselves', async () => {
    const world = await createWorld();
    world.append(session, 1_200);
    let isAway = true;
    const reader = await world.follow(session, 'head');
    world.ledger.beforeRead = () => (isAway ? Promise.reject(unavailable()) : undefined);
    const head = world.ledger.head(session);
    const paging = fakeWriter();
    world.rooms.join({ session, requested: { kind: 'start' }, head, writer: paging });
    await world.clock.advance(60_000);
    expect([reader.isClosed, paging.isClosed]).toEqual([false, false]);
    expect(world.ledger.pageReads).toBeLessThan(60);
    world.bus.meet(() => 'drop');
    isAway = false;
    world.append(session);
    await world.clock.advance(limits.pageRetryCapMs + oneCheckMs);
    expect(reader.sequences).toEqual([1_201]);
    expect(paging.sequences).toEqual(range(1, 1_201));
  });

  test('a head that cannot be read is refused as unavailable', async () => {
    const world = await createWorld();
    world.ledger.beforeRead = () => Promise.reject(unavailable());
    await expect(world.rooms.readHead(session)).rejects.toMatchObject({ code: 'unavailable' });
  });
});

describe('going away', () => {
  test('each of 1,000 readers is told to go, with a slot of its own', async () => {
    const world = await createWorld();
    world.append(session);
    const head = world.ledger.head(session);
    const readers = range(1, 1_000).map(() => {
      const writer = fakeWriter();
      world.rooms.join({ session, requested: { kind: 'start' }, head, writer });
      return writer;
    });
    await world.clock.settle();
    world.rooms.drain(10_000);
    await world.clock.settle();
    const slots = readers.map((reader) => Number(/event: goaway\nretry: (\d+)/.exec(reader.text)?.[1]));
    for (const reader of readers) expect(reader.isEnded).toBe(true);
    const perSecond = range(0, 9).map((second) => slots.filter((slot) => Math.floor(slot / 1_000) === second).length);
    for (const share of perSecond) expect(Math.abs(share - 100)).toBeLessThanOrEqual(2);
    const late = fakeWriter();
    world.rooms.join({ session, requested: { kind: 'start' }, head, writer: late });
    expect([late.controls, late.isEnded]).toEqual([['goaway'], true]);
    await world.rooms.stop();
  });

  test('on a machine that is too busy to tell them all within a second, each reader is told before it is cut off', async () => {
    const world = await createWorld();
    world.append(session);
    const head = world.ledger.head(session);
    const readers = range(1, 400).map(() => {
      const writer = fakeWriter();
      writer.stall();
      world.rooms.join({ session, requested: { kind: 'start' }, head, writer });
      return writer;
    });
    await world.clock.settle();
    world.clock.lookCostMs = 100;
    world.rooms.drain(10_000);
    const stopping = world.rooms.stop();
    await world.clock.advance(60_000);
    await stopping;
    expect(readers.filter((reader) => !reader.controls.includes('goaway'))).toEqual([]);
    expect(readers.filter((reader) => !reader.isClosed)).toEqual([]);
  });

  test('stop does not wait for ever for a reader that takes nothing', async () => {
    const world = await createWorld();
    world.append(session, 10);
    const stuck = fakeWriter();
    stuck.stall();
    await world.follow(session, '0', { writer: stuck });
    const stopping = world.rooms.stop();
    await world.clock.advance(5_000);
    await stopping;
    expect([stuck.isClosed, world.rooms.subscribers, world.clock.waiting]).toEqual([true, 0, 0]);
    await world.rooms.stop();
  });

  test('1,000 joins and kills leave nothing behind', async () => {
    const world = await createWorld();
    world.append(session, 1_500);
    const idleTimers = world.clock.waiting;
    const gone: { readonly mock: { readonly calls: readonly unknown[] } }[] = [];
    for (let index = 0; index < 1_000; index += 1) {
      const writer = await world.follow(session, index % 3 === 0 ? 'head' : 'x', {
        expiresAtMs: world.clock.wall() + 3_600_000,
      });
      if (index % 2 === 0) await world.clock.settle();
      writer.cut();
      gone.push(vi.spyOn(writer, 'sentBytes', 'get'));
    }
    expect(world.rooms.subscribers).toBe(0);
    await world.clock.advance(limits.roomLingerMs * 2 + limits.syncMs);
    // The wheel has come round, and visited none of them.
    expect(gone.filter((look) => look.mock.calls.length > 0)).toEqual([]);
    expect(world.rooms.describe(session)).toBeUndefined();
    expect([world.bus.subscriptions, world.clock.waiting]).toEqual([0, idleTimers]);
    expect((await world.metrics.subscribers.get()).values[0]?.value).toBe(0);
    expect((await world.metrics.rooms.get()).values[0]?.value).toBe(0);
  });

  test('a room that closes leaves no timer, though news has just come', async () => {
    const world = await createWorld();
    world.append(session);
    const idleTimers = world.clock.waiting;
    (await world.follow(session)).cut();
    await world.clock.advance(limits.roomLingerMs - 1);
    for (const _ of ['told at once', 'to be told with what follows']) {
      world.append(session);
      await world.clock.settle();
    }
    await world.clock.advance(1);
    expect([world.rooms.describe(session), world.clock.waiting]).toEqual([undefined, idleTimers]);
  });

  test('a room lingers, so that a reload finds it', async () => {
    const world = await createWorld();
    world.append(session);
    (await world.follow(session)).cut();
    await world.clock.advance(limits.roomLingerMs - 100);
    expect(world.rooms.describe(session)).toEqual({ watermark: 1, subscribers: 0 });
    const again = await world.follow(session);
    await world.clock.advance(limits.roomLingerMs * 2);
    world.append(session);
    expect(again.sequences).toEqual([1, 2]);
    expect(world.bus.subscriptions).toBe(1);
  });
});

describe('one session does not affect another', () => {
  test('broadcasts, closes and restores reach only their own readers', async () => {
    const world = await createWorld();
    world.append('a', 3);
    world.append('b', 3);
    const [a, b] = [await world.follow('a'), await world.follow('b')];
    world.ledger.erase('a');
    world.broadcast('a', { kind: 'head' });
    world.append('b');
    await world.clock.advance(50);
    expect(a.frames.at(-1)).toMatchObject({ event: 'end' });
    expect(b.sequences).toEqual(range(1, 4));
  });
});

describe('a herd', () => {
  test('5,000 joiners at any cursor cost a handful of head reads and page queries', async () => {
    const world = await createWorld();
    world.append(session, 3_000);
    world.ledger.beforeRead = () => new Promise((resolve) => void world.clock.after(3, resolve));
    const [heads, pages] = [world.ledger.headReads, world.ledger.pageReads];
    const writers = range(1, 5_000).map(() => fakeWriter());
    const cursors = writers.map(() => toCursor(2_400 + Math.floor(world.clock.random() * 600)));
    const joins = writers.map(async (writer, index) => {
      await new Promise<void>((resolve) => void world.clock.after(Math.floor(index / 50), resolve));
      const head = await world.rooms.readHead(session);
      if (head === undefined) throw new Error('no head');
      world.rooms.join({ session, requested: { kind: 'after', cursor: cursors[index] as Cursor }, head, writer });
    });
    await Promise.all([...joins, world.clock.advance(1_000)]);
    await world.clock.advance(1_000);
    writers.forEach((writer, index) => {
      const sequences = writer.sequences;
      expect([sequences[0], sequences.at(-1), sequences.length]).toEqual([
        (cursors[index] as Cursor) + 1,
        3_000,
        3_000 - (cursors[index] as Cursor),
      ]);
    });
    expect(world.ledger.headReads - heads).toBeLessThan(30);
    expect(world.ledger.pageReads - pages).toBeLessThan(60);
  });

  test('50 readers that replay together cost about as many queries as one', async () => {
    const alone = await createWorld();
    alone.append(session, 6_000, 400);
    const only = await alone.follow(session);
    await alone.clock.advance(500);
    expect(only.sequences).toHaveLength(6_000);
    const together = await createWorld();
    together.append(session, 6_000, 400);
    together.ledger.beforeRead = () => new Promise((resolve) => void together.clock.after(3, resolve));
    const readers = [];
    for (let index = 0; index < 50; index += 1) readers.push(await together.follow(session, String(index)));
    await together.clock.advance(2_000);
    readers.forEach((reader, index) => expect(reader.sequences).toEqual(range(index + 1, 6_000)));
    expect(together.ledger.pageReads).toBeLessThanOrEqual(alone.ledger.pageReads * 3);
  });
});
