/** A channel that ends with its process has lost all that it held by the next start: that is published again, before anything else. */
import type { Log } from '../base/log.ts';
import type { Pool } from '../db/pool.ts';
import type { DeliveryChannel } from './delivery.ts';
import { reconcile } from './reconcile.ts';

export interface RefillOptions {
  readonly pool: Pool;
  readonly channel: Pick<DeliveryChannel, 'isLasting' | 'stored'>;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/**
 * Asked before each pass over the shards that are ours; does something for each shard once, as long as it stays ours. What was lost
 * among it was published and not applied: consumers know the rest again [I15].
 */
export function createRefill({
  pool,
  channel,
  log,
  signal,
}: RefillOptions): (owned: readonly number[]) => Promise<void> {
  let refilled: readonly number[] = [];
  return async (owned) => {
    if (channel.isLasting) return;
    refilled = refilled.filter((shard) => owned.includes(shard));
    const shards = owned.filter((shard) => !refilled.includes(shard));
    if (shards.length === 0) return;
    const { lost } = await reconcile({ pool, channel, shards, signal });
    if (signal.aborted) return;
    refilled = [...refilled, ...shards];
    if (lost > 0) log.info({ deliveries: lost }, 'what an earlier process published is published again');
  };
}
