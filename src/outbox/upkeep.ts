/** What a relay does now and then: forgets what was published long ago, and looks whether the broker lost anything. */
import type { Clock, Timer } from '../base/clock.ts';
import { toError } from '../base/errors.ts';
import { deliveryLimits } from '../base/delivery-limits.ts';
import type { Log } from '../base/log.ts';
import { detach } from '../base/service.ts';
import type { Pool } from '../db/pool.ts';
import type { DeliveryChannel } from './delivery.ts';
import { forgetPublished } from './outbox-row.ts';
import { noteReconciled, reconcile, shardsToReconcile } from './reconcile.ts';

export interface UpkeepOptions {
  readonly pool: Pool;
  readonly channel: Pick<DeliveryChannel, 'isLasting' | 'stored'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly owned: () => readonly number[];
}

export interface Upkeep {
  start(): void;
  stop(): Promise<void>;
}

export function createUpkeep({ pool, channel, clock, log, owned }: UpkeepOptions): Upkeep {
  const stopping = new AbortController();
  const timers = new Set<Timer>();
  const running = new Set<Promise<void>>();

  async function forget(): Promise<void> {
    let gone: number;
    do gone = await pool.run('forgetting deliveries', (sql) => forgetPublished(sql));
    while (gone === deliveryLimits.forgetRows && !stopping.signal.aborted);
  }

  async function compare(): Promise<void> {
    const shards = await pool.run('looking when the broker was compared', (sql) => shardsToReconcile(sql, owned()));
    if (shards.length === 0) return;
    const { compared, lost } = await reconcile({ pool, channel, shards, signal: stopping.signal });
    if (lost > 0)
      log.error({ compared, lost }, 'the broker lost deliveries that it had acknowledged; they are published again');
    if (!stopping.signal.aborted) await pool.run('noting a reconcile', (sql) => noteReconciled(sql, shards));
  }

  /** Jittered, so that many processes do not look at the same time. */
  function every(ms: number, what: string, work: () => Promise<void>): void {
    const timer = clock.after(ms * (0.5 + clock.random()), () => {
      timers.delete(timer);
      const run = work()
        .catch((thrown: unknown) => log.warn({ err: toError(thrown) }, `${what} failed; it will be tried again`))
        .finally(() => {
          running.delete(run);
          if (!stopping.signal.aborted) every(ms, what, work);
        });
      running.add(run);
      detach(run, log, `${what} ended unexpectedly`);
    });
    timers.add(timer);
  }

  return {
    start() {
      every(deliveryLimits.forgetMs, 'forgetting deliveries', forget);
      // One that ends with its process has lost what it held at the next start, and not before.
      if (channel.isLasting) every(deliveryLimits.reconcileLookMs, 'the reconcile', compare);
    },
    async stop() {
      stopping.abort();
      for (const timer of timers) timer.cancel();
      await Promise.all(running);
    },
  };
}
