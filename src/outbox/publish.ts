/** Publishes what a session has before it, one after another, and stops where the order would break. */
import { backoffMs } from '../base/backoff.ts';
import { deliveryLimits } from '../base/delivery-limits.ts';
import type { DeliveryChannel } from './delivery.ts';
import type { Fate, OutboxRow } from './outbox-row.ts';

const pause = { firstMs: deliveryLimits.deliveryPauseMs, capMs: deliveryLimits.deliveryPauseCapMs } as const;

export interface PublishOptions {
  readonly channel: Pick<DeliveryChannel, 'publish'>;
  /** The shard is still ours, by our own clock. */
  readonly isOurs: () => boolean;
  readonly random: () => number;
}

export interface Published {
  readonly fates: readonly Fate[];
  /** The broker did not say that it stored one: nobody's fault, so it burns no attempt. */
  readonly awayBecause: string | undefined;
}

/**
 * `rows` in order. Whatever is missing an acknowledgement ends it, since what comes behind must not pass [I15]. Never rejects for the
 * broker's sake, so that what was acknowledged before is marked.
 */
export async function publishInOrder(rows: readonly OutboxRow[], options: PublishOptions): Promise<Published> {
  const { channel, isOurs, random } = options;
  const fates: Fate[] = [];
  for (const { delivery, attempts, isDue, isAgain } of rows) {
    if (!isDue || !isOurs()) break;
    const { session, outboxSequence } = delivery;
    // Its number is used up, so that what comes behind has the one before it.
    const isDead = attempts >= deliveryLimits.deliveryAttempts;
    const outcome = await channel.publish(isDead ? { ...delivery, payload: undefined } : delivery, isAgain);
    if (outcome.kind === 'stored') {
      const { streamSequence } = outcome;
      fates.push({ kind: isDead ? 'dead' : 'published', session, outboxSequence, streamSequence });
      continue;
    }
    const { reason } = outcome;
    // A stream that refuses even a tombstone takes nothing: that is no fault of this delivery.
    if (outcome.kind === 'away' || isDead) return { fates, awayBecause: reason };
    const isLast = attempts + 1 >= deliveryLimits.deliveryAttempts;
    fates.push({
      kind: 'refused',
      session,
      outboxSequence,
      reason,
      pauseMs: isLast ? 0 : backoffMs(pause, attempts, random()),
    });
    break;
  }
  return { fates, awayBecause: undefined };
}
