/** The in-process delivery channel keeps the contract of every one. */
import { expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import type { Delivery, Received } from '../../src/outbox/delivery.ts';
import { localChannel } from '../../src/outbox/local-channel.ts';
import { eventually } from '../support/waits.ts';
import { deliveryChannelContract } from './delivery-channel.ts';

const delivery = (outboxSequence: number): Delivery => ({
  session: 's',
  outboxSequence,
  identity: `t:${outboxSequence}:topic`,
  topic: 'topic',
  payload: '1',
});

test('the local channel forgets what everybody has acknowledged, and is full of what somebody has not', async () => {
  const channel = localChannel({ clock: systemClock, log: silentLog, most: 3 });
  const publish = async (numbers: readonly number[]): Promise<string[]> => {
    const outcomes = await Promise.all(numbers.map((number) => channel.publish(delivery(number))));
    return outcomes.map(({ kind }) => kind);
  };
  // Nobody is there to need it.
  expect(await publish([1, 2, 3, 4])).toEqual(['stored', 'stored', 'stored', 'stored']);

  const ending = new AbortController();
  const held: Received[] = [];
  const consumed = channel.consume('c', (received) => Promise.resolve(void held.push(received)), ending.signal);
  await eventually('it has all that is left', () => held.length === 3);
  expect(held.map((received) => received.delivery.outboxSequence)).toEqual([2, 3, 4]);
  held[1]?.acknowledge();
  expect(await publish([5])).toEqual(['away']);
  held[0]?.acknowledge();
  expect(await publish([5, 6, 7])).toEqual(['stored', 'stored', 'away']);
  // What was forgotten was not lost.
  expect([...(await channel.stored('s', 1))].toSorted((a, b) => a - b)).toEqual([2, 3, 4, 5, 6]);
  ending.abort();
  await consumed;
  await channel.stop();
});

deliveryChannelContract('local', async () => {
  const channel = localChannel({ clock: systemClock, log: silentLog });
  await channel.start();
  return { here: channel, there: channel, stop: () => channel.stop() };
});
