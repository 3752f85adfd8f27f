/** The consumer library: every delivery applied once, in the order of its session, in a transaction of the consumer's own database. */
import { systemClock } from '../base/clock.ts';
import type { Clock } from '../base/clock.ts';
import type { InboxMetrics } from '../base/delivery-metrics.ts';
import { LedgerlineError } from '../base/errors.ts';
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
import type { AppliedDelivery } from './apply.ts';
import type { DeliveryChannel, Received } from './delivery.ts';
import { createHandler } from './inbox-handler.ts';
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
  const stopping = new AbortController();
  const { connections, deadlineMs } = { ...defaults, ...options.bounds };
  /** They wait for one another here: a pool whose query is late is replaced, and with it whoever is at work in it. */
  const inTurn = createGate(connections);
  let pool: Pool | undefined;
  let consuming: Promise<void> | undefined;

  function open(): Pool {
    return createPool({ url: databaseUrl, connections, name: `ledgerline ${name}`, log, deadlineMs });
  }

  function handlerOn(opened: Pool): (received: Received) => Promise<void> {
    return createHandler({
      consumer: name,
      apply: (delivery, isFirst) =>
        inTurn(() =>
          opened.run('applying a delivery', (sql) => applyOnce(sql, delivery, { ...rules, startsAnywhere: isFirst })),
        ),
      bury: (delivery, isFirst, message) =>
        inTurn(() =>
          opened.run('passing a dead delivery', (sql) =>
            passDead(sql, delivery, { ...rules, startsAnywhere: isFirst }, message),
          ),
        ),
      next: (session, streamSequence) => channel.next(session, streamSequence),
      maxFailures,
      startsAnywhere,
      signal: stopping.signal,
      clock,
      log,
      metrics,
    });
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
      consuming = channel.consume(name, handlerOn(pool), stopping.signal);
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
