/** What a relay does now and then is done, however often relays restart. */
import { expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { Timer } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { SHARDS, shardOf } from '../../src/outbox/add.ts';
import { createUpkeep } from '../../src/outbox/upkeep.ts';
import { countTo, outboxStage } from '../support/outbox-stage.ts';
import { eventually } from '../support/waits.ts';

test('the broker is compared once a day, by whoever has the shard, and again if that came to nothing', async () => {
  const stage = await outboxStage();
  await stage.add('a', [1, 2]);
  await stage.sql(async (sql) => {
    await sql`update ledgerline.outbox set published_at = clock_timestamp(), stream_sequence = outbox_sequence`;
  });
  const allShards = countTo(SHARDS).map((place) => place - 1);

  /** A process that begins, does once whatever it does now and then, and ends. Which sessions it asked the stream for. */
  async function life(stored: () => Promise<ReadonlySet<number>>, shards = allShards): Promise<string[]> {
    const asked: string[] = [];
    const timers: (() => void)[] = [];
    const after = (_: number, run: () => void): Timer => {
      timers.push(run);
      return { cancel: () => undefined };
    };
    const upkeep = createUpkeep({
      pool: stage.pool,
      channel: {
        isLasting: true,
        stored(session) {
          asked.push(session);
          return stored();
        },
      },
      clock: { ...systemClock, after },
      log: silentLog,
      owned: () => shards,
    });
    upkeep.start();
    const works = timers.splice(0);
    for (const work of works) work();
    await eventually('each is done, and is to be done again', () => timers.length === works.length);
    await upkeep.stop();
    return asked;
  }

  const all = () => Promise.resolve(new Set([1, 2]));
  expect(await life(all, [(shardOf('a') + 1) % SHARDS])).toEqual([]);
  expect(await life(() => Promise.reject(new Error('the broker is away')))).toEqual(['a']);
  expect(await life(all)).toEqual(['a']);
  expect(await life(all)).toEqual([]);
  await stage.sql(async (sql) => {
    await sql`update ledgerline.relay_shard set reconciled_at = reconciled_at - interval '25 hours'`;
  });
  expect(await life(() => Promise.resolve(new Set([2])))).toEqual(['a']);
  expect((await stage.rows('a')).map(({ state }) => state)).toEqual(['waiting', 'published']);
});
