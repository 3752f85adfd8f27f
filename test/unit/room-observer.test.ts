/** Who looks on is told of every range that no broadcast brought, of nothing else, and may hold the head check back. */
import { describe, expect, test } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import type { Repair } from '../../src/room/held.ts';
import { createWorld, range } from '../support/world.ts';

const session = 's1';
const oneCheckMs = limits.headCheckMs + limits.headReadSpacingMs + limits.reorderMs + limits.coalesceMs;

async function setUp() {
  const repairs: (Repair & { session: string })[] = [];
  const switches = { isHeadCheckPaused: false };
  const world = await createWorld(1, {
    onRepaired: (of, repair) => void repairs.push({ session: of, ...repair }),
    isHeadCheckPaused: () => switches.isHeadCheckPaused,
  });
  world.append(session);
  const reader = await world.follow(session);
  await world.clock.settle();
  const lose = (count = 1): void => void world.ledger.commit(session, count);
  return { ...world, world, reader, repairs, switches, lose };
}

describe('who looks on', () => {
  test('is told of the lost range alone when the next event reveals it', async () => {
    const { world, reader, repairs, lose } = await setUp();
    lose(2);
    world.append(session);
    await world.clock.advance(limits.reorderMs + limits.coalesceMs);
    expect(repairs).toEqual([{ session, by: 'gap', first: 2, last: 3 }]);
    expect(reader.sequences).toEqual(range(1, 4));
  });

  test('is told of what the head check found', async () => {
    const { world, reader, repairs, lose } = await setUp();
    lose(3);
    await world.clock.advance(oneCheckMs);
    expect(repairs).toEqual([{ session, by: 'head', first: 2, last: 4 }]);
    expect(reader.sequences).toEqual(range(1, 4));
  });

  test('is told of each of several holes, and of the last one by whom it was found', async () => {
    const { world, repairs, lose } = await setUp();
    lose();
    world.append(session);
    lose(2);
    world.append(session);
    world.append(session);
    lose();
    const late = world.follow(session);
    await world.clock.advance(limits.reorderMs + limits.coalesceMs);
    await late;
    expect(repairs).toEqual([
      { session, by: 'gap', first: 2, last: 2 },
      { session, by: 'gap', first: 4, last: 5 },
      { session, by: 'head', first: 8, last: 8 },
    ]);
  });

  test('is not told of broadcasts that came out of order, twice, or without their frames', async () => {
    const { world, reader, repairs } = await setUp();
    world.bus.meet(() => 'hold');
    world.append(session);
    world.bus.meet(() => 'twice');
    world.append(session);
    world.bus.release();
    const { first, last } = world.ledger.commit(session, 2);
    world.broadcast(session, { kind: 'events', first, last });
    await world.clock.advance(oneCheckMs);
    expect(reader.sequences).toEqual(range(1, 5));
    expect(repairs).toEqual([]);
  });

  test('is told of a hole before a range that came without its frames, and not of the range', async () => {
    const { world, reader, repairs, lose } = await setUp();
    lose();
    const { first, last } = world.ledger.commit(session, 2);
    world.broadcast(session, { kind: 'events', first, last });
    await world.clock.advance(limits.reorderMs + limits.coalesceMs);
    expect(repairs).toEqual([{ session, by: 'gap', first: 2, last: 2 }]);
    expect(reader.sequences).toEqual(range(1, 4));
  });

  test('is told of everything up to the end when more came ahead than can be held', async () => {
    const { world, repairs, lose } = await setUp();
    lose();
    const count = limits.heldBroadcasts + 1;
    for (let place = 0; place < count; place += 1) world.append(session);
    await world.clock.advance(limits.reorderMs + limits.coalesceMs);
    expect(repairs).toEqual([{ session, by: 'gap', first: 2, last: 2 + count }]);
  });
});

describe('a head check that is held back', () => {
  test('leaves the last event unseen, also by a bus that may have lost something, until it goes on', async () => {
    const { world, reader, repairs, switches, lose } = await setUp();
    switches.isHeadCheckPaused = true;
    lose();
    await world.clock.advance(limits.headCheckMs * 20);
    world.bus.suspect('reconnected');
    await world.clock.advance(limits.headCheckMs * 20);
    expect([reader.sequences, repairs]).toEqual([[1], []]);
    switches.isHeadCheckPaused = false;
    await world.clock.advance(oneCheckMs);
    expect(reader.sequences).toEqual([1, 2]);
    expect(repairs).toEqual([{ session, by: 'head', first: 2, last: 2 }]);
  });

  test('keeps nobody from joining, who learns the head and tells the room', async () => {
    const { world, reader, switches, lose } = await setUp();
    switches.isHeadCheckPaused = true;
    lose();
    const late = await world.follow(session);
    await world.clock.advance(limits.reorderMs + limits.coalesceMs);
    expect(late.controls).toEqual(['hello', 'connected']);
    expect([late.sequences, reader.sequences]).toEqual([
      [1, 2],
      [1, 2],
    ]);
  });

  test('keeps no gap from being repaired', async () => {
    const { world, reader, switches, lose } = await setUp();
    switches.isHeadCheckPaused = true;
    lose();
    world.append(session);
    await world.clock.advance(limits.reorderMs + limits.coalesceMs);
    expect(reader.sequences).toEqual([1, 2, 3]);
  });
});
