/** What is told of a stream: how often it waited for its socket, and, at its end, what it was given. */
import { expect, test } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import { parseQueryCursor } from '../../src/event/cursor.ts';
import type { Left } from '../../src/room/room.ts';
import { fakeWriter } from '../support/fake-writer.ts';
import { createWorld } from '../support/world.ts';
import type { World } from '../support/world.ts';

const stalls = async (world: World): Promise<number | undefined> =>
  (await world.metrics.streamStalls.get()).values[0]?.value;

test('a reader that takes less than there is counts as one stall, and as another when it has drained and is full again', async () => {
  const world = await createWorld();
  world.append('s');
  const writer = await world.follow('s');
  await world.clock.advance(20);
  writer.stall();
  for (let event = 0; event < 4; event += 1) {
    world.append('s', 1, limits.unsentBytes);
    await world.clock.advance(20);
  }
  expect(await stalls(world)).toBe(1);
  writer.gulp();
  await world.clock.advance(20);
  expect(await stalls(world)).toBe(2);
  writer.cut();
  await world.rooms.stop();
});

async function followed(world: World, after: string): Promise<{ left: Left[]; cut: () => void }> {
  const left: Left[] = [];
  const writer = fakeWriter();
  const [head] = await Promise.all([world.rooms.readHead('s'), world.clock.advance(20)]);
  if (head === undefined) throw new Error('there is no session');
  const requested = parseQueryCursor(after);
  world.rooms.join({ session: 's', requested, head, writer, onLeft: (one) => void left.push(one) });
  await world.clock.advance(20);
  return { left, cut: () => writer.cut() };
}

test('a stream that ends says why, where, and how many events it was given', async () => {
  const world = await createWorld();
  world.append('s', 5);
  const { left, cut } = await followed(world, '2');
  world.append('s', 3);
  await world.clock.advance(20);
  cut();
  expect(left).toEqual([{ reason: 'disconnected', cursor: 8, events: 6, bytes: expect.any(Number) as number }]);
  await world.rooms.stop();
  expect(left).toHaveLength(1);
});

test('a jump of the cursor is no event that was given', async () => {
  const world = await createWorld();
  world.append('s', 10);
  const { left, cut } = await followed(world, '0');
  world.ledger.restore('s', 4);
  await world.clock.advance(limits.headCheckMs * 2);
  cut();
  expect(left).toEqual([{ reason: 'disconnected', cursor: 4, events: 14, bytes: expect.any(Number) as number }]);
  await world.rooms.stop();
});

test('broadcasts are counted by how they went, whenever and however often they are asked for', async () => {
  const metrics = createMetrics();
  const counted = async (): Promise<string[]> =>
    (await metrics.registry.metrics()).split('\n').filter((line) => line.startsWith('ledgerline_broadcasts_total{'));
  expect(await counted()).toEqual([]);
  for (const kind of ['frames', 'head', 'frames']) metrics.broadcasts.count(kind);
  const [frames, head] = ['ledgerline_broadcasts_total{kind="frames"} 2', 'ledgerline_broadcasts_total{kind="head"} 1'];
  expect([await counted(), await counted()]).toEqual([
    [frames, head],
    [frames, head],
  ]);
  metrics.broadcasts.count('head');
  expect(await counted()).toEqual([frames, 'ledgerline_broadcasts_total{kind="head"} 2']);
});
