/**
 * How fast a relay publishes an outbox, beside plain publishes to JetStream that wait for their acknowledgements.
 *
 * Method. Both sides run in this process, on the same nats-server, into streams of the same settings, with the same payloads. The plain side is a bare
 * `publish` of the NATS client, one after another in each session and the sessions side by side: what no one can be faster than who keeps
 * a session's order and waits for the broker. The relay's side is the product: the outbox is filled, then one relay is told, and the time
 * runs until the last row is marked as published. A relay reads the rows, publishes with number, identity and message id, and marks; Postgres runs on
 * the same cores with fsync on. One session has all rows, or they are even among 16 and 256. Rounds of the two sides alternate, after one
 * unmeasured round of each, and every figure is the median of its rounds; the ratio is taken within each round.
 *
 * Postgres as in `bench/services/database`, NATS as in `bench/services/broker`.
 */
import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { DiscardPolicy, connect, nanos } from 'nats';
import { Registry } from 'prom-client';
import { sleep, systemClock } from '../../src/base/clock.ts';
import { createRelayMetrics } from '../../src/base/delivery-metrics.ts';
import { deliveryLimits } from '../../src/base/delivery-limits.ts';
import { limits } from '../../src/base/limits.ts';
import { silentLog } from '../../src/base/log.ts';
import { createPool } from '../../src/db/pool.ts';
import type { Pool } from '../../src/db/pool.ts';
import { shardOf } from '../../src/outbox/add.ts';
import type { DeliveryChannel } from '../../src/outbox/delivery.ts';
import { jetStreamChannel } from '../../src/outbox/jetstream-channel.ts';
import { createRelay } from '../../src/outbox/relay.ts';
import { openBroker } from '../services/broker.ts';
import { openDatabase } from '../services/database.ts';
import { median, progressOfRound, rounded, spread } from '../report.ts';
import type { Report } from '../report.ts';

const payload = JSON.stringify({ key: 'v1:01JEXAMPLE0000000000000000:2', amount: 40, customer: '7731' });
const countTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

interface Round {
  readonly perSecond: number;
  readonly cpuMicros: number;
}

async function timed(count: number, work: () => Promise<void>): Promise<Round> {
  const cpu = process.cpuUsage();
  const started = performance.now();
  await work();
  const seconds = (performance.now() - started) / 1_000;
  const used = process.cpuUsage(cpu);
  return { perSecond: count / seconds, cpuMicros: (used.user + used.system) / count };
}

/** Each session's deliveries from 1 on, each as if it were of a step of its own; all visible at once, and taken in turn as they would have come. */
async function fill(pool: Pool, sessions: readonly string[], each: number): Promise<void> {
  await pool.run('filling the outbox', async (sql) => {
    await sql`
      insert into ledgerline.outbox (session, outbox_sequence, turn_id, step_index, topic, payload, shard)
      select s.session, n, 'turn-1', n, 'refund.issued', ${payload}::text::json, s.shard
        from generate_series(1, ${each}::int) n,
             unnest(string_to_array(${sessions.join(',')}::text, ','),
                    string_to_array(${sessions.map(shardOf).join(',')}::text, ',')::smallint[]) s (session, shard)
       order by n, s.session`;
  });
}

async function waiting(pool: Pool): Promise<number> {
  return pool.run('counting what waits', async (sql) => {
    const [row] = await sql<{ rows: number }[]>`
      select count(*) as rows from ledgerline.outbox where published_at is null and dead_at is null`;
    return row?.rows ?? 0;
  });
}

/** Counts what the broker has acknowledged, so that nobody asks the database before the end is near. */
function counting(channel: DeliveryChannel) {
  const seen = { stored: 0 };
  const counted: DeliveryChannel = {
    ...channel,
    async publish(delivery, isAgain) {
      const outcome = await channel.publish(delivery, isAgain);
      if (outcome.kind === 'stored') seen.stored += 1;
      return outcome;
    },
  };
  return { seen, channel: counted };
}

export async function run({ quick }: { quick: boolean }): Promise<Report> {
  const rounds = quick ? 5 : 9;
  const deliveries = quick ? { one: 2_000, many: 10_000 } : { one: 5_000, many: 40_000 };
  const broker = await openBroker();
  const database = await openDatabase();
  const root = `bench-${randomUUID()}`;
  const pool = createPool({
    url: database.url,
    connections: deliveryLimits.relayConnections,
    name: 'bench relay',
    deadlineMs: limits.queryDeadlineMs,
    log: silentLog,
  });
  const { seen, channel } = counting(jetStreamChannel({ url: broker.url, subjectRoot: root, log: silentLog }));
  let wake = (): void => undefined;
  const relay = createRelay({
    pool,
    channel,
    clock: systemClock,
    log: silentLog,
    metrics: createRelayMetrics(new Registry()),
    onHint(listener) {
      wake = listener;
      return { unsubscribe: () => undefined };
    },
  });
  const client = await connect({ servers: broker.url });
  try {
    await channel.start();
    await relay.start();
    const manager = await client.jetstreamManager();
    await manager.streams.add({
      name: `${root}-plain`,
      subjects: [`${root}-plain.*`],
      discard: DiscardPolicy.New,
      max_age: nanos(deliveryLimits.deliveryDays * 24 * 3_600_000),
      duplicate_window: nanos(deliveryLimits.duplicateWindowMs),
    });
    const stream = client.jetstream();

    const plain = async (sessions: readonly string[], each: number): Promise<void> => {
      const text = Buffer.from(payload);
      await Promise.all(
        sessions.map(async (session) => {
          for (let left = each; left > 0; left -= 1) await stream.publish(`${root}-plain.${session}`, text);
        }),
      );
    };
    const relayed = async (all: number): Promise<void> => {
      const until = seen.stored + all;
      wake();
      while (seen.stored < until || (await waiting(pool)) > 0) await sleep(1);
    };

    const rows: Report['rows'][number][] = [];
    for (const count of [1, 16, 256]) {
      const each = Math.ceil((count === 1 ? deliveries.one : deliveries.many) / count);
      const results: { plain: Round; relay: Round }[] = [];
      for (let round = -1; round < rounds; round += 1) {
        progressOfRound(round, rounds, `${count} sessions`);
        const sessions = countTo(count).map(() => randomUUID());
        const plainly = await timed(count * each, () => plain(sessions, each));
        await fill(pool, sessions, each);
        const both = { plain: plainly, relay: await timed(count * each, () => relayed(count * each)) };
        if (round >= 0) results.push(both);
      }
      const figure = (side: 'plain' | 'relay', name: keyof Round): number =>
        median(results.map((both) => both[side][name]));
      const ratios = results.map((both) => both.relay.perSecond / both.plain.perSecond);
      rows.push({
        sessions: count,
        'deliveries of each': each,
        'plain/s': Math.round(figure('plain', 'perSecond')),
        'relay/s': Math.round(figure('relay', 'perSecond')),
        ratio: rounded(median(ratios)),
        'least and most': spread(ratios),
        'plain µs of CPU': Math.round(figure('plain', 'cpuMicros')),
        'relay µs of CPU': Math.round(figure('relay', 'cpuMicros')),
      });
    }
    return {
      name: 'A relay beside plain publishes to JetStream',
      method:
        'Plain: `publish` of the NATS client, awaited, one after another in each session and the sessions side by side. Relay: the same payloads from a filled outbox, published with number, identity and message id in the same way, until the last row is marked; Postgres on the same cores.',
      rows,
    };
  } finally {
    await relay.stop();
    await channel.stop();
    await client.close();
    await pool.close(1_000);
    await database.close();
    await broker.close();
  }
}
