/** The relay keeps each session's order, whoever dies, and believes the broker's acknowledgement alone. */
import { beforeEach, describe, expect, test } from 'vitest';
import { deliveryLimits } from '../../src/base/delivery-limits.ts';
import { SHARDS, shardOf } from '../../src/outbox/add.ts';
import { forgetPublished } from '../../src/outbox/outbox-row.ts';
import { redrive, skip } from '../../src/outbox/operate.ts';
import type { Delivery, DeliveryChannel, PublishOutcome } from '../../src/outbox/delivery.ts';
import { countTo, jetStream, jumpsAhead, local, mortal, outboxStage, readStream } from '../support/outbox-stage.ts';
import type { OutboxStage } from '../support/outbox-stage.ts';
import { eventually } from '../support/waits.ts';

let stage: OutboxStage;
beforeEach(async () => {
  stage = await outboxStage();
});

const isOut = (): Promise<void> =>
  eventually('everything is out', async () => (await stage.waiting()) === 0).then(() => undefined);

/** A channel whose answers a test decides; what it lets through is stored in `stored`, in order. */
async function guarded(
  decide: (delivery: Delivery) => Promise<PublishOutcome | undefined> | PublishOutcome | undefined,
) {
  const inner = await local();
  const stored: Delivery[] = [];
  const channel: DeliveryChannel = {
    ...inner,
    async publish(delivery) {
      const answer = await decide(delivery);
      if (answer !== undefined) return answer;
      stored.push(delivery);
      return inner.publish(delivery);
    },
  };
  const numbers = (session: string): number[] =>
    stored.filter((each) => each.session === session).map((each) => each.outboxSequence);
  return { channel, stored, numbers };
}

describe('three relays, two of which die when they have published and not marked', () => {
  test.each([
    ['1,000 deliveries of one session', 1, 1_000],
    ['1,000 deliveries of 100 sessions', 100, 10],
  ])(
    'bring %s in the order of the outbox, and each is applied once [kafkaflow-contrib#24]',
    async (_, sessions, each) => {
      const { channel } = await jetStream();
      const names = countTo(sessions).map((index) => `s${index}`);
      for (const name of names) await stage.add(name, countTo(each));
      const dying = [mortal(stage.pool, channel, 1), mortal(stage.pool, channel, 2)];
      const consumer = await stage.consumer(channel);
      for (const { pool, channel: its, isDead } of dying) {
        // Alone at first, so that it has work to die of; its shards are its own until its lease is over.
        await stage.relay(its, { pool });
        await eventually('it dies', isDead);
      }
      await stage.relay(channel);
      await isOut();
      // Of one session one after another, each in a transaction of its own.
      await eventually('all is applied', async () => (await stage.applied()).length >= sessions * each, 50_000);
      const stream = await readStream(channel, sessions * each);
      for (const name of names) {
        expect(jumpsAhead(stream.get(name) ?? [])).toEqual([]);
        expect(await stage.applied(name)).toEqual(countTo(each));
      }
      // What each of them had published and not marked came twice.
      const repeated = [...stream.values()].flat().length - sessions * each;
      expect((await consumer.outcomes())['duplicate'] ?? 0).toBe(repeated);
    },
  );
});

test('each shard has one relay, and what one gives up another takes', async () => {
  const channel = await local();
  const owners = (): Promise<(string | null)[]> =>
    stage.sql(async (sql) => {
      const rows = await sql<
        { relay: string | null }[]
      >`select relay_id as relay from ledgerline.relay_shard where lease_until > clock_timestamp()`;
      return rows.map((row) => row.relay);
    });
  const [one] = await Promise.all([stage.relay(channel), stage.relay(channel)]);
  const before = await owners();
  expect(before).toHaveLength(SHARDS);
  await one?.stop();
  const other = await eventually('the other has them all', async () => {
    const [first, ...rest] = await owners();
    return rest.length === SHARDS - 1 && rest.every((owner) => owner === first) && first;
  });
  await stage.add('a', [1]);
  await isOut();
  expect(new Set(await owners())).toEqual(new Set([other]));
});

test('a relay that comes late gets its fair share of the shards, and one that dies leaves it to the others', async () => {
  const channel = await local();
  const shares = (): Promise<number[]> =>
    stage.sql(async (sql) => {
      const rows = await sql<{ shards: number }[]>`
        select count(*) as shards from ledgerline.relay_shard
         where relay_id is not null and lease_until > clock_timestamp() group by relay_id order by 1`;
      return rows.map((row) => row.shards);
    });
  const become = (wanted: readonly number[]) =>
    eventually(`the shares are ${wanted.join()}`, async () => (await shares()).join() === wanted.join());
  const bounds = { leaseMs: 500, renewMs: 50, pollMs: 20 };
  const first = await stage.relay(channel, { bounds });
  expect(await shares()).toEqual([SHARDS]);
  const second = await stage.relay(channel, { bounds });
  await become([8, 8]);
  await stage.relay(channel, { bounds });
  await become([4, 6, 6]);
  await Promise.all([first.stop(), second.stop()]);
  await become([SHARDS]);
  await stage.add('a', [1]);
  await isOut();
});

test('a first delivery that is refused makes the second of its session wait, and no other session [sb11-mopl#266]', async () => {
  let isRefused = true;
  const { channel, numbers } = await guarded(({ session, outboxSequence }) =>
    isRefused && session === 'a' && outboxSequence === 1 ? { kind: 'refused', reason: 'not now' } : undefined,
  );
  await stage.add('a', [1, 2]);
  await stage.add('b', [1, 2]);
  await stage.relay(channel);
  await eventually('the other session flows', () => numbers('b').length === 2);
  await eventually('the refusal is noted', async () => (await stage.rows('a'))[0]?.attempts === 1);
  await stage.add('b', [3]);
  await eventually('and flows on', () => numbers('b').length === 3);
  expect(numbers('a')).toEqual([]);
  isRefused = false;
  await stage.hurry();
  await isOut();
  expect(numbers('a')).toEqual([1, 2]);
});

test('an outage burns no attempt, and ends with the broker’s return', async () => {
  let isAway = true;
  let asked = 0;
  const { channel, numbers } = await guarded(() => {
    asked += 1;
    return isAway ? { kind: 'away', reason: 'full' } : undefined;
  });
  await stage.add('a', [1, 2]);
  await stage.relay(channel);
  await eventually('it is tried again and again', () => asked > deliveryLimits.deliveryAttempts + 2);
  expect(await stage.rows('a')).toEqual([
    { number: 1, state: 'waiting', attempts: 0 },
    { number: 2, state: 'waiting', attempts: 0 },
  ]);
  isAway = false;
  await isOut();
  expect(numbers('a')).toEqual([1, 2]);
});

test('what can never be sent is dead after its tries, with a tombstone in its place, and may be redriven', async () => {
  let isPoison = true;
  const { channel, stored } = await guarded((delivery) =>
    isPoison && delivery.session === 'a' && delivery.outboxSequence === 2 && delivery.payload !== undefined
      ? { kind: 'refused', reason: 'too large' }
      : undefined,
  );
  await stage.add('a', ['one', 'two', 'three']);
  const consumer = await stage.consumer(channel);
  await stage.relay(channel);
  await eventually('it is dead', async () => {
    await stage.hurry();
    return (await stage.rows('a'))[1]?.state === 'dead';
  });
  await isOut();
  expect(await stage.rows('a')).toEqual([
    { number: 1, state: 'published', attempts: 0 },
    { number: 2, state: 'dead', attempts: deliveryLimits.deliveryAttempts },
    { number: 3, state: 'published', attempts: 0 },
  ]);
  await eventually('its session goes on', async () => (await stage.applied('a')).length === 2);
  expect(await stage.applied('a')).toEqual([1, 3]);
  isPoison = false;
  expect(await stage.pool.run('redriving', (sql) => redrive(sql, 'a', 2))).toMatchObject({ state: 'waiting' });
  await eventually('it is applied late', async () => (await stage.applied('a')).length === 3);
  expect(await stage.applied('a')).toEqual([1, 3, 2]);
  expect(stored.map(({ outboxSequence, payload }) => [outboxSequence, payload])).toEqual([
    [1, '"one"'],
    [2, undefined],
    [3, '"three"'],
    [2, '"two"'],
  ]);
  expect(await consumer.outcomes()).toMatchObject({ applied: 3, passed: 1 });
});

test('a delivery that is redriven while its tombstone is on its way is published behind it, and applied', async () => {
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  let isHeld = false;
  const { channel } = await guarded(async ({ payload }) => {
    if (payload !== undefined) return undefined;
    isHeld = true;
    await held;
    return undefined;
  });
  await stage.add('a', ['one', 'two']);
  await stage.pool.run('skipping', (sql) => skip(sql, 'a', 1));
  await stage.consumer(channel);
  await stage.relay(channel);
  await eventually('the tombstone is on its way', () => isHeld);
  await stage.pool.run('redriving', (sql) => redrive(sql, 'a', 1));
  release();
  await eventually('both are applied', async () => (await stage.applied('a')).length === 2);
  expect((await stage.rows('a')).map(({ state }) => state)).toEqual(['published', 'published']);
});

test('a delivery that an operator skips is passed by everybody, and only one that waits can be', async () => {
  const { channel, numbers } = await guarded(({ outboxSequence, payload }) =>
    outboxSequence === 1 && payload !== undefined ? { kind: 'away', reason: 'never' } : undefined,
  );
  await stage.add('a', [1, 2]);
  await stage.consumer(channel);
  await stage.relay(channel);
  expect(await stage.pool.run('skipping', (sql) => skip(sql, 'a', 1))).toMatchObject({ outboxSequence: 1 });
  await isOut();
  await eventually('the next is applied', async () => (await stage.applied('a')).length === 1);
  expect([numbers('a'), await stage.applied('a')]).toEqual([[1, 2], [2]]);
  expect(await stage.pool.run('skipping', (sql) => skip(sql, 'a', 2))).toBeUndefined();
  expect(await stage.pool.run('redriving', (sql) => redrive(sql, 'a', 9))).toBeUndefined();
});

test('a relay that loses its lease while it publishes marks what was stored, and publishes nothing more', async () => {
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  let isHeld = false;
  const slow = await guarded(async ({ outboxSequence }) => {
    if (outboxSequence === 1) {
      isHeld = true;
      await held;
    }
    return undefined;
  });
  await stage.add('a', countTo(5));
  const relay = await stage.relay(slow.channel, { bounds: { leaseMs: 300, renewMs: 3_600_000, pollMs: 20 } });
  await eventually('it publishes', () => isHeld);
  const quick = await guarded(() => undefined);
  await stage.relay(quick.channel);
  await eventually('another took over', () => quick.numbers('a').length === 5);
  await isOut();
  release();
  await eventually('the first one is stored after all', () => slow.stored.length === 1);
  await relay.stop();
  expect(slow.numbers('a')).toEqual([1]);
  expect((await stage.rows('a')).map((row) => row.state)).toEqual(Array.from({ length: 5 }, () => 'published'));
});

test('a hint wakes a relay that would look much later', async () => {
  const { channel, numbers } = await guarded(() => undefined);
  const listeners = new Set<() => void>();
  const onHint = (listener: () => void) => {
    listeners.add(listener);
    return { unsubscribe: () => listeners.delete(listener) };
  };
  const bounds = { leaseMs: 60_000, renewMs: 20_000, pollMs: 3_600_000 };
  const relay = await stage.relay(channel, { onHint, bounds });
  await stage.add('a', [1]);
  for (const hint of listeners) hint();
  await eventually('it is published', () => numbers('a').length === 1);
  await relay.stop();
  expect(listeners.size).toBe(0);
});

test('a database that is away stops nothing for good', async () => {
  let isAway = false;
  const { channel, numbers } = await guarded(() => undefined);
  const pool = {
    ...stage.pool,
    run: (async (what, query) => {
      if (isAway) throw new Error('away');
      return stage.pool.run(what, query);
    }) satisfies typeof stage.pool.run,
  };
  await stage.relay(channel, { pool });
  isAway = true;
  await stage.add('a', [1]);
  expect(numbers('a')).toEqual([]);
  isAway = false;
  await eventually('it goes on', () => numbers('a').length === 1);
});

test('sessions that the broker does not take, however many, starve none behind them', async () => {
  const { channel, numbers } = await guarded(({ session }) =>
    session === 'z' ? undefined : { kind: 'away', reason: 'this subject is full' },
  );
  const sharing = countTo(2_000)
    .map((index) => `a${index}`)
    .filter((session) => shardOf(session) === shardOf('z'));
  for (const session of sharing.slice(0, deliveryLimits.relaySessions + 4)) await stage.add(session, [1]);
  await stage.add('z', [1]);
  await stage.relay(channel);
  await eventually('the last one is out', () => numbers('z').length === 1);
});

test('a session with a long backlog lets the others through in turn', async () => {
  const { channel, stored } = await guarded(() => undefined);
  await stage.add('long', countTo(deliveryLimits.relayRows * 3));
  await stage.add('short', [1]);
  await stage.relay(channel);
  await isOut();
  const place = stored.findIndex((each) => each.session === 'short');
  expect(place).toBeLessThan(deliveryLimits.relayRows * 2);
});

test('what was published long ago is forgotten, and what waits or is dead is not', async () => {
  const { channel } = await guarded(() => undefined);
  await stage.add('a', [1, 2]);
  await stage.relay(channel);
  await isOut();
  await stage.add('b', [1, 2]);
  const relays = await stage.relay(channel);
  await relays.stop();
  await stage.sql(async (sql) => {
    await sql`update ledgerline.outbox set dead_at = now(), published_at = null where session = 'b'`;
    await sql`
      update ledgerline.outbox set created_at = now() - interval '8 days', published_at = published_at - interval '8 days'
       where outbox_sequence = 1`;
  });
  expect(await stage.pool.run('forgetting', (sql) => forgetPublished(sql))).toBe(1);
  expect([(await stage.rows('a')).map((row) => row.number), (await stage.rows('b')).length]).toEqual([[2], 2]);
});
