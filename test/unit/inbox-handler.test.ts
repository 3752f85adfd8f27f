/** What waits behind a hole follows when it is filled, in order and at once, and is no burden while it is not. */
import { expect, test } from 'vitest';
import { deliveryLimits } from '../../src/base/delivery-limits.ts';
import { LedgerlineError } from '../../src/base/errors.ts';
import { silentLog } from '../../src/base/log.ts';
import type { Applied } from '../../src/outbox/apply.ts';
import type { Delivery, Received, Stored } from '../../src/outbox/delivery.ts';
import { createHandler } from '../../src/outbox/inbox-handler.ts';
import type { HandlerOptions } from '../../src/outbox/inbox-handler.ts';
import { createLanes } from '../../src/outbox/lanes.ts';
import { manualClock } from '../support/manual-clock.ts';
import { countTo } from '../support/outbox-stage.ts';

const LONG_MS = 300_000;

const delivery = (outboxSequence: number): Delivery => ({
  session: 's',
  outboxSequence,
  identity: `t:${outboxSequence}:topic`,
  topic: 'topic',
  payload: '1',
});

/** A stream of one session, its numbers in the order given, an inbox in memory, and the processes of a consumer. */
function world(
  numbers: readonly number[],
  { processes = 1, seed = 1, ...more }: { processes?: number; seed?: number } & Partial<HandlerOptions> = {},
) {
  const clock = manualClock(seed);
  const stopping = new AbortController();
  const failing = new Set<number>();
  const buried: number[] = [];
  const applied: number[] = [];
  const pauses: { readonly number: number; readonly delayMs: number }[] = [];
  const asked: number[] = [];
  const failures: unknown[] = [];
  let mark = 0;

  function verdict(number: number): Applied | 'next' {
    if (number <= mark) return 'duplicate';
    return number === mark + 1 ? 'next' : 'hole';
  }
  const next = (_: string, place: number): Promise<Stored | undefined> => {
    asked.push(place);
    const number = numbers[place];
    return Promise.resolve(
      number === undefined ? undefined : { delivery: delivery(number), streamSequence: place + 1 },
    );
  };
  const handlers = countTo(processes).map(() => {
    const handle = createHandler({
      consumer: 'c',
      apply({ outboxSequence: number }) {
        const seen = verdict(number);
        if (seen !== 'next') return Promise.resolve(seen);
        if (failing.has(number)) return Promise.reject(new Error('not yet'));
        mark = number;
        applied.push(number);
        return Promise.resolve('applied');
      },
      bury({ outboxSequence: number }) {
        mark = number;
        buried.push(number);
        return Promise.resolve('applied');
      },
      next,
      maxFailures: Infinity,
      startsAnywhere: false,
      signal: stopping.signal,
      clock,
      log: silentLog,
      ...more,
    });
    return { handle, lanes: createLanes({ atOnce: 64, queued: 200, log: silentLog }) };
  });

  /** Each time to the next of the processes, as a broker does. */
  async function give(place: number, timesDelivered = 1): Promise<void> {
    const number = numbers[place - 1] ?? 0;
    const process = handlers[(place + timesDelivered) % processes];
    const received: Received = {
      delivery: delivery(number),
      streamSequence: place,
      timesDelivered,
      pending: 0,
      acknowledge: () => undefined,
      later(delayMs) {
        pauses.push({ number, delayMs });
        clock.after(delayMs, () => void give(place, timesDelivered + 1));
      },
    };
    await process?.lanes.add('s', () =>
      process.handle(received).catch((thrown: unknown) => void failures.push(thrown)),
    );
  }

  return {
    clock,
    failing,
    applied,
    buried,
    pauses,
    asked,
    failures,
    give,
    giveAll: async (places = numbers.map((_, index) => index + 1)) => {
      for (const place of places) await give(place);
      await clock.settle();
    },
    moveMark: (to: number) => void (mark = to),
    stop: () => stopping.abort(),
    /** Lets time pass until something is applied. */
    async untilApplied(): Promise<void> {
      for (let waited = 0; applied.length === 0 && waited < LONG_MS; waited += 100) await clock.advance(100);
    },
  };
}

test('what waits behind a delivery that failed for long follows it in the same moment, in order', async () => {
  const one = world(countTo(25));
  one.failing.add(1);
  await one.giveAll();
  await one.clock.advance(LONG_MS);
  expect(one.applied).toEqual([]);
  one.failing.clear();
  await one.untilApplied();
  expect(one.applied).toEqual(countTo(25));
});

test('while a delivery fails nothing is read ahead, one that waits looks every few seconds, and the others half a minute', async () => {
  const one = world(countTo(25));
  one.failing.add(1);
  await one.giveAll();
  await one.clock.advance(60_000);
  one.pauses.length = 0;
  await one.clock.advance(LONG_MS);
  const { consumerPauseCapMs, holePauseCapMs } = deliveryLimits;
  const bounds = new Set(
    one.pauses.map(({ number, delayMs }) => {
      const capMs = number === 2 ? holePauseCapMs : consumerPauseCapMs;
      return delayMs >= capMs / 2 && delayMs <= capMs;
    }),
  );
  expect(bounds).toEqual(new Set([true]));
  expect(new Set(one.pauses.map(({ number }) => number))).toEqual(new Set(countTo(25)));
  expect(one.asked).toEqual([]);
});

test.each(countTo(8))(
  'what waits in two processes follows within seconds when a third fills the hole: %i',
  async (seed) => {
    const one = world(countTo(25), { processes: 2, seed });
    await one.giveAll(countTo(25).slice(1));
    await one.clock.advance(LONG_MS);
    one.moveMark(1);
    await one.clock.advance(deliveryLimits.holePauseCapMs);
    expect(one.applied).toEqual(countTo(25).slice(1));
  },
);

test('what waits for a delivery that was lost and is published again, behind it, follows in the same moment', async () => {
  const one = world([...countTo(25).slice(1), 1]);
  await one.giveAll(countTo(24));
  await one.clock.advance(LONG_MS);
  await one.give(25);
  await one.clock.settle();
  expect(one.applied).toEqual(countTo(25));
});

test('what a process that is gone had put off follows, though this one saw nobody wait', async () => {
  const one = world([...countTo(25), 1]);
  one.moveMark(1);
  await one.give(26); // a duplicate: this process has been given what lies behind
  await one.give(2, 5);
  await one.clock.settle();
  expect(one.applied).toEqual(countTo(25).slice(1));
});

test('a second hole is waited for like the first', async () => {
  const one = world([1, 2, 3, 5, 6, 4]);
  await one.giveAll([2, 3, 4, 5]);
  await one.clock.advance(LONG_MS);
  await one.give(1);
  await one.clock.settle();
  expect([one.applied, one.asked]).toEqual([
    [1, 2, 3],
    [1, 2, 3],
  ]);
  await one.give(6);
  await one.clock.settle();
  expect(one.applied).toEqual([1, 2, 3, 4, 5, 6]);
});

test('what nobody was given yet is not read ahead', async () => {
  const one = world(countTo(25));
  await one.giveAll([2, 3]);
  await one.clock.advance(LONG_MS);
  await one.give(1);
  await one.clock.settle();
  expect([one.applied, one.asked]).toEqual([
    [1, 2, 3],
    [1, 2, 3],
  ]);
  // And when nothing waits, nothing is read.
  await one.give(4);
  await one.clock.settle();
  expect([one.applied, one.asked.length]).toEqual([[1, 2, 3, 4], 3]);
});

test('one that fails among those that follow counts its failures, is tried again, and is buried like any other', async () => {
  const one = world(countTo(6), { maxFailures: 3 });
  one.failing.add(3);
  await one.giveAll([2, 3, 4, 5, 6]);
  await one.clock.advance(LONG_MS);
  await one.give(1);
  await one.clock.settle();
  expect([one.applied, one.buried, one.asked]).toEqual([[1, 2], [], [1, 2]]);
  await one.clock.advance(60_000);
  expect([one.applied, one.buried]).toEqual([[1, 2, 4, 5, 6], [3]]);
});

test('the failure of one that another process then applies is not counted against the next', async () => {
  const one = world([1, 2], { maxFailures: 2 });
  one.failing.add(1).add(2);
  await one.giveAll([1]);
  one.moveMark(1);
  await one.give(2);
  await one.clock.settle();
  expect(one.buried).toEqual([]);
  one.failing.clear();
  await one.clock.advance(deliveryLimits.consumerPauseMs);
  expect([one.applied, one.buried]).toEqual([[2], []]);
});

test('a stream that cannot be read delays what waits, and the next that is applied is followed again', async () => {
  let isAway = true;
  const stream = countTo(25);
  const one = world(stream, {
    next(_, place) {
      if (isAway) return Promise.reject(new LedgerlineError('unavailable', 'the stream could not be read'));
      const number = stream[place];
      return Promise.resolve(
        number === undefined ? undefined : { delivery: delivery(number), streamSequence: place + 1 },
      );
    },
  });
  await one.giveAll(countTo(25).slice(1));
  await one.clock.advance(LONG_MS);
  await one.give(1);
  await one.clock.settle();
  expect([one.applied, one.failures]).toEqual([[1], []]);
  isAway = false;
  await one.clock.advance(deliveryLimits.holePauseCapMs);
  expect(one.applied).toEqual(countTo(25));
});

test('a consumer that stops follows no further', async () => {
  const stream = countTo(25);
  const one = world(stream, {
    next(_, place) {
      if (place === 5) one.stop();
      const number = stream[place];
      return Promise.resolve(
        number === undefined ? undefined : { delivery: delivery(number), streamSequence: place + 1 },
      );
    },
  });
  await one.giveAll(countTo(25).slice(1));
  await one.clock.advance(LONG_MS);
  await one.give(1);
  await one.clock.settle();
  expect(one.applied).toEqual([1, 2, 3, 4, 5, 6]);
});
