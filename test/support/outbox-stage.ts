/** An outbox on a database of the calling test's, with relays that may die, consumers, and what each of them did. */
import { randomBytes } from 'node:crypto';
import { connect } from 'nats';
import type { JetStreamManager } from 'nats';
import { Registry } from 'prom-client';
import { onTestFinished } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createInboxMetrics, createRelayMetrics } from '../../src/base/delivery-metrics.ts';
import { LedgerlineError } from '../../src/base/errors.ts';
import { silentLog } from '../../src/base/log.ts';
import type { Service } from '../../src/base/service.ts';
import { createPool } from '../../src/db/pool.ts';
import type { Pool } from '../../src/db/pool.ts';
import { transaction } from '../../src/db/postgres.ts';
import type { Sql } from '../../src/db/postgres.ts';
import { addDeliveries } from '../../src/outbox/add.ts';
import type { DeliveryChannel } from '../../src/outbox/delivery.ts';
import { createConsumer } from '../../src/outbox/inbox.ts';
import type { ConsumerOptions } from '../../src/outbox/inbox.ts';
import { jetStreamChannel } from '../../src/outbox/jetstream-channel.ts';
import type { JetStreamChannelOptions } from '../../src/outbox/jetstream-channel.ts';
import { localChannel } from '../../src/outbox/local-channel.ts';
import { createRelay } from '../../src/outbox/relay.ts';
import type { RelayOptions } from '../../src/outbox/relay.ts';
import { streamOf } from '../../src/outbox/wire.ts';
import { withSql } from './ledger.ts';
import { sharedNatsUrl } from './services.ts';
import { database } from './stage.ts';

export interface OutboxState {
  readonly number: number;
  readonly state: 'waiting' | 'published' | 'dead';
  readonly attempts: number;
}

/** Of a database that has one, or of one of its own. */
export async function outboxStage(databaseUrl?: string) {
  const url = databaseUrl ?? (await database()).url;
  const sql = <T>(work: (client: Sql) => Promise<T>): Promise<T> => withSql(url, work);
  const pool = createPool({ url, connections: 4, name: 'test', log: silentLog, deadlineMs: 20_000 });
  onTestFinished(() => pool.close(1_000));
  await sql(async (client) => {
    await client`create table applied (place bigserial, consumer text, session text, number bigint, payload text)`;
  });
  const heads = new Map<string, number>();

  /** The next deliveries of a session, each as if it were of a step of its own. */
  async function add(session: string, payloads: readonly unknown[], topic = 'topic'): Promise<void> {
    await sql((client) =>
      transaction(client, async (tx) => {
        for (const payload of payloads) {
          const first = (heads.get(session) ?? 0) + 1;
          heads.set(session, first);
          await addDeliveries(tx, { session, turn: `turn-${session}`, step: first, first }, [{ topic, payload }]);
        }
      }),
    );
  }

  async function rows(session: string): Promise<OutboxState[]> {
    const found = await sql(
      (client) => client<OutboxState[]>`
        select outbox_sequence as number, attempts,
               case when published_at is not null then 'published' when dead_at is not null then 'dead' else 'waiting' end as state
          from ledgerline.outbox where session = ${session}::text order by outbox_sequence`,
    );
    return found.map((row) => ({ ...row }));
  }

  async function waiting(): Promise<number> {
    const [row] = await sql(
      (client) => client<{ rows: number }[]>`
        select count(*) as rows from ledgerline.outbox where published_at is null and dead_at is null`,
    );
    return row?.rows ?? 0;
  }

  async function relay(channel: DeliveryChannel, more: Partial<RelayOptions> = {}): Promise<Service> {
    const metrics = createRelayMetrics(new Registry());
    const bounds = { leaseMs: 2_000, renewMs: 100, pollMs: 20 };
    const one = createRelay({ pool, channel, clock: systemClock, log: silentLog, metrics, bounds, ...more });
    await one.start();
    onTestFinished(() => one.stop());
    return one;
  }

  /** Its effect is a row of `applied`. */
  async function consumer(from: ConsumerOptions['from'], more: Partial<ConsumerOptions> = {}) {
    const name = more.name ?? 'c';
    const metrics = createInboxMetrics(new Registry());
    const one = createConsumer({
      name,
      topics: ['topic'],
      databaseUrl: url,
      from,
      async apply(tx, { session, outboxSequence, payload }) {
        await tx`insert into applied (consumer, session, number, payload)
                 values (${name}::text, ${session}::text, ${outboxSequence}::bigint, ${payload}::text)`;
      },
      log: silentLog,
      metrics,
      ...more,
    });
    await one.start();
    onTestFinished(() => one.stop());
    const outcomes = async (): Promise<Record<string, number>> => {
      const { values } = await metrics.received.get();
      return Object.fromEntries(values.map((value) => [String(value.labels.outcome), value.value]));
    };
    return { ...one, outcomes };
  }

  /** In the order in which they were applied. */
  async function applied(session?: string, name = 'c'): Promise<number[]> {
    const found = await sql(
      (client) => client<{ number: number }[]>`
        select number from applied where consumer = ${name}::text and session = coalesce(${session ?? null}::text, session) order by place`,
    );
    return found.map((row) => row.number);
  }

  /** As if every pause after a refusal were over. */
  const hurry = (): Promise<void> =>
    sql(async (client) => {
      await client`update ledgerline.outbox set next_attempt_at = null where next_attempt_at is not null`;
    });

  return { url, pool, sql, add, rows, waiting, relay, consumer, applied, hurry };
}

export type OutboxStage = Awaited<ReturnType<typeof outboxStage>>;

export const freshRoot = (): string => `test.${randomBytes(6).toString('hex')}`;

/** A channel over the run's NATS, or another's, with a stream of the test's own. */
export async function jetStream(more: Partial<JetStreamChannelOptions> = {}) {
  const subjectRoot = more.subjectRoot ?? freshRoot();
  const options = { url: sharedNatsUrl(), log: silentLog, ...more, subjectRoot };
  const channel = jetStreamChannel(options);
  await channel.start();
  onTestFinished(() => channel.stop());
  return { channel, subjectRoot, url: options.url, stream: streamOf(subjectRoot) };
}

export async function local(): Promise<DeliveryChannel> {
  const channel = localChannel({ clock: systemClock, log: silentLog });
  await channel.start();
  onTestFinished(() => channel.stop());
  return channel;
}

/** What an operator does to the broker behind our back. */
export async function onBroker<T>(url: string, work: (manager: JetStreamManager) => Promise<T>): Promise<T> {
  const client = await connect({ servers: url });
  try {
    return await work(await client.jetstreamManager());
  } finally {
    await client.close();
  }
}

/** A process that dies when it has published and is about to mark: from then on it reaches neither the database nor the broker. */
export function mortal(pool: Pool, channel: DeliveryChannel, marksToLive: number) {
  let isDead = false;
  let marks = 0;
  const gone = new LedgerlineError('unavailable', 'the process is dead');
  const itsPool: Pool = {
    run(what, query) {
      if (what === 'marking deliveries') isDead ||= ++marks > marksToLive;
      return isDead ? Promise.reject(gone) : pool.run(what, query);
    },
    close: () => Promise.resolve(),
  };
  const itsChannel: DeliveryChannel = {
    ...channel,
    publish: (delivery, isAgain) =>
      isDead ? Promise.resolve({ kind: 'away', reason: 'the process is dead' }) : channel.publish(delivery, isAgain),
  };
  return { pool: itsPool, channel: itsChannel, isDead: () => isDead };
}

/** What a stream holds, in its order, each message as `number` of its session; read until it holds so many different ones. */
export async function readStream(channel: DeliveryChannel, different: number): Promise<Map<string, number[]>> {
  const sessions = new Map<string, number[]>();
  const seen = new Set<string>();
  const ending = new AbortController();
  await channel.consume(
    `reader-${randomBytes(4).toString('hex')}`,
    ({ delivery: { session, outboxSequence }, pending, acknowledge }) => {
      sessions.set(session, [...(sessions.get(session) ?? []), outboxSequence]);
      seen.add(`${session}:${outboxSequence}`);
      acknowledge();
      if (seen.size >= different && pending === 0) ending.abort();
      return Promise.resolve();
    },
    ending.signal,
  );
  return sessions;
}

/** Repeats are allowed, and a number before the one that it follows is not. */
export const jumpsAhead = (numbers: readonly number[]): number[] => {
  let highest = 0;
  return numbers.filter((number) => {
    const isJump = number > highest + 1;
    highest = Math.max(highest, number);
    return isJump;
  });
};

export const countTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);
