/** Deliveries over JetStream: stored when the broker says so, and not before. */
import { AckPolicy, DeliverPolicy, ErrorCode, NatsError, headers, nanos } from 'nats';
import type { JetStreamManager } from 'nats';
import { systemClock } from '../base/clock.ts';
import type { Clock } from '../base/clock.ts';
import { LedgerlineError, toError } from '../base/errors.ts';
import { deliveryLimits } from '../base/delivery-limits.ts';
import type { Log } from '../base/log.ts';
import { parseServers } from '../base/nats-server.ts';
import type { Delivery, DeliveryChannel, PublishOutcome } from './delivery.ts';
import { apiErrorCode, createConnection } from './jetstream-connection.ts';
import { consumeStream } from './jetstream-consume.ts';
import { deliverySubjectOf, headersOf, messageIdOf, numberOf, readDelivery, streamOf } from './wire.ts';

export interface JetStreamChannelOptions {
  /** One server, or several of a cluster separated by commas. */
  readonly url: string;
  readonly subjectRoot: string;
  readonly log: Log;
  readonly clock?: Clock;
  /** Copies of a stream that is made anew. 1 if left out. */
  readonly replicas?: number;
  /** In the place of the limits, for a test. */
  readonly duplicateWindowMs?: number;
  readonly publishDeadlineMs?: number;
}

export function jetStreamChannel(options: JetStreamChannelOptions): DeliveryChannel {
  const { url, subjectRoot, log, clock = systemClock, publishDeadlineMs = deliveryLimits.publishDeadlineMs } = options;
  const { replicas = 1, duplicateWindowMs = deliveryLimits.duplicateWindowMs } = options;
  const servers = parseServers(url);
  const streamName = streamOf(subjectRoot);
  const connection = createConnection({
    servers,
    subjectRoot,
    replicas,
    duplicateWindowMs,
    publishDeadlineMs,
    clock,
    log,
  });

  async function send(delivery: Delivery, isAgain: boolean): Promise<PublishOutcome> {
    const { publish } = await connection.link();
    const all = headers();
    for (const [name, value] of headersOf(delivery)) all.set(name, value);
    all.set('Nats-Expected-Stream', streamName);
    if (!isAgain) all.set('Nats-Msg-Id', messageIdOf(delivery));
    const subject = deliverySubjectOf(subjectRoot, delivery.session);
    return { kind: 'stored', streamSequence: await publish(subject, Buffer.from(delivery.payload ?? ''), all) };
  }

  return {
    isLasting: true,
    async start() {
      try {
        await connection.link();
      } catch (thrown) {
        if (thrown instanceof LedgerlineError && thrown.code === 'configuration') throw thrown;
        log.warn({ err: toError(thrown) }, 'JetStream is away; deliveries wait until it is there');
      }
    },
    async publish(delivery, isAgain = false) {
      try {
        return await send(delivery, isAgain);
      } catch (thrown) {
        return outcomeOf(thrown);
      }
    },
    consume: (consumer, handle, signal) =>
      consumeStream({ consumer, streamName, link: () => connection.link(), handle, signal, clock, log }),
    async next(session, streamSequence) {
      try {
        const { manager } = await connection.link();
        const next_by_subj = deliverySubjectOf(subjectRoot, session);
        for (let seq = streamSequence + 1; ;) {
          const query = { seq, next_by_subj };
          const message = await manager.streams.getMessage(streamName, query);
          const delivery = readDelivery(
            message.subject,
            (name) => message.header.get(name),
            () => Buffer.from(message.data).toString('utf8'),
          );
          if (delivery !== undefined) return { delivery, streamSequence: message.seq };
          seq = message.seq + 1;
        }
      } catch (thrown) {
        if (apiErrorCode(thrown) === NO_MESSAGE_FOUND) return undefined;
        throw new LedgerlineError('unavailable', 'the stream could not be read', {}, thrown);
      }
    },
    async stored(session, after) {
      try {
        const { manager, stream } = await connection.link();
        const name = await ephemeralConsumer(manager, streamName, deliverySubjectOf(subjectRoot, session));
        const source = await stream.consumers.get(streamName, name);
        const numbers = new Set<number>();
        let { num_pending: left } = await source.info(true);
        while (left > 0) {
          const batch = await source.fetch({ max_messages: Math.min(left, FETCHED), expires: publishDeadlineMs });
          const before = left;
          for await (const message of batch) {
            left -= 1;
            const number = numberOf((header) => message.headers?.get(header));
            if (number !== undefined && number > after) numbers.add(number);
          }
          if (left === before) throw new Error('the stream does not give out what it holds');
        }
        await manager.consumers.delete(streamName, name);
        return numbers;
      } catch (thrown) {
        throw new LedgerlineError('unavailable', 'the stream could not be read', {}, thrown);
      }
    },
    stop: () => connection.close(),
  };
}

const FETCHED = 1_000;

/** Sees the headers of one session's messages, and is forgotten by the server when nobody asks any more. */
async function ephemeralConsumer(manager: JetStreamManager, streamName: string, subject: string): Promise<string> {
  const { name } = await manager.consumers.add(streamName, {
    filter_subject: subject,
    headers_only: true,
    ack_policy: AckPolicy.None,
    deliver_policy: DeliverPolicy.All,
    inactive_threshold: nanos(deliveryLimits.acknowledgeMs),
    mem_storage: true,
    num_replicas: 1,
  });
  return name;
}

const NO_MESSAGE_FOUND = 10_037;
const MESSAGE_TOO_LARGE = 10_054;
/** The client's own word for it. */
const MAX_PAYLOAD: string = ErrorCode.MaxPayloadExceeded;

/** Only what is wrong with the message itself is a refusal. All else is the broker's: full, away, late, or set up for something else. */
function outcomeOf(thrown: unknown): PublishOutcome {
  const reason = toError(thrown).message;
  const isTooLarge =
    apiErrorCode(thrown) === MESSAGE_TOO_LARGE || (thrown instanceof NatsError && thrown.code === MAX_PAYLOAD);
  return isTooLarge ? { kind: 'refused', reason } : { kind: 'away', reason };
}
