/** The channel of a process that dies on a delivery's way, and what it tells of each. */
import type { CrashPoint } from '../lab/crash-lab.ts';
import type { DeliveryChannel } from '../outbox/delivery.ts';
import type { Tell } from './fact.ts';
import type { Passing } from './points.ts';

export function channelWithFacts(channel: DeliveryChannel, tell: Tell): DeliveryChannel {
  return {
    ...channel,
    async publish(delivery, isAgain) {
      const outcome = await channel.publish(delivery, isAgain);
      if (outcome.kind === 'stored') tell({ fact: 'published', number: delivery.outboxSequence });
      return outcome;
    },
    consume: (consumer, handle, signal) =>
      channel.consume(
        consumer,
        (received) =>
          handle({
            ...received,
            acknowledge() {
              received.acknowledge();
              tell({ fact: 'acknowledged', number: received.delivery.outboxSequence });
            },
          }),
        signal,
      ),
  };
}

/** `finished`: see `turnsWithEnd`. */
export function channelWithPoints(
  channel: DeliveryChannel,
  planned: CrashPoint,
  passing: Passing,
  finished: Promise<void>,
): DeliveryChannel {
  if (planned === 'delivery_published') return dyingBeforeMark(channel, passing, finished);
  if (planned === 'entry_committed') return dyingBeforeAcknowledgement(channel, passing, finished);
  return channel;
}

/** The relay hears that it was published only when the consumer has it: so far ahead of its mark a delivery can be. */
function dyingBeforeMark(channel: DeliveryChannel, passing: Passing, finished: Promise<void>): DeliveryChannel {
  let handled: () => void;
  const isHandled = new Promise<void>((resolve) => (handled = resolve));
  return {
    ...channel,
    async publish(delivery, isAgain) {
      const outcome = await channel.publish(delivery, isAgain);
      if (outcome.kind !== 'stored') return outcome;
      await Promise.all([isHandled, finished]);
      passing('delivery_published');
      return outcome;
    },
    consume: (consumer, handle, signal) =>
      channel.consume(consumer, (received) => handle(received).then(() => handled()), signal),
  };
}

/** It acknowledges behind its commit; that is put off until there is nothing else that the process would have done. */
function dyingBeforeAcknowledgement(
  channel: DeliveryChannel,
  passing: Passing,
  finished: Promise<void>,
): DeliveryChannel {
  return {
    ...channel,
    consume: (consumer, handle, signal) =>
      channel.consume(
        consumer,
        async (received) => {
          let isAcknowledged = false;
          await handle({ ...received, acknowledge: () => void (isAcknowledged = true) });
          if (!isAcknowledged) return;
          await finished;
          passing('entry_committed');
          received.acknowledge();
        },
        signal,
      ),
  };
}
