/** Deliveries over a JetStream that is away, says nothing, forgets, or loses what it had acknowledged. */
import { DiscardPolicy, RetentionPolicy, connect } from 'nats';
import type { StreamConfig } from 'nats';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { silentLog } from '../../src/base/log.ts';
import { jetStreamChannel } from '../../src/outbox/jetstream-channel.ts';
import { reconcile } from '../../src/outbox/reconcile.ts';
import { deliveryRootOf, streamOf } from '../../src/outbox/wire.ts';
import { delivery } from '../contract/delivery-channel.ts';
import { startFaithlessNats } from '../support/faithless-nats.ts';
import { countTo, freshRoot, jetStream, onBroker, outboxStage, readStream } from '../support/outbox-stage.ts';
import type { OutboxStage } from '../support/outbox-stage.ts';
import { sharedNatsUrl } from '../support/services.ts';
import { fragileNats } from '../support/stage.ts';
import { eventually } from '../support/waits.ts';

let stage: OutboxStage;
beforeEach(async () => {
  stage = await outboxStage();
});

const isOut = (): Promise<boolean> => eventually('everything is out', async () => (await stage.waiting()) === 0);
const isApplied = (count: number): Promise<boolean> =>
  eventually('all is applied', async () => (await stage.applied()).length >= count);

test('a publish that times out although it is stored is not marked, is published again, and has one effect [nats.node#628]', async () => {
  const faithless = await startFaithlessNats(sharedNatsUrl());
  onTestFinished(() => faithless.stop());
  // The broker forgets the first at once, so that the second is stored, too.
  const { channel, subjectRoot } = await jetStream({
    url: faithless.url,
    publishDeadlineMs: 200,
    duplicateWindowMs: 100,
  });
  const honest = await jetStream({ subjectRoot });
  await stage.add('a', [1, 2]);
  faithless.treat('drop');
  await stage.relay(channel);
  await eventually('the first is stored', async () => (await honest.channel.stored('a', 0)).has(1));
  await eventually('its acknowledgement is lost again and again', () => faithless.mistreated > 2);
  expect(await stage.rows('a')).toEqual([
    { number: 1, state: 'waiting', attempts: 0 },
    { number: 2, state: 'waiting', attempts: 0 },
  ]);
  expect((await honest.channel.stored('a', 0)).has(2)).toBe(false); // nothing passes what is unknown
  faithless.treat('deliver');
  await isOut();
  await stage.consumer(honest.channel);
  await isApplied(2);
  expect(await stage.applied('a')).toEqual([1, 2]);
});

test('a delivery that is published again behind the window is stored twice and applied once [nats-server#7302]', async () => {
  const { channel } = await jetStream({ duplicateWindowMs: 100 });
  const consumer = await stage.consumer(channel);
  const first = await channel.publish(delivery('a', 1));
  await eventually('the window is over', async () => {
    const again = await channel.publish(delivery('a', 1));
    return JSON.stringify(again) !== JSON.stringify(first);
  });
  await channel.publish(delivery('a', 2));
  await isApplied(2);
  expect(await stage.applied('a')).toEqual([1, 2]);
  expect((await consumer.outcomes())['duplicate']).toBeGreaterThan(0);
});

test('within the window the broker stores it once, and another session’s delivery of the same name all the same', async () => {
  const { channel } = await jetStream();
  const first = await channel.publish(delivery('a', 1));
  expect(await channel.publish(delivery('a', 1))).toEqual(first);
  expect(await channel.publish({ ...delivery('b', 1), identity: delivery('a', 1).identity })).not.toEqual(first);
});

test('what the broker acknowledged and lost is found by the reconcile and published again [nats-server#7564]', async () => {
  const { channel, url, stream } = await jetStream();
  await stage.add('a', countTo(6));
  await stage.add('b', countTo(3));
  await stage.relay(channel);
  await isOut();
  await onBroker(url, async ({ streams }) => {
    for (const seq of [1, 4, 5]) await streams.deleteMessage(stream, seq);
  });
  const consumer = await stage.consumer(channel);
  await eventually('the consumer sees the holes', async () => ((await consumer.outcomes())['hole'] ?? 0) > 0);
  const held = await stage.applied();
  expect(held.length).toBeLessThan(9);
  expect(await reconcile({ pool: stage.pool, channel })).toEqual({ compared: 9, lost: 3 });
  await isApplied(9);
  expect([await stage.applied('a'), await stage.applied('b')]).toEqual([countTo(6), countTo(3)]);
  await isOut();
  expect(await reconcile({ pool: stage.pool, channel })).toEqual({ compared: 9, lost: 0 });
});

test('a stream that was purged behind the relay’s back is filled again, within the window, too, and nothing is applied twice', async () => {
  const { channel, url, stream } = await jetStream();
  await stage.add('a', countTo(5));
  await stage.relay(channel);
  const consumer = await stage.consumer(channel);
  await isApplied(5);
  await isOut();
  await onBroker(url, ({ streams }) => streams.purge(stream));
  expect(await reconcile({ pool: stage.pool, channel })).toEqual({ compared: 5, lost: 5 });
  await isOut();
  expect(await readStream(channel, 5)).toEqual(new Map([['a', countTo(5)]]));
  await stage.add('a', ['new']);
  await isApplied(6);
  expect(await stage.applied('a')).toEqual(countTo(6));
  expect((await consumer.outcomes())['duplicate']).toBe(5);
});

test('a broker that is away at the start and dies later costs no attempt and loses nothing', async () => {
  const server = await fragileNats();
  await server.kill();
  const { channel } = await jetStream({ url: server.url, publishDeadlineMs: 500 });
  await stage.add('a', countTo(3));
  await stage.relay(channel);
  await stage.consumer(channel);
  await server.restart();
  await isApplied(3);
  await server.kill();
  await stage.add('a', countTo(3));
  await eventually('the loss is noticed', async () => (await channel.publish(delivery('z', 1))).kind === 'away');
  expect((await stage.rows('a')).slice(3)).toEqual(
    [4, 5, 6].map((number) => ({ number, state: 'waiting', attempts: 0 })),
  );
  await server.restart();
  await isApplied(6);
  expect(await stage.applied('a')).toEqual(countTo(6));
});

test('a stream that its operator made takes what it takes: what is too large for it is refused, and a full one is away', async () => {
  const subjectRoot = freshRoot();
  const name = streamOf(subjectRoot);
  await onBroker(sharedNatsUrl(), ({ streams }) =>
    streams.add({
      name,
      subjects: [`${deliveryRootOf(subjectRoot)}.*`],
      discard: DiscardPolicy.New,
      max_msg_size: 1_000,
      max_msgs: 1,
    }),
  );
  const { channel } = await jetStream({ subjectRoot });
  expect(await channel.publish(delivery('a', 1, JSON.stringify('x'.repeat(2_000))))).toMatchObject({ kind: 'refused' });
  expect(await channel.publish(delivery('a', 1, JSON.stringify('x'.repeat(2_000_000))))).toMatchObject({
    kind: 'refused',
  });
  expect(await channel.publish(delivery('a', 1))).toMatchObject({ kind: 'stored' });
  expect(await channel.publish(delivery('a', 2))).toMatchObject({ kind: 'away', reason: /maximum messages/ });
});

const HOUR_NANOS = 3_600_000_000_000;
test.each<[string, Partial<StreamConfig>, RegExp]>([
  ['takes other subjects', { subjects: ['other.>'] }, /does not take/],
  ['drops what is old when it is full', { discard: DiscardPolicy.Old }, /drops old deliveries/],
  ['keeps nothing for long', { max_age: 24 * HOUR_NANOS }, /does not keep deliveries for 7 days/],
  ['keeps little of a session', { max_msgs_per_subject: 5 }, /does not keep/],
  ['keeps what nobody has read', { retention: RetentionPolicy.Interest }, /does not keep/],
])('a stream that %s is refused at the start, with what to do', async (_, config, message) => {
  const subjectRoot = freshRoot();
  const others = config.subjects?.map((subject) => `${subjectRoot}.${subject}`);
  const subjects = others ?? [`${deliveryRootOf(subjectRoot)}.*`];
  await onBroker(sharedNatsUrl(), ({ streams }) =>
    streams.add({ name: streamOf(subjectRoot), discard: DiscardPolicy.New, ...config, subjects }),
  );
  const channel = jetStreamChannel({ url: sharedNatsUrl(), subjectRoot, log: silentLog });
  onTestFinished(() => channel.stop());
  await expect(channel.start()).rejects.toMatchObject({
    code: 'configuration',
    message: expect.stringMatching(message),
  });
});

test('a consumer whose durable was deleted goes on, and knows again what it has applied', async () => {
  const { channel, url, stream } = await jetStream();
  const consumer = await stage.consumer(channel);
  await stage.add('a', [1]);
  await stage.relay(channel);
  await isApplied(1);
  await onBroker(url, ({ consumers }) => consumers.delete(stream, 'c'));
  await stage.add('a', [2]);
  await isApplied(2);
  expect(await stage.applied('a')).toEqual([1, 2]);
  expect((await consumer.outcomes())['duplicate']).toBe(1);
});

test('a message in the stream that is no delivery is passed by whoever reads what a session has next', async () => {
  const { channel, url, subjectRoot } = await jetStream();
  await channel.publish(delivery('a', 1));
  const client = await connect({ servers: url });
  onTestFinished(() => client.close());
  await client.jetstream().publish(`${deliveryRootOf(subjectRoot)}.a`, 'not ours');
  await channel.publish(delivery('a', 2));
  const first = await channel.next('a', 0);
  expect(first?.delivery).toEqual(delivery('a', 1));
  expect((await channel.next('a', first?.streamSequence ?? 0))?.delivery).toEqual(delivery('a', 2));
});
