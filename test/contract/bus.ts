/** What every bus keeps, whoever carries it. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Broadcast, Bus, Wake } from '../../src/bus/bus.ts';
import { toSequence } from '../../src/event/sequence.ts';
import { eventually } from '../support/waits.ts';

/** Two processes' views of one bus, both started; a bus of one process is both. */
export interface BusPair {
  readonly here: Bus;
  readonly there: Bus;
  stop(): Promise<void>;
}

export const events = (first: number, last: number, frames?: string): Broadcast => ({
  kind: 'events',
  first: toSequence(first),
  last: toSequence(last),
  ...(frames === undefined ? {} : { frames: Buffer.from(frames) }),
});

export function busContract(name: string, start: () => Promise<BusPair>): void {
  describe(`the ${name} bus`, () => {
    let pair: BusPair;
    beforeEach(async () => {
      pair = await start();
    });
    afterEach(() => pair.stop());

    async function listen(bus: Bus, session: string) {
      const heard: Broadcast[] = [];
      const subscription = bus.subscribe(session, (broadcast) => heard.push(broadcast));
      await subscription.ready;
      return { heard, subscription };
    }

    /** Broadcasts are delivered in order, so whatever was published before has arrived when this has. */
    async function settle(from: Bus, to: Bus): Promise<void> {
      const { heard, subscription } = await listen(to, 'settle');
      from.publish('settle', { kind: 'head' });
      await eventually('the marker arrives', () => heard.length > 0);
      subscription.unsubscribe();
    }

    test('delivers ranges, frames and heads to a ready subscription, in order and as they are', async () => {
      const { heard } = await listen(pair.there, 's1');
      const sent = [
        events(1, 1, 'id: 1\ndata: {"text":"Grüße, \\ud83d"}\n\n'),
        events(2, 40),
        { kind: 'head' } as const,
        events(Number.MAX_SAFE_INTEGER - 1, Number.MAX_SAFE_INTEGER),
      ];
      for (const broadcast of sent) pair.here.publish('s1', broadcast);
      await eventually('all arrive', () => heard.length === sent.length);
      expect(heard).toEqual(sent);
    });

    test('delivers to its own process as to every other', async () => {
      const own = await listen(pair.here, 's1');
      const other = await listen(pair.there, 's1');
      pair.here.publish('s1', events(1, 2));
      await eventually('both hear it', () => own.heard.length === 1 && other.heard.length === 1);
    });

    test('wakes whoever listens, in every process, with what was said', async () => {
      const heard: Wake[] = [];
      const other: Wake[] = [];
      const own = pair.here.onWake((wake) => heard.push(wake));
      const listening = pair.there.onWake((wake) => other.push(wake));
      await settle(pair.here, pair.there); // both subscriptions have reached the server
      await settle(pair.there, pair.here);
      const said: Wake[] = [
        { kind: 'ready', inMs: 150 },
        { kind: 'stop', session: '-_aZ9', turn: 'turn:1.a' },
        { kind: 'delivery' },
        { kind: 'ready', inMs: 0 },
      ];
      for (const wake of said) pair.here.wake(wake);
      await eventually('both hear all', () => heard.length === said.length && other.length === said.length);
      expect([heard, other]).toEqual([said, said]);
      own.unsubscribe();
      listening.unsubscribe();
      pair.here.wake({ kind: 'ready', inMs: 1 });
      await settle(pair.here, pair.there);
      expect([heard.length, other.length]).toEqual([said.length, said.length]);
    });

    test('never delivers inside publish', async () => {
      let isPublishing = false;
      let wasInside = false;
      const subscription = pair.here.subscribe('s1', () => (wasInside ||= isPublishing));
      await subscription.ready;
      isPublishing = true;
      pair.here.publish('s1', { kind: 'head' });
      isPublishing = false;
      await settle(pair.here, pair.here);
      expect(wasInside).toBe(false);
    });

    test('keeps sessions apart [I9]', async () => {
      const ids = ['a', 'A', 'aa', 'a-a', 'a_a', '-', '_', '0', 'a'.repeat(128)];
      const listeners = await Promise.all(ids.map((id) => listen(pair.there, id)));
      for (const [index, id] of ids.entries()) pair.here.publish(id, events(index + 1, index + 1));
      await settle(pair.here, pair.there);
      expect(listeners.map(({ heard }) => heard)).toEqual(ids.map((_, index) => [events(index + 1, index + 1)]));
    });

    test('delivers nothing after unsubscribe, which may be called twice', async () => {
      const leaving = await listen(pair.there, 's1');
      const staying = await listen(pair.there, 's1');
      leaving.subscription.unsubscribe();
      leaving.subscription.unsubscribe();
      pair.here.publish('s1', events(1, 1));
      await eventually('the other still hears', () => staying.heard.length === 1);
      expect(leaving.heard).toEqual([]);
    });

    test('delivers nothing after an unsubscribe from inside the listener', async () => {
      const heard: Broadcast[] = [];
      const subscription = pair.there.subscribe('s1', (broadcast) => {
        heard.push(broadcast);
        subscription.unsubscribe();
      });
      await subscription.ready;
      pair.here.publish('s1', events(1, 1));
      pair.here.publish('s1', events(2, 2));
      await settle(pair.here, pair.there);
      expect(heard).toEqual([events(1, 1)]);
    });

    test('settles ready when the subscription is given up at once', async () => {
      const subscription = pair.there.subscribe('s1', () => undefined);
      subscription.unsubscribe();
      await expect(subscription.ready).resolves.toBeUndefined();
    });

    test('lets one failing listener harm no other, now or later', async () => {
      const failing = pair.there.subscribe('s1', () => {
        throw new Error('a listener fails');
      });
      await failing.ready;
      const { heard } = await listen(pair.there, 's1');
      pair.here.publish('s1', events(1, 1));
      pair.here.publish('s1', events(2, 2));
      await eventually('the other listener hears both', () => heard.length === 2);
    });

    test('carries a broadcast of 2 MB of frames, at least as its range', async () => {
      const { heard } = await listen(pair.there, 's1');
      pair.here.publish('s1', events(5, 9, 'x'.repeat(2_000_000)));
      pair.here.publish('s1', events(10, 10, 'y'));
      await eventually('both arrive', () => heard.length === 2);
      expect(heard[0]).toMatchObject({ kind: 'events', first: 5, last: 9 });
      expect(heard[1]).toEqual(events(10, 10, 'y'));
    });

    test('ignores what is published after stop, and stops twice', async () => {
      await pair.here.stop();
      await pair.here.stop();
      expect(() => pair.here.publish('s1', { kind: 'head' })).not.toThrow();
    });
  });
}
