/** One reader: slow, silent, expired or broken; and the sweeps and beats that visit it. */
import { describe, expect, test, vi } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { reactions } from '../../src/room/subscriber-state.ts';
import { Sweep } from '../../src/room/sweep.ts';
import { SyncWheel } from '../../src/room/sync.ts';
import { fakeWriter } from '../support/fake-writer.ts';
import { manualClock } from '../support/manual-clock.ts';
import { createWorld, range } from '../support/world.ts';

const session = 's1';

describe('the states of a subscriber', () => {
  test('only what it waits for sets the pump going, and nothing leaves the end', () => {
    const pumps = Object.entries(reactions).flatMap(([state, row]) =>
      Object.entries(row).flatMap(([stimulus, reaction]) => (reaction === 'pump' ? [`${state} ${stimulus}`] : [])),
    );
    expect(pumps).toEqual(['live news', 'paging page', 'stalled drain']);
    expect(Object.values(reactions.closed)).toEqual(Array(5).fill('closed'));
    expect(new Set(Object.values(reactions.ending))).toEqual(new Set(['ending', 'closed']));
  });
});

describe('a slow reader', () => {
  test('that stalls within a page goes on exactly where it stopped, without another read', async () => {
    const world = await createWorld();
    world.append(session, 1_000, 900);
    const slow = fakeWriter();
    slow.stall();
    await world.follow(session, '0', { writer: slow });
    await world.clock.advance(20);
    const reads = world.ledger.pageReads;
    let seen = slow.sequences.length;
    expect(seen).toBeGreaterThan(0);
    for (let turn = 0; turn < 3; turn += 1) {
      slow.gulp();
      await world.clock.advance(20);
      expect(slow.sequences).toEqual(range(1, slow.sequences.length));
      expect(slow.sequences.length).toBeGreaterThan(seen);
      seen = slow.sequences.length;
    }
    expect(world.ledger.pageReads - reads).toBeLessThanOrEqual(1);
    slow.drain();
    await world.clock.advance(50);
    expect(slow.sequences).toEqual(range(1, 1_000));
  });

  test('costs what its socket was handed and no more, while 20 MB go by', async () => {
    const world = await createWorld();
    world.append(session);
    const slow = fakeWriter();
    slow.stall();
    await world.follow(session, '0', { writer: slow });
    const quick = await world.follow(session, 'head');
    await world.clock.settle();
    for (let burst = 0; burst < 20; burst += 1) {
      world.append(session, 10, 100_000);
      await world.clock.advance(limits.coalesceMs);
    }
    expect(slow.unsentBytes).toBeLessThanOrEqual(limits.unsentBytes + 2 * 100_200);
    expect(quick.sequences).toEqual(range(2, 201));
    const before = slow.sequences.length;
    for (let turn = 0; turn < 100; turn += 1) {
      slow.gulp();
      await world.clock.advance(5);
    }
    expect(before).toBeLessThan(10);
    expect(slow.sequences).toEqual(range(1, 201));
  });

  test('is not handed small events one by one, but all that it missed when it reads again', async () => {
    const world = await createWorld();
    world.append(session);
    const slow = fakeWriter();
    await world.follow(session, 'head', { writer: slow });
    slow.stall();
    for (let event = 0; event < 1_000; event += 1) {
      world.append(session, 1, 200);
      await world.clock.advance(limits.coalesceMs);
    }
    expect(slow.unsentBytes).toBeLessThan(20_000);
    const before = slow.flushes;
    slow.drain();
    await world.clock.advance(20);
    expect(slow.sequences).toEqual(range(2, 1_001));
    expect(slow.flushes - before).toBeLessThan(10);
  });

  test('whose unsent bytes have not moved for the limit is closed; one that takes a little is not', async () => {
    const world = await createWorld();
    world.append(session, 1_000, 1_000);
    const [stuck, slow, idle] = [fakeWriter(), fakeWriter(), fakeWriter()];
    stuck.stall();
    slow.stall();
    for (const writer of [stuck, slow, idle]) await world.follow(session, '0', { writer });
    for (let passedMs = 0; passedMs < limits.stallMs * 2; passedMs += 30_000) {
      slow.take(1_000);
      await world.clock.advance(30_000);
      if (passedMs < limits.stallMs / 2) expect(stuck.isClosed).toBe(false);
    }
    expect([stuck.isClosed, slow.isClosed, idle.isClosed]).toEqual([true, false, false]);
    const { values } = await world.metrics.streamEnds.get();
    expect(values).toEqual([{ value: 1, labels: { reason: 'stalled' } }]);
  });

  test('that was told its end and takes nothing is closed as well', async () => {
    const world = await createWorld();
    world.append(session, 10);
    world.ledger.close(session);
    const stuck = fakeWriter();
    stuck.stall();
    await world.follow(session, '0', { writer: stuck });
    await world.clock.settle();
    expect([stuck.isEnded, stuck.isClosed]).toEqual([true, false]);
    await world.clock.advance(limits.stallMs + 2 * limits.syncMs);
    expect([stuck.isClosed, world.rooms.subscribers]).toEqual([true, 0]);
  });
});

describe('sync', () => {
  test('comes once in its interval, with the cursor and the watermark, and never behind unsent bytes', async () => {
    const world = await createWorld();
    world.append(session, 3);
    const reader = await world.follow(session);
    const slow = fakeWriter();
    await world.follow(session, 'head', { writer: slow });
    slow.stall();
    world.append(session);
    await world.clock.advance(limits.syncMs * 4);
    expect(reader.controls.filter((name) => name === 'sync')).toHaveLength(4);
    expect(reader.frames.at(-1)).toMatchObject({ event: 'sync', id: '4', data: { head: 4 } });
    expect(slow.controls).not.toContain('sync');
  });

  test('an idle stream says something every interval for an hour, and stays', async () => {
    const world = await createWorld();
    world.append(session);
    const reader = await world.follow(session);
    await world.clock.advance(3_600_000);
    expect(reader.controls.filter((name) => name === 'sync')).toHaveLength(3_600_000 / limits.syncMs);
    expect(reader.isClosed).toBe(false);
  });

  test('readers that joined together are spread over the interval', async () => {
    const clock = manualClock();
    const beats = new Map<number, number>();
    const wheel = new SyncWheel<number>(() => beats.set(clock.now(), (beats.get(clock.now()) ?? 0) + 1), clock);
    for (let member = 0; member < 600; member += 1) wheel.add(member);
    wheel.start();
    await clock.advance(limits.syncMs);
    wheel.stop();
    expect([...beats.values()]).toEqual(Array(60).fill(10));
    expect(clock.waiting).toBe(0);
  });
});

describe('a token that expires', () => {
  test('ends a silent stream at that moment', async () => {
    const world = await createWorld();
    world.append(session);
    const reader = await world.follow(session, '0', { expiresAtMs: world.clock.wall() + 60_000 });
    await world.clock.advance(59_000);
    expect(reader.isEnded).toBe(false);
    await world.clock.advance(1_000);
    expect(reader.frames.at(-1)).toMatchObject({ event: 'denied', id: '1', data: { reason: 'expired' } });
    expect([reader.isEnded, world.rooms.subscribers]).toEqual([true, 0]);
  });

  test('lets no further event out, although the wall clock jumped and its timer has not fired', async () => {
    const world = await createWorld();
    world.append(session);
    const reader = await world.follow(session, '0', { expiresAtMs: world.clock.wall() + 60_000 });
    await world.clock.settle();
    world.clock.stepWall(3_600_000);
    world.append(session);
    expect(reader.sequences).toEqual([1]);
    expect(reader.controls.at(-1)).toBe('denied');
  });

  test('is looked for once in a sweep, not once for each of its readers', async () => {
    const world = await createWorld();
    world.append(session);
    const expiresAtMs = world.clock.wall() + 60_000;
    const readers = [];
    for (let reader = 0; reader < 50; reader += 1) readers.push(await world.follow(session, 'head', { expiresAtMs }));
    const looks = vi.spyOn(world.clock, 'wall');
    world.append(session);
    await world.clock.settle();
    expect(readers.every(({ sequences }) => sequences.at(-1) === 2)).toBe(true);
    expect(looks.mock.calls.length).toBeLessThan(5);
  });

  test('ends a stalled reader too, and what it had not read is not sent', async () => {
    const world = await createWorld();
    world.append(session, 1_000, 1_000);
    const slow = fakeWriter();
    slow.stall();
    await world.follow(session, '0', { writer: slow, expiresAtMs: world.clock.wall() + 5_000 });
    await world.clock.advance(6_000);
    const seen = slow.sequences.length;
    expect(slow.controls.at(-1)).toBe('denied');
    slow.drain();
    await world.clock.settle();
    expect([slow.sequences.length, slow.isClosed]).toEqual([seen, true]);
  });

  test('that is over already gets no event at all', async () => {
    const world = await createWorld();
    world.append(session, 3);
    const reader = await world.follow(session, '0', { expiresAtMs: world.clock.wall() - 1 });
    await world.clock.settle();
    expect(reader.controls).toEqual(['hello', 'denied']);
    expect(reader.sequences).toEqual([]);
  });

  test('further away than a timer can wait does not end it early, and does end it', async () => {
    const world = await createWorld();
    world.append(session);
    const after = world.clock.after.bind(world.clock);
    world.clock.after = (delayMs, run) => after(Math.min(delayMs, 10_000), run);
    const reader = await world.follow(session, '0', { expiresAtMs: world.clock.wall() + 60_000 });
    await world.clock.advance(59_000);
    expect(reader.isEnded).toBe(false);
    await world.clock.advance(1_000);
    expect(reader.controls.at(-1)).toBe('denied');
  });
});

describe('a fault of ours in one reader', () => {
  test('costs that reader its connection and the others nothing', async () => {
    const world = await createWorld();
    world.append(session);
    const [a, broken, c] = [fakeWriter(), fakeWriter(), fakeWriter()];
    for (const writer of [a, broken, c]) await world.follow(session, '0', { writer });
    await world.clock.settle();
    broken.write = () => {
      throw new Error('a bug');
    };
    world.append(session);
    expect([a.sequences, c.sequences]).toEqual([
      [1, 2],
      [1, 2],
    ]);
    expect([broken.isClosed, world.rooms.subscribers]).toEqual([true, 2]);
  });
});

describe('a sweep', () => {
  function setUp(members: number) {
    const clock = manualClock();
    const set = new Set(range(1, members));
    const visits: { member: number; atMs: number }[] = [];
    const sweep = new Sweep(set, (member) => void visits.push({ member, atMs: clock.now() }), clock);
    return { clock, set, visits, sweep };
  }

  test('runs at once after a quiet moment, and together within the window', async () => {
    const { clock, visits, sweep } = setUp(3);
    sweep.request();
    expect(visits).toHaveLength(3);
    for (let news = 0; news < 10; news += 1) sweep.request();
    expect(visits).toHaveLength(3);
    await clock.advance(limits.coalesceMs - 1);
    expect(visits).toHaveLength(3);
    await clock.advance(1);
    expect(visits).toHaveLength(6);
    await clock.advance(100);
    expect(visits).toHaveLength(6);
  });

  test('yields to the loop, sees who joins and skips who leaves meanwhile, and nobody else', async () => {
    const { clock, set, visits, sweep } = setUp(1_000);
    clock.lookCostMs = limits.turnMs / 20;
    sweep.request();
    const inFirstTurn = visits.length;
    expect(inFirstTurn).toBeLessThan(50);
    for (let member = 1; member <= 500; member += 1) if (member % 2 === 0) set.delete(member);
    set.add(5_000);
    await clock.advance(1_000);
    const visited = visits.map(({ member }) => member);
    const expected = [...range(1, inFirstTurn), ...[...set].filter((member) => member > inFirstTurn)];
    expect(visited).toEqual(expected);
  });

  test('sees in each of its turns what the wall clock says', async () => {
    const clock = manualClock();
    const seen: number[] = [];
    const sweep: Sweep<number> = new Sweep(new Set(range(1, 1_000)), () => void seen.push(sweep.wall()), clock);
    clock.lookCostMs = limits.turnMs / 20;
    sweep.request();
    const inFirstTurn = seen.length;
    clock.stepWall(3_600_000);
    await clock.advance(1_000);
    expect(new Set(seen.slice(0, inFirstTurn)).size).toBe(1);
    expect((seen[inFirstTurn] ?? 0) - (seen[0] ?? 0)).toBeGreaterThanOrEqual(3_600_000);
  });

  test('that gets news while it walks walks once more', async () => {
    const { clock, visits, sweep } = setUp(100);
    clock.lookCostMs = limits.turnMs / 5;
    sweep.request();
    sweep.request();
    sweep.request();
    await clock.advance(1_000);
    expect(visits).toHaveLength(200);
  });

  test('that is cancelled visits nobody any more', async () => {
    const { clock, visits, sweep } = setUp(100);
    clock.lookCostMs = limits.turnMs / 5;
    sweep.request();
    sweep.cancel();
    const seen = visits.length;
    await clock.advance(1_000);
    expect([visits.length, clock.waiting]).toEqual([seen, 0]);
  });
});

test('a fault while one reader is visited costs that one its connection, and the others nothing', async () => {
  const world = await createWorld();
  world.append(session);
  const broken = fakeWriter();
  await world.follow(session, 'head', { writer: broken });
  const other = await world.follow(session, 'head');
  Object.defineProperty(broken, 'unsentBytes', {
    get: () => {
      throw new Error('a fault of ours');
    },
  });
  await world.clock.advance(limits.syncMs * 2);
  expect(broken.isClosed).toBe(true);
  world.append(session);
  await world.clock.advance(50);
  expect(other.sequences).toEqual([2]);
});
