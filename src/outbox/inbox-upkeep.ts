/** What a consumer does now and then: forgets what it applied so long ago that no stream brings it again. */
import type { Clock, Timer } from '../base/clock.ts';
import { deliveryLimits } from '../base/delivery-limits.ts';
import type { Log } from '../base/log.ts';
import { detach } from '../base/service.ts';
import type { Pool } from '../db/pool.ts';
import { forgetApplied } from './inbox-row.ts';

export interface InboxUpkeepOptions {
  readonly pool: Pool;
  readonly consumer: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Aborts when the consumer stops. */
  readonly signal: AbortSignal;
}

export function keepInbox({ pool, consumer, clock, log, signal }: InboxUpkeepOptions): void {
  let timer: Timer | undefined;

  /** All of it: a batch at a time would fall behind a busy consumer for ever [I6]. */
  async function forget(): Promise<void> {
    let gone: number;
    do gone = await pool.run('forgetting deliveries', (sql) => forgetApplied(sql, consumer));
    while (gone === deliveryLimits.forgetRows && !signal.aborted);
  }

  /** Jittered, so that many processes do not look at the same time. */
  function arm(): void {
    if (signal.aborted) return;
    timer = clock.after(deliveryLimits.forgetMs * (0.5 + clock.random()), () => {
      const forgotten = forget().finally(arm);
      detach(forgotten, log, 'deliveries that were applied long ago could not be forgotten; it will be tried again');
    });
  }

  signal.addEventListener('abort', () => timer?.cancel(), { once: true });
  arm();
}
