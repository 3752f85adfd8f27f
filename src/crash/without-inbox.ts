/** The example's consumer without an inbox: it posts whatever comes, as often as it comes. */
import { toError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { detach } from '../base/service.ts';
import type { Service } from '../base/service.ts';
import type { Pool } from '../db/pool.ts';
import { transaction } from '../db/postgres.ts';
import { postEntry } from '../example/entries.ts';
import type { DeliveryChannel, Received } from '../outbox/delivery.ts';

export interface WithoutInboxOptions {
  readonly pool: Pool;
  readonly channel: DeliveryChannel;
  readonly log: Log;
}

const AGAIN_MS = 200;

/** The same channel, the same effect, and an acknowledgement behind its commit; but nothing remembers that it happened. */
export function entriesWithoutInbox({ pool, channel, log }: WithoutInboxOptions): Service {
  const stopping = new AbortController();
  let consuming: Promise<void> = Promise.resolve();

  async function handle(received: Received): Promise<void> {
    const { payload } = received.delivery;
    try {
      if (payload !== undefined) {
        await pool.run('posting an entry', (sql) => transaction(sql, (tx) => postEntry(tx, { payload })));
      }
      received.acknowledge();
    } catch (thrown) {
      log.warn({ err: toError(thrown) }, 'an entry could not be posted; it will be tried again');
      received.later(AGAIN_MS);
    }
  }

  return {
    name: 'consumer without an inbox',
    start() {
      consuming = channel.consume('entries', handle, stopping.signal);
      detach(consuming, log, 'the consumer ended unexpectedly');
      return Promise.resolve();
    },
    async stop() {
      stopping.abort();
      await consuming;
    },
  };
}
