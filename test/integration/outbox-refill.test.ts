/** A channel that ends with its process: what it carried, and nobody had applied, comes again at the next start. */
import { expect, test } from 'vitest';
import { local, outboxStage } from '../support/outbox-stage.ts';
import { eventually } from '../support/waits.ts';

test('what was published within a process and not applied is published again by the next one, at once and in order', async () => {
  const stage = await outboxStage();
  await stage.add('a', [1, 2, 3]);
  await stage.add('b', [1]);
  const before = await stage.relay(await local());
  await eventually('all is published', async () => (await stage.waiting()) === 0);
  await before.stop();

  const channel = await local();
  const consumer = await stage.consumer(channel);
  const relay = await stage.relay(channel);
  await eventually('all is applied', async () => (await stage.applied()).length === 4);
  expect(await stage.applied('a')).toEqual([1, 2, 3]);
  expect(await consumer.outcomes()).toEqual({ applied: 4 });

  // And by a third one, whose consumer knows all of it, together with something new.
  await relay.stop();
  await consumer.stop();
  await stage.add('a', [4]);
  const last = await local();
  const again = await stage.consumer(last);
  await stage.relay(last);
  await eventually('the new one is applied', async () => (await stage.applied('a')).length === 4);
  await eventually('the others came, too', async () => (await again.outcomes())['duplicate'] === 4);
  expect(await stage.applied('a')).toEqual([1, 2, 3, 4]);
  expect(await stage.applied('b')).toEqual([1]);
});

test('a broker that outlives the relay is not asked at each start', async () => {
  const stage = await outboxStage();
  await stage.add('a', [1]);
  const before = await stage.relay(await local());
  await eventually('it is published', async () => (await stage.waiting()) === 0);
  await before.stop();
  const lasting = { ...(await local()), isLasting: true };
  await stage.relay(lasting);
  await stage.add('b', [1]);
  await eventually('the next one is published', async () => (await stage.waiting()) === 0);
  expect(await lasting.stored('a', 0)).toEqual(new Set());
});
