/** Something happens at every single point at which connecting waits: the window between history and live has no hole. */
import { describe, expect, test } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { fakeWriter } from '../support/fake-writer.ts';
import { createWorld, range } from '../support/world.ts';
import type { World } from '../support/world.ts';

const session = 's1';
const historyLength = 1_200;

/** Runs the connect sequence with `act` at its `point`th waiting place; undefined when there is no such place. */
async function connectWith(point: number, act: (world: World) => void, after: string, isFirst: boolean) {
  const world = await createWorld();
  world.ledger.commit(session, historyLength);
  if (!isFirst) {
    await world.follow(session, 'head');
    await world.clock.advance(50);
  }
  let places = 0;
  let isConnecting = true;
  const place = (): void => {
    if (!isConnecting) return;
    places += 1;
    if (places === point) act(world);
  };
  const subscribe = world.bus.subscribe.bind(world.bus);
  world.bus.subscribe = (id, listener) => {
    place(); // before the bus knows of it
    const pending = subscribe(id, listener);
    queueMicrotask(place); // heard, but not confirmed
    return pending;
  };
  const wait = async (): Promise<void> => {
    place();
    await new Promise<void>((resolve) => void world.clock.after(1, resolve));
    place();
  };
  world.ledger.beforeRead = wait;
  world.ledger.beforeAnswer = wait;
  const writer = fakeWriter();
  await world.follow(session, after, { writer });
  place(); // joined, and the first page not there yet
  await world.clock.advance(limits.reorderMs * 4);
  place();
  isConnecting = false;
  await world.clock.advance(limits.headCheckMs + 50);
  return places < point ? undefined : { world, writer };
}

async function atEveryPoint(
  act: (world: World) => void,
  check: (result: { world: World; writer: ReturnType<typeof fakeWriter> }, from: number) => void,
): Promise<number> {
  let points = 0;
  for (const isFirst of [true, false]) {
    for (const after of ['0', '700', String(historyLength)]) {
      for (let point = 1; ; point += 1) {
        const result = await connectWith(point, act, after, isFirst);
        if (result === undefined) break;
        check(result, Number(after));
        points += 1;
      }
    }
  }
  return points;
}

describe('at every point of connecting', () => {
  const complete = ({ world, writer }: { world: World; writer: ReturnType<typeof fakeWriter> }, from: number): void => {
    expect(writer.sequences).toEqual(range(from + 1, world.ledger.head(session).head));
    expect(writer.controls.filter((name) => name === 'connected')).toHaveLength(1);
  };

  test.each(['deliver', 'drop', 'twice'] as const)(
    'an append whose broadcast is met by %s is seen once, in order',
    async (fate) => {
      const points = await atEveryPoint((world) => {
        world.bus.meet(() => fate);
        world.append(session);
        world.append(session, 2);
      }, complete);
      expect(points).toBeGreaterThan(40);
    },
  );

  test('appends whose broadcasts come in the wrong order, and one of them never, are seen once, in order', async () => {
    await atEveryPoint((world) => {
      const [a, b, c] = [world.ledger.commit(session), world.ledger.commit(session, 3), world.ledger.commit(session)];
      world.broadcast(session, c);
      world.broadcast(session, a);
      expect(b.first).toBeGreaterThan(0);
    }, complete);
  });

  test.each([true, false])('a close (heard: %s) lets everything through, and then ends the stream', async (isHeard) => {
    await atEveryPoint(
      (world) => {
        world.append(session, 2);
        world.ledger.close(session);
        if (isHeard) world.broadcast(session, { kind: 'head' });
      },
      ({ world, writer }, from) => {
        expect(writer.sequences).toEqual(range(from + 1, historyLength + 2));
        expect(writer.frames.at(-1)).toMatchObject({
          event: 'end',
          data: { reason: 'closed', head: historyLength + 2 },
        });
        expect(writer.controls.filter((name) => name === 'connected')).toHaveLength(1);
        expect([writer.isEnded, world.ledger.head(session).head]).toEqual([true, historyLength + 2]);
      },
    );
  });

  test.each([true, false])('a deletion (heard: %s) ends the stream on an event boundary', async (isHeard) => {
    await atEveryPoint(
      (world) => {
        world.ledger.erase(session);
        if (isHeard) world.broadcast(session, { kind: 'head' });
      },
      ({ writer }) => {
        const { sequences } = writer;
        const first = sequences[0] ?? 1;
        expect(sequences).toEqual(range(first, first + sequences.length - 1));
        expect(writer.frames.at(-1)).toMatchObject({ event: 'end', data: { reason: 'deleted' } });
        expect(writer.isEnded).toBe(true);
      },
    );
  });

  test('a reader that leaves leaves nothing', async () => {
    let writer = fakeWriter();
    for (let point = 1; point < 12; point += 1) {
      const world = await createWorld();
      world.ledger.commit(session, historyLength);
      const idle = world.clock.waiting;
      let places = 0;
      const wait = async (): Promise<void> => {
        if ((places += 1) === point) writer.cut();
        await new Promise<void>((resolve) => void world.clock.after(1, resolve));
      };
      world.ledger.beforeRead = wait;
      world.ledger.beforeAnswer = wait;
      writer = fakeWriter();
      await world.follow(session, '0', { writer });
      await world.clock.advance(limits.headCheckMs);
      writer.cut();
      await world.clock.advance(limits.roomLingerMs + 100);
      expect([world.rooms.subscribers, world.bus.subscriptions, world.clock.waiting]).toEqual([0, 0, idle]);
    }
  });
});
