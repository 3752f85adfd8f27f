/** The lab loses exactly what it is asked to lose, says so, and outlives the gateway that it is in. */
import { describe, expect, test } from 'vitest';
import { labLimits } from '../../src/base/lab-limits.ts';
import type { Broadcast, Bus, SuspectReason } from '../../src/bus/bus.ts';
import { toSequence } from '../../src/event/sequence.ts';
import { createLab } from '../../src/lab/lab.ts';
import { lossyBus } from '../support/lossy-bus.ts';
import { manualClock } from '../support/manual-clock.ts';
import { range } from '../support/world.ts';

const event = (sequence: number): Broadcast => ({
  kind: 'events',
  first: toSequence(sequence),
  last: toSequence(sequence),
});

function setUp() {
  const clock = manualClock();
  let restarts = 0;
  const lab = createLab({ clock, restartGateway: () => void (restarts += 1) });
  const inner = lossyBus();
  const bus = lab.spoil(inner);
  const heard = (session: string) => inner.published.filter((entry) => entry.session === session);
  const marks = (session: string) => lab.marks.after(session, 0).map(({ kind, first, last }) => [kind, first, last]);
  return { clock, lab, inner, bus, heard, marks, restarts: () => restarts };
}

function suspicions(bus: Bus): SuspectReason[] {
  const reasons: SuspectReason[] = [];
  bus.onSuspect((reason) => reasons.push(reason));
  return reasons;
}

describe('the next broadcast', () => {
  test('is lost in the session that was named, once', () => {
    const { lab, bus, heard, marks } = setUp();
    lab.dropNext('a');
    expect(lab.state.dropsNext).toBe(true);
    for (const session of ['b', 'a', 'a']) bus.publish(session, event(heard(session).length + 1));
    expect(heard('b')).toHaveLength(1);
    expect(heard('a')).toHaveLength(1);
    expect(marks('a')).toEqual([['lost', 1, 1]]);
    expect(marks('b')).toEqual([]);
    expect(lab.state.dropsNext).toBe(false);
  });

  test('is one of events: that of a close passes', () => {
    const { lab, bus, heard, marks } = setUp();
    lab.dropNext('a');
    bus.publish('a', { kind: 'head' });
    bus.publish('a', { kind: 'events', first: toSequence(4), last: toSequence(9) });
    expect(heard('a')).toHaveLength(1);
    expect(marks('a')).toEqual([['lost', 4, 9]]);
  });

  test('is waited for in so many sessions and no more [I6]', () => {
    const { lab, bus, heard } = setUp();
    for (const place of range(0, labLimits.labSessions)) lab.dropNext(`s-${place}`);
    bus.publish('s-0', event(1));
    bus.publish('s-1', event(1));
    expect([heard('s-0').length, heard('s-1').length]).toEqual([1, 0]);
  });
});

describe('a bus that is stopped', () => {
  test('loses everything for its time, counts as away, and comes back as one that was', async () => {
    const { clock, lab, bus, heard, marks } = setUp();
    const reasons = suspicions(bus);
    lab.stopBus();
    expect([bus.isAway, lab.state.isBusStopped, reasons]).toEqual([true, true, ['away']]);
    bus.publish('a', event(1));
    bus.publish('a', { kind: 'head' });
    await clock.advance(labLimits.labBusStopMs - 1);
    bus.publish('b', event(1));
    expect([bus.isAway, reasons]).toEqual([true, ['away']]);
    await clock.advance(1);
    bus.publish('a', event(2));
    expect([bus.isAway, lab.state.isBusStopped, reasons]).toEqual([false, false, ['away', 'reconnected']]);
    expect(heard('a').map(({ broadcast }) => broadcast)).toEqual([event(2)]);
    expect([marks('a'), marks('b')]).toEqual([[['lost', 1, 1]], [['lost', 1, 1]]]);
  });

  test('and is stopped again stays away for the whole of the second time', async () => {
    const { clock, lab, bus } = setUp();
    lab.stopBus();
    await clock.advance(labLimits.labBusStopMs - 1);
    lab.stopBus();
    await clock.advance(labLimits.labBusStopMs - 1);
    expect(bus.isAway).toBe(true);
    await clock.advance(1);
    expect([bus.isAway, clock.waiting]).toEqual([false, 0]);
  });

  test('is stopped for the gateway that comes after, too, and the one that went hears no more', async () => {
    const { clock, lab, bus } = setUp();
    const before: SuspectReason[] = [];
    const subscription = bus.onSuspect((reason) => before.push(reason));
    lab.stopBus();
    subscription.unsubscribe();
    const next = lab.spoil(lossyBus());
    const reasons = suspicions(next);
    expect(next.isAway).toBe(true);
    await clock.advance(labLimits.labBusStopMs);
    expect([next.isAway, reasons, before]).toEqual([false, ['reconnected'], ['away']]);
  });

  test('is not what makes it away: the bus below may be', () => {
    const { inner, bus } = setUp();
    const reasons = suspicions(bus);
    inner.goAway();
    expect([bus.isAway, reasons]).toEqual([true, ['away']]);
  });
});

test('what goes to the bus that nobody hears is marked as lost', () => {
  const { lab, heard, marks } = setUp();
  lab.unheard.publish('a', event(7));
  expect([heard('a'), marks('a')]).toEqual([[], [['lost', 7, 7]]]);
});

test('a pause of the head check is told to the rooms, and a restart to whoever can restart', () => {
  const { lab, restarts } = setUp();
  lab.pauseHeadCheck(true);
  expect([lab.observer.isHeadCheckPaused(), lab.state.isHeadCheckPaused]).toEqual([true, true]);
  lab.pauseHeadCheck(false);
  expect([lab.observer.isHeadCheckPaused(), lab.state.isHeadCheckPaused]).toEqual([false, false]);
  lab.restartGateway();
  expect(restarts()).toBe(1);
});
