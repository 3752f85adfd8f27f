/** The consumer library: every delivery applied once, in the order of its session, in a transaction of the consumer's own database. */
import { backoffMs } from '../base/backoff.ts';
import { sleep, systemClock } from '../base/clock.ts';
import type { Clock } from '../base/clock.ts';
import type { InboxMetrics } from '../base/delivery-metrics.ts';
import { LedgerlineError, toError } from '../base/errors.ts';
import { createGate } from '../base/gate.ts';
import { deliveryLimits } from '../base/delivery-limits.ts';
import { limits } from '../base/limits.ts';
import { createLog } from '../base/log.ts';
import type { Log } from '../base/log.ts';
import { detach } from '../base/service.ts';
import type { Service } from '../base/service.ts';
import { createPool } from '../db/pool.ts';
import type { Pool } from '../db/pool.ts';
import { sqlState } from '../db/postgres.ts';
import type { Statements } from '../db/postgres.ts';
import { applyOnce, passDead } from './apply.ts';
import type { Applied, AppliedDelivery } from './apply.ts';
import type { Delivery, DeliveryChannel, Received } from './delivery.ts';
import { keepInbox } from './inbox-upkeep.ts';
import { jetStreamChannel } from './jetstream-channel.ts';

export type { AppliedDelivery, DeliveryChannel, Statements };

export interface ConsumerOptions {
  /** Stays the same for ever: position, marks and memory are kept by it. 1 to 64 of A-Z a-z 0-9 _ -. */
  readonly name: string;
  /** What it applies; of other topics only the numbers count. */
  readonly topics: readonly string[];
  /** The database of its effects, with the schema `ledgerline` (`ledgerline migrate`) beside them. */
  readonly databaseUrl: string;
  /** Where deliveries come from: NATS, with the subject root of the servers (`ledgerline` if left out), or a channel. */
  readonly from: { readonly natsUrl: string; readonly subjectRoot?: string } | DeliveryChannel;
  /**
   * The effect, by `tx` alone: it is committed with the memory that it happened. May run again when it threw or the process died, and then
   * nothing of the first time is there. It has 30 s: one that takes longer is rolled back, and comes again without being counted as a failure.
   */
  readonly apply: (tx: Statements, delivery: AppliedDelivery) => Promise<void>;
  /** A delivery that threw so often, in one process, is kept in `inbox_dead`, and the session goes on. For ever, if left out. */
  readonly maxFailures?: number;
  /**
   * For a consumer that comes later than its sessions: the first delivery that it sees of one is its first. Else that is number 1. Let one
   * process begin: of two that get a session's first two at the same time, one may begin with the second, and the first is passed.
   */
  readonly startsAnywhere?: boolean;
  readonly log?: Log;
  readonly metrics?: InboxMetrics;
  readonly clock?: Clock;
  /** In the place of the limits, for a test. */
  readonly bounds?: Partial<ConsumerBounds>;
}

export interface ConsumerBounds {
  readonly connections: number;
  readonly deadlineMs: number;
}

const defaults: ConsumerBounds = {
  connections: deliveryLimits.consumerConnections,
  deadlineMs: deliveryLimits.applyDeadlineMs,
};

const pause = { firstMs: deliveryLimits.consumerPauseMs, capMs: deliveryLimits.consumerPauseCapMs } as const;

export function createConsumer(options: ConsumerOptions): Service {
  const {
    name,
    databaseUrl,
    from,
    maxFailures = Infinity,
    startsAnywhere = false,
    metrics,
    clock = systemClock,
  } = options;
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name)) {
    throw new LedgerlineError(
      'configuration',
      `a consumer's name is 1 to 64 of A-Z a-z 0-9 _ -, not ${JSON.stringify(name)}`,
    );
  }
  const log = (options.log ?? createLog('info')).child({ consumer: name });
  const isOwnChannel = 'natsUrl' in from;
  const channel = isOwnChannel
    ? jetStreamChannel({ url: from.natsUrl, subjectRoot: from.subjectRoot ?? 'ledgerline', log, clock })
    : from;
  const rules = { consumer: name, topics: new Set(options.topics), apply: options.apply };
  /** The lowest number of a session that is not applied: when it fails, the one behind it does not begin in its place. */
  const firsts = new Map<string, number>();
  const stopping = new AbortController();
  /** How often the delivery that a session waits for has failed. */
  const failures = new Map<string, number>();
  /** Sessions in which the next one did not come by waiting: what is behind it is put off at once, so that the next one gets its turn. */
  const stuck = new Set<string>();
  const { connections, deadlineMs } = { ...defaults, ...options.bounds };
  /** They wait for one another here: a pool whose query is late is replaced, and with it whoever is at work in it. */
  const inTurn = createGate(connections);
  let pool: Pool | undefined;
  let consuming: Promise<void> | undefined;

  function open(): Pool {
    return createPool({ url: databaseUrl, connections, name: `ledgerline ${name}`, log, deadlineMs });
  }

  function rulesFor({ session, outboxSequence: number }: Delivery) {
    if (!startsAnywhere) return { ...rules, startsAnywhere };
    const first = Math.min(firsts.get(session) ?? number, number);
    firsts.set(session, first);
    return { ...rules, startsAnywhere: number === first };
  }

  /** What to do about one that threw. Postgres being away is no failure of the delivery. */
  async function afterFailure(used: Pool, { delivery }: Received, thrown: unknown): Promise<Applied | number> {
    const { session, outboxSequence, topic } = delivery;
    const place = { session, outboxSequence, topic };
    if (thrown instanceof LedgerlineError && thrown.code === 'unavailable') {
      log.warn({ err: thrown, ...place }, 'a delivery waits for the database');
      return backoffMs(pause, 3, clock.random());
    }
    const count = (failures.get(session) ?? 0) + 1;
    failures.set(session, count);
    stuck.add(session);
    if (count < maxFailures) {
      log.warn(
        { err: toError(thrown), failures: count, ...place },
        'a delivery could not be applied; it will be tried again',
      );
      return backoffMs(pause, count - 1, clock.random());
    }
    log.error(
      { err: toError(thrown), failures: count, ...place },
      'a delivery is dead: it is kept in inbox_dead, and its session goes on',
    );
    const { message } = toError(thrown);
    return inTurn(() =>
      used.run('passing a dead delivery', (sql) => passDead(sql, delivery, rulesFor(delivery), message)),
    );
  }

  function settle(received: Received, applied: Applied | 'dead'): void {
    const { delivery, timesDelivered, streamSequence } = received;
    const { session, outboxSequence, identity } = delivery;
    metrics?.received.inc({ consumer: name, outcome: applied });
    if (applied === 'hole') {
      if (timesDelivered === deliveryLimits.holeTold) {
        log.warn({ session, outboxSequence }, 'a session waits for a delivery before this one, which does not come');
      }
      received.later(backoffMs(pause, timesDelivered - 1, clock.random()));
      return;
    }
    firsts.delete(session);
    if (applied === 'conflict') {
      log.error(
        { session, outboxSequence, identity, streamSequence },
        'two deliveries have one number: this one was not applied and is kept in inbox_dead, for a person to look at',
      );
    } else if (applied !== 'duplicate') {
      failures.delete(session);
      stuck.delete(session);
    }
    received.acknowledge();
  }

  /** With several processes, the one before it is often in another's hands, and done in a moment. */
  async function applyInOrder(used: Pool, { delivery }: Received): Promise<Applied> {
    for (let waits = 0; ; waits += 1) {
      const applied = await inTurn(() =>
        used.run('applying a delivery', (sql) => applyOnce(sql, delivery, rulesFor(delivery))),
      );
      if (applied !== 'hole' || stuck.has(delivery.session)) return applied;
      if (waits === deliveryLimits.holeWaits) {
        stuck.add(delivery.session);
        return applied;
      }
      await sleep(deliveryLimits.holeWaitMs * 2 ** waits, stopping.signal);
    }
  }

  async function handle(received: Received): Promise<void> {
    if (pool === undefined || stopping.signal.aborted) return received.later(deliveryLimits.consumerPauseMs);
    const used = pool;
    metrics?.lag.set({ consumer: name }, received.pending);
    try {
      settle(received, await applyInOrder(used, received));
    } catch (thrown) {
      metrics?.received.inc({ consumer: name, outcome: 'failed' });
      try {
        const consequence = await afterFailure(used, received, thrown);
        if (typeof consequence === 'number') received.later(consequence);
        else settle(received, consequence === 'applied' ? 'dead' : consequence);
      } catch (again) {
        log.warn({ err: toError(again) }, 'a dead delivery could not be passed; it will be tried again');
        received.later(backoffMs(pause, received.timesDelivered, clock.random()));
      }
    }
  }

  async function stop(): Promise<void> {
    stopping.abort();
    await consuming;
    if (isOwnChannel) await channel.stop();
    await pool?.close(limits.connectDeadlineMs);
  }

  let stopped: Promise<void> | undefined;
  return {
    name: 'consumer',
    async start() {
      pool = open();
      try {
        await requireInbox(pool);
        if (isOwnChannel) await channel.start();
      } catch (thrown) {
        await stop();
        throw thrown;
      }
      consuming = channel.consume(name, handle, stopping.signal);
      detach(consuming, log, 'the consumer ended unexpectedly');
      keepInbox({ pool, consumer: name, clock, log, signal: stopping.signal });
      log.info({ topics: options.topics }, 'consuming');
    },
    stop: () => (stopped ??= stop()),
  };
}

async function requireInbox(pool: Pool): Promise<void> {
  try {
    await pool.run('looking for the inbox', (sql) => sql`select from ledgerline.inbox_mark limit 1`);
  } catch (thrown) {
    // no such schema, no such table
    if (!['3F000', '42P01'].includes(sqlState(thrown) ?? '')) throw thrown;
    throw new LedgerlineError(
      'configuration',
      'the consumer’s database has no inbox: run `ledgerline migrate` with its DATABASE_URL',
      {},
      thrown,
    );
  }
}
