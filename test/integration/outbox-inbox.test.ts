/** A consumer applies each delivery once, in order, whatever comes twice, late, in pieces, or under a wrong number. */
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { deliveryLimits } from '../../src/base/delivery-limits.ts';
import { createConsumer } from '../../src/outbox/inbox.ts';
import type { Delivery, DeliveryChannel } from '../../src/outbox/delivery.ts';
import { forgetApplied } from '../../src/outbox/inbox-row.ts';
import { delivery, tombstone } from '../contract/delivery-channel.ts';
import { countTo, jetStream, local, outboxStage } from '../support/outbox-stage.ts';
import type { OutboxStage } from '../support/outbox-stage.ts';
import { freshDatabase } from '../support/services.ts';
import { eventually } from '../support/waits.ts';

let stage: OutboxStage;
let channel: DeliveryChannel;
beforeEach(async () => {
  [stage, channel] = [await outboxStage(), await local()];
});

async function publish(...deliveries: readonly Delivery[]): Promise<void> {
  for (const each of deliveries) expect(await channel.publish(each)).toMatchObject({ kind: 'stored' });
}

type Consumer = Awaited<ReturnType<OutboxStage['consumer']>>;
const sees = (consumer: Consumer, outcome: string, count = 1): Promise<boolean> =>
  eventually(`${outcome} is seen`, async () => ((await consumer.outcomes())[outcome] ?? 0) >= count);

const dead = () =>
  stage.sql(async (sql) => {
    const rows = await sql<{ number: number; identity: string; payload: string | null; error: string }[]>`
      select outbox_sequence as number, identity, payload::text as payload, error ->> 'message' as error
        from ledgerline.inbox_dead order by session, outbox_sequence`;
    return rows.map((row) => ({ ...row }));
  });

describe('a delivery', () => {
  test('that comes twice is applied once, also when it is old [I15]', async () => {
    const consumer = await stage.consumer(channel);
    await publish(delivery('a', 1), delivery('a', 1), delivery('a', 2), delivery('a', 1), delivery('a', 2));
    await sees(consumer, 'duplicate', 3);
    expect(await stage.applied('a')).toEqual([1, 2]);
  });

  test('behind a hole waits for what is missing, and is never skipped', async () => {
    const consumer = await stage.consumer(channel);
    await publish(delivery('a', 1), delivery('a', 3), delivery('a', 4), delivery('b', 1));
    await sees(consumer, 'hole', 4);
    expect([await stage.applied('a'), await stage.applied('b')]).toEqual([[1], [1]]);
    await publish(delivery('a', 2));
    await eventually('the rest follows', async () => (await stage.applied('a')).length === 4);
    expect(await stage.applied('a')).toEqual([1, 2, 3, 4]);
  });

  test('under the number of another is an alarm and no duplicate: never applied, and kept for a person', async () => {
    const consumer = await stage.consumer(channel);
    const stranger = { ...delivery('a', 1, '"stranger"'), identity: 'turn-a:7:topic' };
    await publish(delivery('a', 1), delivery('a', 2), stranger);
    await sees(consumer, 'conflict');
    expect(await stage.applied('a')).toEqual([1, 2]);
    expect(await dead()).toEqual([
      { number: 1, identity: 'turn-a:7:topic', payload: '"stranger"', error: 'its number was another delivery’s' },
    ]);
  });

  test('of a topic that is not the consumer’s, or a tombstone, counts and does nothing', async () => {
    const consumer = await stage.consumer(channel);
    await publish({ ...delivery('a', 1), topic: 'other' }, tombstone('a', 2), delivery('a', 3));
    await sees(consumer, 'applied');
    expect([await stage.applied('a'), await consumer.outcomes()]).toEqual([[3], { applied: 1, passed: 2 }]);
  });

  test('that was applied is not applied again for its tombstone, and one behind its tombstone is applied once', async () => {
    const consumer = await stage.consumer(channel);
    await publish(
      delivery('a', 1),
      tombstone('a', 1),
      tombstone('a', 2),
      delivery('a', 2),
      delivery('a', 2),
      tombstone('a', 2),
    );
    await sees(consumer, 'duplicate', 3);
    expect(await stage.applied('a')).toEqual([1, 2]);
  });

  test('brings its payload as it was written', async () => {
    await stage.consumer(channel);
    const payload = '{"z":1, "a":9007199254740993,"n":-0,"text":"\\ud83d \\u0000"}';
    await publish(delivery('a', 1, payload));
    await eventually('it is applied', async () => (await stage.applied('a')).length === 1);
    const [row] = await stage.sql((sql) => sql<{ payload: string }[]>`select payload from applied`);
    expect(row?.payload).toBe(payload);
  });
});

describe('an effect', () => {
  test('that throws leaves nothing, comes again, and lets other sessions flow', async () => {
    let failures = 0;
    const consumer = await stage.consumer(channel, {
      async apply(tx, { session, outboxSequence }) {
        await tx`insert into applied (consumer, session, number) values ('c', ${session}::text, ${outboxSequence}::bigint)`;
        if (session === 'a' && outboxSequence === 1 && failures < 3) {
          failures += 1;
          throw new Error('the ledger is closed');
        }
      },
    });
    await publish(delivery('a', 1), delivery('a', 2), delivery('b', 1));
    await eventually('all is applied', async () => (await stage.applied()).length === 3);
    expect([await stage.applied('a'), await stage.applied('b')]).toEqual([[1, 2], [1]]);
    expect(await consumer.outcomes()).toMatchObject({ failed: 3, applied: 3 });
    expect(await dead()).toEqual([]);
  });

  test('whose statement fails when nobody waits for it is not applied, and the delivery comes again', async () => {
    let tries = 0;
    const consumer = await stage.consumer(channel, {
      apply(tx, { session, outboxSequence }) {
        tries += 1;
        const write = (number: number) =>
          tx`insert into applied (consumer, session, number) values ('c', ${session}::text, ${number}::bigint / ${tries < 3 ? 0 : 1}::int)`;
        write(outboxSequence).catch(() => undefined);
        return Promise.resolve();
      },
    });
    await publish(delivery('a', 1));
    await sees(consumer, 'applied');
    expect([tries, await stage.applied('a')]).toEqual([3, [1]]);
  });

  test('that never succeeds is dead after so many failures, and its session goes on', async () => {
    const consumer = await stage.consumer(channel, {
      maxFailures: 3,
      async apply(tx, { session, outboxSequence }) {
        if (outboxSequence === 2) throw new Error('no such order\u0000');
        await tx`insert into applied (consumer, session, number) values ('c', ${session}::text, ${outboxSequence}::bigint)`;
      },
    });
    await publish(delivery('a', 1), delivery('a', 2), delivery('a', 3));
    await eventually('the session goes on', async () => (await stage.applied('a')).length === 2);
    expect(await consumer.outcomes()).toMatchObject({ failed: 3, dead: 1, applied: 2 });
    const [error] = await stage.sql((sql) => sql<{ error: string }[]>`select error::text from ledgerline.inbox_dead`);
    expect(JSON.parse(error?.error ?? '')).toEqual({ message: 'no such order\u0000' });
    await publish(delivery('a', 2));
    await sees(consumer, 'duplicate');
    // Another under its number is kept beside it.
    await publish({ ...delivery('a', 2), identity: 'turn-a:7:topic' });
    await sees(consumer, 'conflict');
    const kept = await stage.sql(
      (sql) => sql<{ identity: string }[]>`select identity from ledgerline.inbox_dead order by identity`,
    );
    expect(kept.map(({ identity }) => identity)).toEqual([delivery('a', 2).identity, 'turn-a:7:topic'].toSorted());
  });

  test('that is committed and not acknowledged is not repeated', async () => {
    const forgetful: DeliveryChannel = {
      ...channel,
      consume: (name, handle, signal) =>
        channel.consume(
          name,
          (received) =>
            handle({
              ...received,
              // As if the process had died in between.
              acknowledge: () => (received.timesDelivered < 3 ? received.later(1) : received.acknowledge()),
            }),
          signal,
        ),
    };
    const consumer = await stage.consumer(forgetful);
    await publish(...countTo(5).map((number) => delivery('a', number)));
    await sees(consumer, 'duplicate', 10);
    expect(await stage.applied('a')).toEqual(countTo(5));
  });
});

test('deliveries that wait for a connection are not late, and cut off none that is being applied', async () => {
  const consumer = await stage.consumer(channel, {
    bounds: { connections: 1, deadlineMs: 1_000 },
    async apply(tx, { session }) {
      await tx`select pg_sleep(0.15)`;
      await tx`insert into applied (consumer, session, number) values ('c', ${session}::text, 1)`;
    },
  });
  await publish(...countTo(12).map((index) => delivery(`s${index}`, 1)));
  await eventually('all are applied', async () => (await stage.applied()).length === 12);
  expect(await consumer.outcomes()).toEqual({ applied: 12 });
});

test('two processes of one consumer apply everything once, in order', async () => {
  const { channel: stream } = await jetStream();
  await Promise.all([stage.consumer(stream), stage.consumer(stream)]);
  const sessions = countTo(8).map((index) => `s${index}`);
  for (const number of countTo(25)) for (const session of sessions) await stream.publish(delivery(session, number));
  await eventually('all is applied', async () => (await stage.applied()).length >= 200);
  for (const session of sessions) expect(await stage.applied(session)).toEqual(countTo(25));
});

test('what waits behind a delivery that failed follows it, though the broker brings it again much later', async () => {
  const { channel: stream } = await jetStream();
  const patient: DeliveryChannel = {
    ...stream,
    consume: (name, handle, signal) =>
      stream.consume(
        name,
        (received) =>
          handle({
            ...received,
            // The one that fails comes soon, and none of those that wait for it.
            later: (delayMs) => received.later(received.delivery.outboxSequence === 1 ? delayMs : 600_000),
          }),
        signal,
      ),
  };
  let isClosed = true;
  const consumer = await stage.consumer(patient, {
    async apply(tx, { session, outboxSequence }) {
      if (isClosed) throw new Error('the ledger is closed');
      await tx`insert into applied (consumer, session, number) values ('c', ${session}::text, ${outboxSequence}::bigint)`;
    },
  });
  for (const number of countTo(25)) await stream.publish(delivery('a', number));
  await sees(consumer, 'hole', 24);
  isClosed = false;
  await eventually('all is applied', async () => (await stage.applied('a')).length === 25);
  expect(await stage.applied('a')).toEqual(countTo(25));
});

test('two consumers of one database do not know of each other', async () => {
  await stage.consumer(channel, { name: 'one' });
  await stage.consumer(channel, { name: 'two' });
  await publish(delivery('a', 1), delivery('a', 2));
  for (const name of ['one', 'two']) {
    await eventually('it has both', async () => (await stage.applied('a', name)).length === 2);
  }
});

test('a consumer that comes later than its sessions begins where it is told to', async () => {
  const strict = await stage.consumer(channel, { name: 'strict' });
  await stage.consumer(channel, { name: 'late', startsAnywhere: true });
  await publish(delivery('a', 57), delivery('a', 58), delivery('b', 1));
  await eventually('it has all', async () => (await stage.applied(undefined, 'late')).length === 3);
  expect(await stage.applied('a', 'late')).toEqual([57, 58]);
  await sees(strict, 'hole', 2);
  expect(await stage.applied('a', 'strict')).toEqual([]);
});

test('a consumer that comes later begins with the first delivery that it sees, though that one fails at first', async () => {
  let failures = 0;
  const consumer = await stage.consumer(channel, {
    startsAnywhere: true,
    async apply(tx, { session, outboxSequence }) {
      if (outboxSequence === 57 && (failures += 1) < 3) throw new Error('not yet');
      await tx`insert into applied (consumer, session, number) values ('c', ${session}::text, ${outboxSequence}::bigint)`;
    },
  });
  await publish(delivery('a', 57), delivery('a', 58));
  await sees(consumer, 'applied', 2);
  expect(await stage.applied('a')).toEqual([57, 58]);
});

test('what was applied long ago is forgotten, and is a duplicate all the same', async () => {
  const consumer = await stage.consumer(channel);
  await publish(delivery('a', 1), delivery('a', 2));
  await sees(consumer, 'applied', 2);
  await stage.sql(async (sql) => {
    await sql`update ledgerline.inbox set applied_at = now() - interval '8 days' where outbox_sequence = 1`;
  });
  expect(await stage.pool.run('forgetting', (sql) => forgetApplied(sql, 'c'))).toBe(1);
  await publish(delivery('a', 1), delivery('a', 3));
  await sees(consumer, 'applied', 3);
  expect(await stage.applied('a')).toEqual([1, 2, 3]);
});

test('all that was applied long ago is forgotten when it is time, however much it is', async () => {
  await stage.sql(async (sql) => {
    await sql`insert into ledgerline.inbox (consumer, session, outbox_sequence, identity, applied_at)
              select 'c', 'a', number, 'turn-a:' || number || ':topic', now() - interval '8 days'
                from generate_series(1, ${2 * deliveryLimits.forgetRows + 1}::int) number`;
  });
  let isTime = true;
  const after: typeof systemClock.after = (delayMs, run) => {
    const isDue = isTime && delayMs >= deliveryLimits.forgetMs / 2;
    if (isDue) isTime = false; // once: the next time would be minutes later
    return systemClock.after(isDue ? 0 : delayMs, run);
  };
  await stage.consumer(channel, { clock: { ...systemClock, after } });
  await eventually('nothing of it is left', async () => {
    const rows = await stage.sql((sql) => sql`select from ledgerline.inbox limit 1`);
    return rows.length === 0;
  });
});

test('a delivery that was dead for longer than anything is kept is applied when it is sent again', async () => {
  const consumer = await stage.consumer(channel);
  await publish(tombstone('a', 1), delivery('a', 2));
  await eventually('it is passed', async () => (await stage.applied('a')).length === 1);
  await stage.sql(async (sql) => {
    await sql`update ledgerline.inbox set applied_at = applied_at - interval '8 days'`;
  });
  expect(await stage.pool.run('forgetting', (sql) => forgetApplied(sql, 'c'))).toBe(1);
  await publish(delivery('a', 1), delivery('a', 2));
  await sees(consumer, 'duplicate');
  expect(await stage.applied('a')).toEqual([2, 1]);
});

test('a database without an inbox, or a name that is none, is refused with what to do', async () => {
  const { url, drop } = await freshDatabase({ isEmpty: true });
  onTestFinished(drop);
  await expect(stage.consumer(channel, { databaseUrl: url })).rejects.toMatchObject({
    code: 'configuration',
    message: expect.stringContaining('run `ledgerline migrate`'),
  });
  const options = { topics: [], databaseUrl: url, from: channel, apply: () => Promise.resolve() };
  expect(() => createConsumer({ ...options, name: 'a.b' })).toThrow("a consumer's name is 1 to 64 of");
});
