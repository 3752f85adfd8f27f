/** What one session's misfortune on a lane costs the others: nothing [I9]. */
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { limits } from '../../src/base/limits.ts';
import { createAirspace } from '../../src/ledger/airspace.ts';
import type { Airspace } from '../../src/ledger/airspace.ts';
import type { Flight, Landing } from '../../src/ledger/flight.ts';
import { createLane } from '../../src/ledger/lane.ts';
import type { LaneBounds, LaneOptions, Pending } from '../../src/ledger/lane.ts';
import { manualClock } from '../support/manual-clock.ts';

/** A flight whose landings the test decides, one after the other. */
function heldFlight() {
  const waiting: ((landing: Landing<unknown>) => void)[] = [];
  const flight: Flight = {
    send: <T>() =>
      new Promise<Landing<T>>((resolve) => void waiting.push(resolve as (landing: Landing<unknown>) => void)),
    close: () => Promise.resolve(),
  };
  return {
    flight,
    async land(landing: Landing<unknown>): Promise<void> {
      while (waiting.length === 0) await turn();
      waiting.shift()?.(landing);
      await turn();
    },
  };
}

function setUp(
  bounds: Partial<LaneBounds>,
  overrides: Partial<Pick<LaneOptions, 'airspace' | 'alone' | 'clock'>> = {},
) {
  const [shared, apart] = [heldFlight(), heldFlight()];
  const told: Record<string, string> = {};
  const flown: number[] = [];
  const lane = createLane({
    flight: shared.flight,
    airspace: createAirspace(systemClock),
    alone: (work) => work(apart.flight),
    onLost: () => undefined,
    own: () => undefined,
    observe: (appends) => void flown.push(appends),
    bounds: { ...limits, ...bounds },
    clock: systemClock,
    ...overrides,
  });
  const add = (session: string, name: string): void => {
    const append: Pending = {
      request: { session, events: [{ type: 't', data: '1', bytes: 1 }] },
      bytes: 1,
      answer: ({ kind }) => void (told[name] = kind),
      fail: ({ code }) => void (told[name] = code),
    };
    lane.add(append);
  };
  return { shared, apart, told, flown, add };
}

const receipt = (firsts: (number | null)[], refused: object[] = []): Landing<string> => ({
  kind: 'answered',
  value: JSON.stringify({ transaction: '1', at: 'now', firsts, refused }),
});
const noRow: Landing<undefined> = { kind: 'answered', value: undefined };
const skipped = receipt([null], [{ append: 0, code: 'skipped' }]);
const unsent: Landing<never> = { kind: 'unsent', error: new Error('too many connections') };

describe('a lane', () => {
  it('goes on when the connection of a session that waits apart does not come about', async () => {
    const { shared, apart, told, add } = setUp({ skippedFlushes: 1 });
    add('held', 'apart');
    await shared.land(noRow);
    await shared.land(skipped);
    add('other', 'first');
    await turn();
    add('other', 'second');
    await apart.land(unsent);
    expect(told).toEqual({ apart: 'unavailable' });
    await shared.land(receipt([1]));
    await shared.land(receipt([2]));
    expect(told).toEqual({ apart: 'unavailable', first: 'appended', second: 'appended' });
  });

  it('forgets with its appends that their heads were held', async () => {
    const { shared, told, add } = setUp({ groupAppends: 1 });
    add('held', 'one');
    add('other', 'two');
    await shared.land(noRow);
    await shared.land(skipped);
    await shared.land(unsent);
    expect(told).toEqual({ one: 'unavailable', two: 'unavailable' });
    add('held', 'three');
    // The plain statement comes first again, and the stamp only when it brings no row.
    await shared.land(noRow);
    expect(told).not.toHaveProperty('three');
    await shared.land(receipt([1]));
    expect(told).toMatchObject({ three: 'appended' });
  });

  it('answers an append that stands in line for a connection as long as it may wait for its head', async () => {
    const clock = manualClock();
    const soon = systemClock.soon;
    const begun: ((flight: Flight) => Promise<void>)[] = [];
    const alone = (work: (flight: Flight) => Promise<void>): Promise<void> => {
      begun.push(work);
      return Promise.resolve();
    };
    const { shared, apart, told, add } = setUp({ skippedFlushes: 1 }, { alone, clock: { ...clock, soon } });
    add('held', 'one');
    await shared.land(noRow);
    await shared.land(skipped);
    await clock.advance(limits.headLockWaitMs - 1);
    expect(told).toEqual({});
    await clock.advance(1);
    expect(told).toEqual({ one: 'busy' });
    add('held', 'two');
    await clock.advance(limits.headLockWaitMs);
    expect(told).toEqual({ one: 'busy', two: 'busy' });
    // Its turn comes in the end, for what arrived last.
    add('held', 'three');
    const work = begun[0]?.(apart.flight);
    await apart.land(receipt([1]));
    await work;
    expect(told).toEqual({ one: 'busy', two: 'busy', three: 'appended' });
  });
});

describe('a small flush beside that of another lane', () => {
  /** A lane that has just answered three writers, and a flush of another lane that has not landed. */
  async function besideAnother(bounds: Partial<LaneBounds> = {}) {
    const clock = manualClock();
    const airspace: Airspace = createAirspace(clock);
    const scene = setUp(bounds, { airspace, clock: { ...clock, soon: systemClock.soon } });
    for (const session of ['a', 'b', 'c']) scene.add(session, `${session}1`);
    await scene.shared.land(receipt([1, 1, 1]));
    await turn();
    let land: () => void = () => undefined;
    const flown = airspace.fly(new Promise<void>((resolve) => (land = resolve)));
    const landOther = async (): Promise<void> => {
      land();
      await flown;
      await turn();
    };
    const come = async (...sessions: string[]): Promise<void> => {
      for (const session of sessions) scene.add(session, `${session}2`);
      await turn();
      await turn();
    };
    return { ...scene, clock, landOther, come };
  }

  it('waits for its landing when writers are missing, and takes them along', async () => {
    const { flown, come, landOther } = await besideAnother();
    await come('a', 'b');
    expect(flown).toEqual([3]);
    await come('c');
    await landOther();
    expect(flown).toEqual([3, 3]);
  });

  it('waits no longer than it may', async () => {
    const { flown, clock, come } = await besideAnother();
    await come('a', 'b');
    await clock.advance(limits.smallGroupWaitMs - 1);
    expect(flown).toEqual([3]);
    await clock.advance(1);
    expect(flown).toEqual([3, 2]);
  });

  it.each([
    ['is that of a lone session', ['a'], {}],
    ['misses nobody', ['a', 'b', 'c'], {}],
    ['is not small', ['a', 'b'], { smallGroupAppends: 2 }],
  ])('goes at once where it %s', async (_, sessions, bounds) => {
    const { flown, come } = await besideAnother(bounds);
    await come(...sessions);
    expect(flown).toEqual([3, sessions.length]);
  });
});
