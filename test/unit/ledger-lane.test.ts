/** What one session's misfortune on a lane costs the others: nothing [I9]. */
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { limits } from '../../src/base/limits.ts';
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

function setUp(bounds: Partial<LaneBounds>, overrides: Partial<Pick<LaneOptions, 'alone' | 'clock'>> = {}) {
  const [shared, apart] = [heldFlight(), heldFlight()];
  const told: Record<string, string> = {};
  const lane = createLane({
    flight: shared.flight,
    alone: (work) => work(apart.flight),
    onLost: () => undefined,
    own: () => undefined,
    observe: () => undefined,
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
  return { shared, apart, told, add };
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
