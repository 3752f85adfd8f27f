/** Publishes the outbox: in order within each session, on acknowledgements alone, beside as many other relays as one likes. */
import { backoffMs } from '../base/backoff.ts';
import { randomId, sleep } from '../base/clock.ts';
import type { Clock } from '../base/clock.ts';
import type { RelayMetrics } from '../base/delivery-metrics.ts';
import { toError } from '../base/errors.ts';
import { deliveryLimits } from '../base/delivery-limits.ts';
import type { Log } from '../base/log.ts';
import { detach } from '../base/service.ts';
import type { Service } from '../base/service.ts';
import type { Pool } from '../db/pool.ts';
import type { DeliveryChannel } from './delivery.ts';
import { createLeases } from './leases.ts';
import { busyShards, markFates, readOutboxFigures, readSessions, roundTrip } from './outbox-row.ts';
import { publishInOrder } from './publish.ts';
import { createRefill } from './refill.ts';
import { createUpkeep } from './upkeep.ts';

export interface RelayOptions {
  readonly pool: Pool;
  /** Started and stopped by whoever made it. */
  readonly channel: DeliveryChannel;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: RelayMetrics;
  /** Calls the listener when there is something to deliver. Hints may be lost: the poll finds it all the same. */
  readonly onHint?: (listener: () => void) => { unsubscribe(): void };
  readonly bounds?: Partial<RelayBounds>;
}

export interface Relay extends Service {
  /** A round trip to the outbox; rejects when there is none. */
  ready(): Promise<void>;
}

/** In the place of the limits, for a test. */
export interface RelayBounds {
  readonly leaseMs: number;
  readonly renewMs: number;
  readonly pollMs: number;
}

const defaults: RelayBounds = {
  leaseMs: deliveryLimits.relayLeaseMs,
  renewMs: deliveryLimits.relayRenewMs,
  pollMs: deliveryLimits.relayPollMs,
};

const pause = { firstMs: 200, capMs: 5_000 } as const;

export function createRelay({ pool, channel, clock, log, metrics, onHint, bounds }: RelayOptions): Relay {
  const { leaseMs, renewMs, pollMs } = { ...defaults, ...bounds };
  const stopping = new AbortController();
  let isHinted = false;
  let napping: AbortController | undefined;
  let isAway = false;
  let living: Promise<void> | undefined;
  let hints: { unsubscribe(): void } | undefined;

  function wake(): void {
    isHinted = true;
    napping?.abort();
  }

  /** Behind which session the next pass over a shard begins: those that the broker does not take starve nobody behind them. */
  const goesOn = new Map<number, string>();
  const relay = randomId();
  const leases = createLeases({ pool, relay, clock, log, leaseMs, renewMs, onTaken: wake, onRenewed: showFigures });
  const upkeep = createUpkeep({ pool, channel, clock, log, owned: () => leases.owned() });
  const refill = createRefill({ pool, channel, log, signal: stopping.signal });

  async function showFigures(): Promise<void> {
    const figures = await pool.run('counting deliveries', (sql) => readOutboxFigures(sql));
    metrics.unpublished.set(figures.unpublished);
    metrics.oldestSeconds.set(figures.oldestSeconds);
    metrics.dead.set(figures.dead);
    metrics.shards.set(leases.owned().length);
  }

  /** The broker's state is told when it changes, not at each try. */
  function tellAway(awayBecause: string | undefined): void {
    if (isAway === (awayBecause !== undefined)) return;
    isAway = awayBecause !== undefined;
    if (isAway) log.warn({ reason: awayBecause }, 'the broker takes no deliveries; they wait');
    else log.info('the broker takes deliveries again');
  }

  /** One look at every session of the shard; true when anything moved. Sessions do not wait for one another's order, so one that is blocked starves nobody. */
  async function passOver(shard: number): Promise<boolean> {
    const isOurs = (): boolean => !stopping.signal.aborted && leases.isOurs(shard);
    let hasMoved = false;
    const from = goesOn.get(shard) ?? '';
    goesOn.delete(shard);
    for (let after = from; isOurs();) {
      const sessions = await pool.run('reading the outbox', (sql) => readSessions(sql, shard, after));
      const results = await Promise.all(
        [...sessions.values()].map((rows) => publishInOrder(rows, { channel, isOurs, random: () => clock.random() })),
      );
      const fates = results.flatMap((result) => result.fates);
      for (const { kind } of fates) metrics.publishes.inc({ outcome: kind });
      if (fates.length > 0) await pool.run('marking deliveries', (sql) => markFates(sql, fates));
      hasMoved ||= fates.length > 0;
      const awayBecause = results.find((result) => result.awayBecause !== undefined)?.awayBecause;
      if (results.length > 0) tellAway(awayBecause);
      after = [...sessions.keys()].at(-1) ?? '';
      if (awayBecause !== undefined) {
        metrics.publishes.inc({ outcome: 'away' });
        goesOn.set(shard, after);
        return false;
      }
      if (sessions.size < deliveryLimits.relaySessions) break;
    }
    return hasMoved;
  }

  async function passOverAll(): Promise<boolean> {
    const owned = leases.owned();
    if (owned.length === 0) return false;
    await refill(owned);
    const busy = await pool.run('looking for deliveries', (sql) => busyShards(sql, owned));
    // What one shard has published is marked before another's failure is told.
    const passes = await Promise.allSettled(busy.map(passOver));
    const failed = passes.find((pass) => pass.status === 'rejected');
    if (failed !== undefined) throw toError(failed.reason);
    return passes.some((pass) => pass.status === 'fulfilled' && pass.value);
  }

  async function nap(ms: number): Promise<void> {
    if (isHinted || stopping.signal.aborted) return;
    napping = new AbortController();
    await sleep(ms, napping.signal);
    napping = undefined;
  }

  async function live(): Promise<void> {
    let failures = 0;
    while (!stopping.signal.aborted) {
      isHinted = false;
      try {
        const hasMoved = await passOverAll();
        failures = 0;
        if (!hasMoved) await nap(pollMs);
      } catch (thrown) {
        log.warn({ err: toError(thrown) }, 'deliveries could not be published; it will be tried again');
        await sleep(backoffMs(pause, failures, clock.random()), stopping.signal);
        failures += 1;
      }
    }
  }

  async function stop(): Promise<void> {
    stopping.abort();
    napping?.abort();
    hints?.unsubscribe();
    await upkeep.stop();
    await living; // what is on its way is marked
    await leases.stop();
  }

  let stopped: Promise<void> | undefined;
  return {
    name: 'relay',
    async start() {
      hints = onHint?.(wake);
      await leases.start();
      upkeep.start();
      living = live();
      detach(living, log, 'the relay ended unexpectedly');
      log.info({ relay, shards: leases.owned() }, 'relaying');
    },
    stop: () => (stopped ??= stop()),
    ready: () => pool.run('a round trip', roundTrip),
  };
}
