/** A durable pull consumer: gives out what the stream holds, and goes on after whatever becomes of the connection. */
import { AckPolicy, DeliverPolicy, nanos } from 'nats';
import type { ConsumerMessages, JsMsg } from 'nats';
import { backoffMs } from '../base/backoff.ts';
import { sleep } from '../base/clock.ts';
import type { Clock, Timer } from '../base/clock.ts';
import { toError } from '../base/errors.ts';
import { deliveryLimits } from '../base/delivery-limits.ts';
import type { Log } from '../base/log.ts';
import { detach } from '../base/service.ts';
import type { Received } from './delivery.ts';
import type { Link } from './jetstream-connection.ts';
import { createLanes } from './lanes.ts';
import { readDelivery } from './wire.ts';

export interface ConsumeOptions {
  readonly consumer: string;
  readonly streamName: string;
  readonly link: () => Promise<Link>;
  readonly handle: (received: Received) => Promise<void>;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly log: Log;
}

const pause = { firstMs: 100, capMs: 5_000 } as const;

export async function consumeStream(options: ConsumeOptions): Promise<void> {
  const { consumer, signal, clock, log } = options;
  const lanes = createLanes({ atOnce: deliveryLimits.consumerSessions, queued: deliveryLimits.consumerQueued, log });
  const held = createHeld(clock);
  for (let failures = 0; !signal.aborted; failures += 1) {
    try {
      const messages = await openMessages(options);
      for await (const message of messages) {
        failures = 0;
        const received = read(message, log, () => held.release(message));
        if (received === undefined) continue;
        if (signal.aborted) {
          received.later(0); // for another process, which need not wait until we are given up
          continue;
        }
        held.keep(message);
        // Whoever fails to answer for it does not keep it from coming again.
        const handled = () => options.handle(received).finally(() => held.release(message));
        await lanes.add(received.delivery.session, handled);
      }
    } catch (thrown) {
      if (!signal.aborted)
        log.warn({ err: toError(thrown), consumer }, 'deliveries cannot be received; it will be tried again');
    }
    if (!signal.aborted) await sleep(backoffMs(pause, failures, clock.random()), signal);
  }
  await lanes.idle();
  held.stop();
}

/** Ends, without an error, with the signal and with the connection; with one, when the consumer or its stream is gone. */
async function openMessages({ consumer, streamName, link, signal, log }: ConsumeOptions): Promise<ConsumerMessages> {
  const { client, manager, stream } = await link();
  // No filter: every delivery of a session, or there are holes.
  await manager.consumers.add(streamName, {
    durable_name: consumer,
    ack_policy: AckPolicy.Explicit,
    deliver_policy: DeliverPolicy.All,
    ack_wait: nanos(deliveryLimits.acknowledgeMs),
    max_ack_pending: deliveryLimits.consumerUnacknowledged,
  });
  const source = await stream.consumers.get(streamName, consumer);
  const messages = await source.consume({
    max_messages: deliveryLimits.consumerQueued / 2,
    abort_on_missing_resource: true,
  });
  // Behind what was received already.
  const stop = (): void => messages.stop();
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  detach(
    Promise.race([client.closed(), messages.closed()]).then(() => {
      signal.removeEventListener('abort', stop);
      stop();
    }),
    log,
    'a consumer was not ended with its connection',
  );
  return messages;
}

function read(message: JsMsg, log: Log, release: () => void): Received | undefined {
  const { subject, seq, info } = message;
  const delivery = readDelivery(
    subject,
    (name) => message.headers?.get(name),
    () => Buffer.from(message.data).toString('utf8'),
  );
  if (delivery === undefined) {
    log.error({ subject, streamSequence: seq }, 'a message in the stream is not a delivery of ours; it is put aside');
    message.term();
    return undefined;
  }
  /** When the connection is gone, the answer is lost with it, and the message comes again: as after a crash. */
  const answer = (say: () => void): void => {
    release();
    try {
      say();
    } catch (thrown) {
      log.debug({ err: toError(thrown), streamSequence: seq }, 'an answer to the broker was lost');
    }
  };
  return {
    delivery,
    streamSequence: seq,
    timesDelivered: info.deliveryCount,
    pending: info.pending,
    acknowledge: () => answer(() => message.ack()),
    later: (delayMs) => answer(() => message.nak(Math.max(1, Math.round(delayMs)))),
  };
}

/** Says of what waits here that it is not lost, so that it is not given to another process meanwhile. */
function createHeld(clock: Clock) {
  const messages = new Set<JsMsg>();
  let timer: Timer | undefined;
  const tick = (): void => {
    for (const message of messages) {
      try {
        message.working();
      } catch {
        messages.delete(message); // its connection is gone: it comes again
      }
    }
    timer = messages.size === 0 ? undefined : clock.after(deliveryLimits.acknowledgeMs / 3, tick);
  };
  return {
    keep(message: JsMsg) {
      messages.add(message);
      timer ??= clock.after(deliveryLimits.acknowledgeMs / 3, tick);
    },
    release: (message: JsMsg) => void messages.delete(message),
    stop: () => timer?.cancel(),
  };
}
