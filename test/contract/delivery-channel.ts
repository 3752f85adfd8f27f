/** What every delivery channel keeps, whoever carries it. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Delivery, DeliveryChannel, Received } from '../../src/outbox/delivery.ts';
import { eventually } from '../support/waits.ts';

/** Two processes' views of one channel, both started; a channel of one process is both. */
export interface ChannelPair {
  readonly here: DeliveryChannel;
  readonly there: DeliveryChannel;
  stop(): Promise<void>;
}

export const delivery = (session: string, outboxSequence: number, payload?: string): Delivery => ({
  session,
  outboxSequence,
  identity: `turn-${session}:${outboxSequence}:topic`,
  topic: 'topic',
  payload: payload ?? `{"number":${outboxSequence}}`,
});

export const tombstone = (session: string, outboxSequence: number): Delivery => ({
  ...delivery(session, outboxSequence),
  payload: undefined,
});

export function deliveryChannelContract(name: string, start: () => Promise<ChannelPair>): void {
  describe(`the ${name} delivery channel`, () => {
    let pair: ChannelPair;
    let ends: (() => Promise<void>)[];
    beforeEach(async () => {
      ends = [];
      pair = await start();
    });
    afterEach(async () => {
      await Promise.all(ends.map((end) => end()));
      await pair.stop();
    });

    /** Consumes until it is ended, or the test is. */
    function consume(handle: (received: Received) => Promise<void> | void, consumer = 'c', channel = pair.there) {
      const ending = new AbortController();
      const done = channel.consume(consumer, async (received) => handle(received), ending.signal);
      const end = async (): Promise<void> => {
        ending.abort();
        await done;
      };
      ends.push(end);
      return { end };
    }

    function collect(consumer?: string) {
      const got: Received[] = [];
      const { end } = consume((received) => {
        got.push(received);
        received.acknowledge();
      }, consumer);
      return { got, end, numbers: (session: string) => numbersOf(got, session) };
    }

    const numbersOf = (got: readonly Received[], session: string): number[] =>
      got.filter((each) => each.delivery.session === session).map((each) => each.delivery.outboxSequence);

    async function publishAll(...deliveries: readonly Delivery[]): Promise<void> {
      for (const each of deliveries) expect(await pair.here.publish(each)).toMatchObject({ kind: 'stored' });
    }

    // Behind a consumer that ended: what was on its way to it comes again when nobody has acknowledged it in time.
    const AGAIN_MS = 60_000;

    test('brings what was stored, as it is, once it is acknowledged no more', { timeout: 2 * AGAIN_MS }, async () => {
      const sent = [
        delivery('s1', 1, '{"text":"Grüße, \\ud83d","n":9007199254740993}'),
        delivery('s1', 2, 'null'),
        tombstone('s1', 3),
        delivery('-_aZ9'.padEnd(128, 'x'), Number.MAX_SAFE_INTEGER, '""'),
      ];
      await publishAll(...sent);
      const { got, end } = collect();
      await eventually('all arrive', () => got.length === sent.length);
      expect(got.map((each) => each.delivery)).toEqual(expect.arrayContaining(sent));
      expect(got.every((each) => each.timesDelivered === 1)).toBe(true);
      await end();
      await publishAll(delivery('s1', 4));
      const later = collect();
      await eventually('only the new one arrives', () => later.got.length > 0, AGAIN_MS);
      expect(later.numbers('s1')).toEqual([4]);
    });

    test('brings a session in the order in which it was stored, one at a time', async () => {
      let running = 0;
      let most = 0;
      const got: Received[] = [];
      consume(async (received) => {
        if (received.delivery.session === 's1') {
          running += 1;
          most = Math.max(most, running);
          await Promise.resolve();
          await new Promise((resolve) => setImmediate(resolve));
          running -= 1;
        }
        got.push(received);
        received.acknowledge();
      });
      const many = Array.from({ length: 60 }, (_, index) => index + 1);
      for (const number of many) await publishAll(delivery('s1', number), delivery('s2', number));
      await eventually('all arrive', () => got.length === 120);
      expect(numbersOf(got, 's1')).toEqual(many);
      expect(numbersOf(got, 's2')).toEqual(many);
      expect(most).toBe(1);
    });

    test('lets no session wait for another', async () => {
      let release: () => void = () => undefined;
      const held = new Promise<void>((resolve) => (release = resolve));
      const got: string[] = [];
      consume(async ({ delivery: { session }, acknowledge }) => {
        if (session === 'slow') await held;
        got.push(session);
        acknowledge();
      });
      await publishAll(delivery('slow', 1), delivery('slow', 2), delivery('fast', 1), delivery('fast', 2));
      await eventually('the others flow', () => got.length === 2);
      expect(got).toEqual(['fast', 'fast']);
      release();
      await eventually('and the slow one, too', () => got.length === 4);
    });

    test('brings again what is put off, and counts how often', async () => {
      const times: number[] = [];
      consume((received) => {
        times.push(received.timesDelivered);
        if (times.length < 3) received.later(1);
        else received.acknowledge();
      });
      await publishAll(delivery('s1', 1));
      await eventually('it comes three times', () => times.length === 3);
      expect(times).toEqual([1, 2, 3]);
    });

    test('brings again what a consumer left unanswered when it ended', { timeout: 2 * AGAIN_MS }, async () => {
      let isGiven = false;
      const first = consume((received) => {
        isGiven = true;
        received.later(1);
      });
      await publishAll(delivery('s1', 1));
      await eventually('it is given', () => isGiven);
      await first.end();
      const { got } = collect();
      await eventually('it comes again', () => got.length > 0, AGAIN_MS);
      // Not how often: a broker does not count what it could not bring to whoever was gone.
      expect(got[0]?.delivery).toEqual(delivery('s1', 1));
    });

    test('brings everything to each consumer, however late it comes', async () => {
      const one = collect('one');
      await publishAll(delivery('s1', 1), delivery('s1', 2));
      await eventually('the first has it', () => one.got.length === 2);
      const two = collect('two');
      await eventually('the second has it, too', () => two.got.length === 2);
      expect(two.numbers('s1')).toEqual([1, 2]);
    });

    test('stores again what it is told was lost', async () => {
      const [first, second] = [
        await pair.here.publish(delivery('s1', 1)),
        await pair.here.publish(delivery('s1', 1), true),
      ];
      expect([first.kind, second.kind]).toEqual(['stored', 'stored']);
      expect(second).not.toEqual(first);
    });

    test('stores a delivery behind its own tombstone', async () => {
      await publishAll(tombstone('s1', 1), delivery('s1', 1));
      const { got } = collect();
      await eventually('both arrive', () => got.length === 2);
      expect(got.map((each) => each.delivery.payload)).toEqual([undefined, '{"number":1}']);
    });

    test('knows what it holds of a session, behind a number', async () => {
      await publishAll(...[1, 2, 3, 4].map((number) => delivery('s1', number)), delivery('s2', 5), tombstone('s1', 5));
      expect(await pair.there.stored('s1', 0)).toEqual(new Set([1, 2, 3, 4, 5]));
      expect(await pair.there.stored('s1', 3)).toEqual(new Set([4, 5]));
      expect(await pair.there.stored('s3', 0)).toEqual(new Set());
    });

    test('knows what a session has next behind a place, whoever was given it', async () => {
      const payload = '{"text":"Grüße, \\ud83d","n":9007199254740993}';
      await publishAll(delivery('s1', 1), delivery('s2', 1), tombstone('s1', 2), delivery('s1', 3, payload));
      const places = new Map<number, number>();
      for (let place = 0; ;) {
        const next = await pair.there.next('s1', place);
        if (next === undefined) break;
        place = next.streamSequence;
        places.set(next.delivery.outboxSequence, place);
        const known = [delivery('s1', 1), tombstone('s1', 2), delivery('s1', 3, payload)];
        expect(next.delivery).toEqual(known[next.delivery.outboxSequence - 1]);
      }
      expect([...places.keys()]).toEqual([1, 2, 3]);
      expect(await pair.there.next('s3', 0)).toBeUndefined();
      const { got } = collect();
      await eventually('all arrive', () => got.length === 4);
      for (const { delivery: each, streamSequence } of got) {
        if (each.session === 's1') expect(streamSequence).toBe(places.get(each.outboxSequence));
      }
    });

    test('says how many are behind the one that it gives', async () => {
      await publishAll(delivery('s1', 1), delivery('s1', 2), delivery('s1', 3));
      const { got } = collect();
      await eventually('all arrive', () => got.length === 3);
      expect(got.map((each) => each.pending)).toEqual([2, 1, 0]);
    });

    test('lets a handler that fails harm no other delivery', async () => {
      const got: number[] = [];
      consume((received) => {
        if (received.delivery.outboxSequence === 1) throw new Error('a handler fails');
        got.push(received.delivery.outboxSequence);
        received.acknowledge();
      });
      await publishAll(delivery('s1', 1), delivery('s1', 2));
      await eventually('the other arrives', () => got.length > 0);
      expect(got).toEqual([2]);
    });

    test('is away after its stop, which may be called twice', async () => {
      await pair.here.stop();
      await pair.here.stop();
      expect(await pair.here.publish(delivery('s1', 1))).toMatchObject({ kind: 'away' });
    });
  });
}
