/** How a browser's signs become wakes, and that there are none where there is no browser. */
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { createSurroundings } from '../../../web-client/src/surroundings.ts';
import { manualClock } from '../../support/manual-clock.ts';
import type { ManualClock } from '../../support/manual-clock.ts';

/** Counts its listeners. */
class Target extends EventTarget {
  listeners = 0;
  visibilityState = 'visible';

  override addEventListener(...given: Parameters<EventTarget['addEventListener']>): void {
    this.listeners += 1;
    super.addEventListener(...given);
  }

  override removeEventListener(...given: Parameters<EventTarget['removeEventListener']>): void {
    this.listeners -= 1;
    super.removeEventListener(...given);
  }
}

let clock: ManualClock;
let page: Target;
let frame: Target;
let heard: string[];

const listen = () => createSurroundings(clock).onWake((wake) => void heard.push(wake));

beforeEach(() => {
  clock = manualClock();
  page = new Target();
  frame = new Target();
  heard = [];
});

test('without a browser there is only the time', () => {
  const stopListening = listen();
  expect(clock.waiting).toBe(0);
  stopListening();
});

describe('in a browser', () => {
  beforeEach(() => {
    vi.stubGlobal('document', page);
    vi.stubGlobal('window', frame);
    return () => vi.unstubAllGlobals();
  });

  test('a page that is shown is visible, one that is hidden is nothing', () => {
    const stopListening = listen();
    page.visibilityState = 'hidden';
    page.dispatchEvent(new Event('visibilitychange'));
    expect(heard).toEqual([]);
    page.visibilityState = 'visible';
    page.dispatchEvent(new Event('visibilitychange'));
    frame.dispatchEvent(new Event('online'));
    page.dispatchEvent(new Event('resume'));
    frame.dispatchEvent(Object.assign(new Event('pageshow'), { persisted: false }));
    frame.dispatchEvent(Object.assign(new Event('pageshow'), { persisted: true }));
    expect(heard).toEqual(['visible', 'online', 'resumed', 'resumed']);
    stopListening();
  });

  test('a clock that jumped is a machine that slept, but not on a hidden page, whose timers are held back', async () => {
    const stopListening = listen();
    await clock.advance(60_000);
    expect(heard).toEqual([]);
    clock.stepWall(3_600_000);
    await clock.advance(5_000);
    expect(heard).toEqual(['resumed']);
    page.visibilityState = 'hidden';
    clock.stepWall(60_000);
    await clock.advance(5_000);
    expect(heard).toEqual(['resumed']);
    stopListening();
  });

  test('whoever listens no more leaves nothing', async () => {
    const stopListening = listen();
    expect([page.listeners, frame.listeners, clock.waiting]).toEqual([2, 2, 1]);
    await clock.advance(12_000);
    stopListening();
    expect([page.listeners, frame.listeners, clock.waiting]).toEqual([0, 0, 0]);
    page.dispatchEvent(new Event('visibilitychange'));
    expect(heard).toEqual([]);
  });
});
