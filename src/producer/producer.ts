/** The producer library: appends one session's events in order, each exactly once, over plain `fetch`. */
import { z } from 'zod';
import { randomId, sleep, systemClock } from '../base/clock.ts';
import { isDelta, sessionIdShape } from '../event/event.ts';
import { producerShape } from '../event/producer.ts';
import { createCarrier } from './carrier.ts';
import { deliver } from './delivery.ts';
import type { DeliveryOptions } from './delivery.ts';
import { eventText, payloadOf, payloadOfText } from './event-text.ts';
import { ProducerError, ownError } from './producer-error.ts';
import { createSender } from './sender.ts';
import { judgeCreate } from './verdict.ts';

export { ProducerError };

export interface ProducerOptions {
  /** The internal address of a gateway, such as `http://127.0.0.1:8081`. */
  readonly url: string;
  /** The internal key. */
  readonly key: string;
  readonly session: string;
  /** Create the session first, if it is not there. */
  readonly create?: boolean;
  /** Who appends; a fresh id if left out. Two live producers must never share one. */
  readonly producer?: string;
  /** The counter of the first event, to go on where an earlier life of this producer ended. 1 if left out. */
  readonly sequence?: number;
  /** One try of a request. 30 s if left out. */
  readonly timeoutMs?: number;
  /** All tries of a request, before the producer fails with `gave_up`. 5 minutes if left out. */
  readonly giveUpMs?: number;
  /** From so many unstored bytes on, `append` lets its caller wait. 16 MiB if left out. */
  readonly bufferBytes?: number;
  /** Ends the producer at once; what is not stored by then is rejected with `aborted`. */
  readonly signal?: AbortSignal;
  /** Called once, when the producer fails for good. */
  readonly onError?: (error: ProducerError) => void;
  readonly fetch?: typeof fetch;
}

/**
 * Appends to one session.
 *
 * ```ts
 * const producer = createProducer({ url, key, session: 'chat-7', create: true });
 * for await (const text of model) await producer.append('text.delta', { message: 'm1', text });
 * await producer.append('message.completed', { message: 'm1', role: 'assistant', content });
 * const { last } = await producer.close();
 * console.log(`stored up to ${last}`);
 * ```
 *
 * Deltas (`….delta`, `…-delta`) wait up to 33 ms for others, at most 50; every other type leaves at once and takes along
 * what waits. One batch is in flight at a time: over one long request while it gets through, else in requests of their
 * own. When its fate is unclear the server is asked what is stored, or gets the same batch again under the same counters,
 * so nothing is lost, doubled or moved, whatever the network does.
 *
 * A refusal ends the producer: everything that waits is rejected with a {@link ProducerError}, and so is every later call.
 */
export interface Producer {
  readonly id: string;
  /** The counter of the first event that is not yet known to be stored. */
  readonly sequence: number;
  /**
   * Takes an event; its place in the order is fixed by this call. The promise is about room, not about storage: it
   * resolves at once while the buffer has room, else when it has again. Throws, and takes nothing, if the event is not
   * acceptable or the producer has ended. Whoever never awaits meets `buffer_full` at four times the buffer.
   */
  append(type: string, data: unknown, options?: AppendOptions): Promise<void>;
  /** The same with the payload's JSON text, which is stored as it is: numbers beyond 2^53, the order of keys. */
  appendRaw(type: string, json: string, options?: AppendOptions): Promise<void>;
  /** Sends what waits, and resolves when all that was appended so far is stored; `last` is 0 when nothing ever was. */
  flush(): Promise<{ last: number }>;
  /** Takes no more, and flushes. */
  close(): Promise<{ last: number }>;
}

export interface AppendOptions {
  /** Whether it may wait for others of its kind; by its type if left out. */
  readonly isDelta?: boolean;
}

/** For tests, which keep their own time. */
export type Seams = Pick<DeliveryOptions, 'clock' | 'sleep'>;

export function createProducer(options: ProducerOptions, seams: Seams = { clock: systemClock, sleep }): Producer {
  const { id, sequence, session } = checked(options);
  const ending = new AbortController();
  const abort = () => ending.abort(options.signal?.reason);
  // A signal that outlives many producers would keep them all.
  const leaveSignal = () => options.signal?.removeEventListener('abort', abort);
  const delivery: DeliveryOptions = {
    fetch: options.fetch ?? fetch,
    key: options.key,
    timeoutMs: options.timeoutMs ?? 30_000,
    giveUpMs: options.giveUpMs ?? 300_000,
    signal: ending.signal,
    ...seams,
  };
  const carrier = createCarrier({
    producer: id,
    eventsUrl: endpoint(options.url, `internal/sessions/${session}/events`),
    counterUrl: endpoint(options.url, `internal/sessions/${session}/producers/${id}`),
    delivery,
  });
  const sender = createSender({
    ...seams,
    signal: ending.signal,
    bufferBytes: options.bufferBytes ?? 16 * 1024 * 1024,
    async prepare() {
      if (options.create !== true) return;
      await deliver(endpoint(options.url, 'sessions'), JSON.stringify({ session }), judgeCreate, delivery);
    },
    send: (events, offset) => carrier.send(events, sequence + offset),
    onFailure(error) {
      leaveSignal();
      carrier.close();
      options.onError?.(error);
    },
  });

  if (options.signal?.aborted === true) abort();
  options.signal?.addEventListener('abort', abort, { once: true });

  let hasClosed = false;
  function take(type: string, payload: string, appendOptions: AppendOptions = {}): Promise<void> {
    if (hasClosed) throw ownError('ended', 'the producer is closed');
    return sender.take(eventText(type, payload), appendOptions.isDelta ?? isDelta(type));
  }

  return {
    id,
    get sequence() {
      return sequence + sender.storedCount;
    },
    append: (type, data, appendOptions) => take(type, payloadOf(data), appendOptions),
    appendRaw: (type, json, appendOptions) => take(type, payloadOfText(json), appendOptions),
    flush: () => sender.flush(),
    async close() {
      hasClosed = true;
      try {
        return await sender.flush();
      } finally {
        leaveSignal();
        carrier.close();
      }
    },
  };
}

/** What no request could carry would look like a server that never answers. */
const reachShape = z.object({
  url: z.url({ protocol: /^https?$/, error: 'the url is an address such as http://127.0.0.1:8081' }),
  key: z.string().regex(/^[\x21-\x7e]+$/, 'the key is one word of visible ASCII, as a header carries it'),
});

function checked(options: ProducerOptions): { id: string; sequence: number; session: string } {
  const producer = producerShape.safeParse({ id: options.producer ?? randomId(), sequence: options.sequence ?? 1 });
  const session = sessionIdShape.safeParse(options.session);
  const reach = reachShape.safeParse(options);
  if (!producer.success || !session.success || !reach.success) {
    const issue = [producer, session, reach].flatMap(({ error }) => error?.issues ?? [])[0];
    throw ownError('malformed', issue?.message ?? 'an option is wrong');
  }
  return { ...producer.data, session: session.data };
}

/** Below the path of the given address, which may have one. */
const endpoint = (url: string, path: string): URL => new URL(path, url.endsWith('/') ? url : `${url}/`);
