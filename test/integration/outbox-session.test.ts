/** The list of a session's deliveries: what became of each, who has applied it, and at what cost. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { Statements } from '../../src/db/postgres.ts';
import type { DeliveryChannel } from '../../src/outbox/delivery.ts';
import { listSession } from '../../src/outbox/session-deliveries.ts';
import { local, outboxStage } from '../support/outbox-stage.ts';
import type { OutboxStage } from '../support/outbox-stage.ts';
import { explained } from '../support/plan.ts';
import { eventually } from '../support/waits.ts';

let stage: OutboxStage;
let channel: DeliveryChannel;
beforeEach(async () => {
  [stage, channel] = [await outboxStage(), await local()];
});

const list = async (session: string) =>
  (await stage.sql((sql) => listSession(sql, session, { limit: 10 }))).deliveries.toReversed();
const isOut = (): Promise<boolean> => eventually('everything is out', async () => (await stage.waiting()) === 0);

test('a delivery waits, is refused, published, or dead, each since its own time', async () => {
  await stage.add('a', [1, 2, 3, 4]);
  await stage.sql(async (sql) => {
    const error = JSON.stringify({ message: 'too large\u0000' });
    await sql`update ledgerline.outbox set created_at = '2026-11-30T04:00:00Z'`;
    await sql`update ledgerline.outbox set published_at = '2026-11-30T05:00:00Z' where outbox_sequence = 1`;
    await sql`
      update ledgerline.outbox set attempts = 10, dead_at = '2026-11-30T06:00:00Z', last_error = ${error}::text::json
       where outbox_sequence = 2`;
    await sql`update ledgerline.outbox set attempts = 3, last_error = ${error}::text::json where outbox_sequence = 3`;
  });
  expect(await list('a')).toMatchObject([
    { outboxSequence: 1, state: 'published', since: '2026-11-30T05:00:00.000Z', attempts: 0, error: undefined },
    { outboxSequence: 2, state: 'dead', since: '2026-11-30T06:00:00.000Z', attempts: 10, error: 'too large\u0000' },
    { outboxSequence: 3, state: 'refused', since: '2026-11-30T04:00:00.000Z', attempts: 3 },
    { outboxSequence: 4, state: 'waiting', since: '2026-11-30T04:00:00.000Z' },
  ]);
});

describe('who has applied a delivery', () => {
  test('is told by name, in order, of each delivery for itself [I15]', async () => {
    await stage.relay(channel);
    await stage.add('a', [1]);
    await stage.add('a', [2], 'other');
    for (const name of ['stock', 'entries']) await stage.consumer(channel, { name });
    await stage.consumer(channel, { name: 'mail', topics: ['other'] });
    await eventually('all is applied', async () => (await list('a')).every(({ applied }) => applied.length > 0));
    await eventually('all have applied', async () => (await list('a'))[0]?.applied.length === 2);
    // Of a topic of others only its number counts: that is not to apply it.
    expect((await list('a')).map(({ applied }) => applied)).toEqual([['entries', 'stock'], ['mail']]);
    expect((await list('b')).length).toBe(0);
  });

  test('is not who passed its tombstone, nor who could not apply it', async () => {
    await stage.add('a', [1, 2, 3]);
    await stage.sql(async (sql) => {
      await sql`update ledgerline.outbox set attempts = 10 where outbox_sequence = 1`;
    });
    await stage.relay(channel);
    const consumer = await stage.consumer(channel, {
      maxFailures: 1,
      apply: (_, { outboxSequence }) =>
        outboxSequence === 2 ? Promise.reject(new Error('no such order')) : Promise.resolve(),
    });
    await isOut();
    await eventually('the last is applied', async () => (await consumer.outcomes())['applied'] === 1);
    expect((await list('a')).map(({ state, applied }) => [state, applied])).toEqual([
      ['dead', []],
      ['published', []],
      ['published', ['c']],
    ]);
  });
});

test('a page of a long session among many touches its own rows alone', async () => {
  await stage.sql(async (sql) => {
    await sql`
      insert into ledgerline.outbox (session, outbox_sequence, turn_id, step_index, topic, payload, shard)
      select 's' || n % 20, n / 20 + 1, 't', n / 20 + 1, 'topic', '1', 0 from generate_series(0, 19999) n`;
    await sql`
      insert into ledgerline.inbox_mark (consumer, session, outbox_sequence)
      select 'c' || c, 's' || s, 1000 from generate_series(1, 3) c, generate_series(0, 19) s`;
    await sql`
      insert into ledgerline.inbox (consumer, session, outbox_sequence, identity)
      select 'c' || c, 's' || n % 20, n / 20 + 1, 't:' || n / 20 + 1 || ':topic'
        from generate_series(1, 3) c, generate_series(0, 19999) n`;
    await sql`analyze ledgerline.outbox, ledgerline.inbox, ledgerline.inbox_mark`; // as autovacuum does
    await sql`set enable_seqscan = off`;
    const listing = (on: Statements) => listSession(on, 's7', { before: 900, limit: 10 });
    const { deliveries, next } = await listing(sql);
    expect([deliveries.map(({ outboxSequence }) => outboxSequence), next]).toEqual([
      [899, 898, 897, 896, 895, 894, 893, 892, 891, 890],
      890,
    ]);
    expect(deliveries[0]?.applied).toEqual(['c1', 'c2', 'c3']);
    const { lines, pages } = await explained(sql, listing);
    expect(lines).toMatch(/Index Scan Backward using outbox_pkey/);
    expect(lines).not.toMatch(/Seq Scan|Sort Key: o\./);
    expect(pages).toBeLessThan(500);
  });
});
