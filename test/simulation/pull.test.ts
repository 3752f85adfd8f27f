/** The read path under random schedules: whatever the bus, the ledger and the sockets do, each reader sees 1…head once, in order [I3] [I5]. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import type { Broadcast } from '../../src/bus/bus.ts';
import { fakeWriter } from '../support/fake-writer.ts';
import type { FakeWriter } from '../support/fake-writer.ts';
import { seededRandom } from '../support/manual-clock.ts';
import { createWorld, range } from '../support/world.ts';
import type { World } from '../support/world.ts';

const session = 's1';

interface Reader {
  readonly writer: FakeWriter;
  readonly from: number;
}

const readerIndex = fc.nat(20);
const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('append' as const),
      count: fc.integer({ min: 1, max: 30 }),
      bytes: fc.constantFrom(5, 200, 9_000),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('append' as const),
      count: fc.integer({ min: 300, max: 1_000 }),
      bytes: fc.constant(5),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('join' as const), back: fc.nat(1_200), isStalled: fc.boolean() }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('stall' as const), reader: readerIndex }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('gulp' as const), reader: readerIndex }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('drain' as const), reader: readerIndex }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('cut' as const), reader: readerIndex }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('release' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('away' as const, 'back' as const, 'suspect' as const) }) },
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.constantFrom(0, 1, 2, 5, 11, 40, 300, 1_100) }),
  },
);
const schedules = fc.record({
  seed: fc.integer(),
  steps: fc.array(step, { minLength: 5, maxLength: 60 }),
  loss: fc.constantFrom(0, 0.2, 0.5, 1),
});

function shuffled<T>(list: readonly T[], random: () => number): T[] {
  return list
    .map((item) => ({ item, at: random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

async function join(world: World, back: number, isStalled: boolean): Promise<Reader> {
  const from = Math.max(0, world.ledger.head(session).head - back);
  const writer = fakeWriter();
  if (isStalled) writer.stall();
  await world.follow(session, String(from), { writer });
  return { writer, from };
}

async function play(
  world: World,
  readers: Reader[],
  { do: what, ...how }: Record<string, unknown> & { do: string },
  random: () => number,
) {
  const writer = readers.length === 0 ? undefined : readers[Number(how['reader']) % readers.length]?.writer;
  if (what === 'append') world.append(session, how['count'] as number, how['bytes'] as number);
  if (what === 'join') readers.push(await join(world, how['back'] as number, how['isStalled'] as boolean));
  if (what === 'stall') writer?.stall();
  if (what === 'gulp') writer?.gulp();
  if (what === 'drain') writer?.drain();
  if (what === 'cut') writer?.cut();
  if (what === 'release') world.bus.release((held: readonly Broadcast[]) => shuffled(held, random));
  if (what === 'away') world.bus.goAway();
  if (what === 'back') world.bus.comeBack();
  if (what === 'suspect') world.bus.suspect('dropped');
  if (what === 'pass') await world.clock.advance(how['ms'] as number);
}

function expectContiguous(readers: readonly Reader[], head: number): void {
  for (const { writer, from } of readers) {
    const { sequences } = writer;
    expect(sequences).toEqual(range(from + 1, from + sequences.length));
    expect(from + sequences.length).toBeLessThanOrEqual(head);
  }
}

/** Nothing more is said; everybody reads. One head check, one repair and the pages that are missing are all it may take. */
async function calm(world: World, readers: readonly Reader[], latencyMs: number): Promise<void> {
  world.bus.meet(() => 'drop');
  for (const { writer } of readers) writer.drain();
  const pages = Math.ceil(world.ledger.head(session).head / 100) * (limits.coalesceMs + latencyMs);
  await world.clock.advance(limits.headCheckMs + limits.headReadSpacingMs + latencyMs + limits.reorderMs + pages);
}

describe('under any schedule', () => {
  test('each reader sees every event after its cursor once and in order, and all of them soon after it calms', async () => {
    const property = fc.asyncProperty(schedules, async ({ seed, steps, loss }) => {
      const random = seededRandom(seed);
      const world = await createWorld(seed);
      const latencyMs = Math.floor(random() * 8);
      const wait = () =>
        new Promise<void>((resolve) => void world.clock.after(Math.floor(random() * (latencyMs + 1)), resolve));
      world.ledger.beforeRead = wait;
      world.ledger.beforeAnswer = wait;
      world.bus.meet(() => (random() < loss ? 'drop' : random() < 0.5 ? 'hold' : random() < 0.5 ? 'twice' : 'deliver'));
      world.ledger.commit(session, 1 + Math.floor(random() * 1_500));
      const readers: Reader[] = [];
      for (const each of steps) {
        await play(world, readers, each, random);
        if (each.do === 'pass') expectContiguous(readers, world.ledger.head(session).head);
      }
      await calm(world, readers, 2 * latencyMs);
      const { head } = world.ledger.head(session);
      for (const { writer, from } of readers) {
        if (writer.isClosed) continue;
        expect(writer.sequences).toEqual(range(from + 1, head));
        expect(writer.controls.filter((name) => name === 'connected')).toHaveLength(1);
        expect(writer.controls).not.toContain('reset');
      }
      expectContiguous(readers, head);
      for (const { writer } of readers) writer.cut();
      await world.clock.advance(limits.roomLingerMs + limits.headCheckMs);
      expect([world.rooms.subscribers, world.bus.subscriptions]).toEqual([0, 0]);
    });
    await fc.assert(property, { numRuns: 60, seed: 20_261_130 });
  });
});
