/** What a delivery is on its way: written with its effect, published on an acknowledgement, applied once. */

/** A delivery as a consumer gets it. */
export interface Delivery {
  readonly session: string;
  /** Contiguous in its session, from 1, tombstones included. */
  readonly outboxSequence: number;
  /** `turn:step:topic`: the same however often it comes. */
  readonly identity: string;
  readonly topic: string;
  /** JSON text; undefined in a tombstone: it could not be published, and only its number counts. */
  readonly payload: string | undefined;
}

/** What names a delivery, apart from its number. */
export const identityOf = (turn: string, step: number, topic: string): string => `${turn}:${step}:${topic}`;

/** What the broker said. A timeout means unknown, and unknown means not published. */
export type PublishOutcome =
  | { readonly kind: 'stored'; readonly streamSequence: number }
  /** This message can never be stored: too large, or not what the stream takes. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** The broker is away, full, or did not answer in time: burns no attempt of the delivery. */
  | { readonly kind: 'away'; readonly reason: string };

/** A delivery where it lies in the stream. */
export interface Stored {
  readonly delivery: Delivery;
  readonly streamSequence: number;
}

/** A message as a consumer was given it, to be answered once. */
export interface Received extends Stored {
  /** From 1. */
  readonly timesDelivered: number;
  /** How many the consumer has before it behind this one. */
  readonly pending: number;
  /** Applied, or known to be a duplicate. */
  acknowledge(): void;
  /** Comes again after so long. */
  later(delayMs: number): void;
}

/**
 * Carries deliveries with acknowledgements: JetStream, or within one process for development, by the same contract. Messages of one session arrive in
 * the order in which they were stored; every message at least once until it is acknowledged, so one that comes again may come behind later ones.
 */
export interface DeliveryChannel {
  /** What it has stored outlives this process. */
  readonly isLasting: boolean;
  /** Sets up what it needs (a stream); idempotent. A broker that is away does not fail it: what follows looks again. */
  start(): Promise<void>;
  /** `isAgain`: it was stored before and was lost, so it is stored whatever the broker still remembers of it. */
  publish(delivery: Delivery, isAgain?: boolean): Promise<PublishOutcome>;
  /**
   * A durable consumer, by name: its position outlives it. It gets the deliveries of every topic, because their numbers are contiguous over all of them. One
   * handler runs at a time for each session. Resolves when `signal` aborts and the handlers that run have ended.
   */
  consume(consumer: string, handle: (received: Received) => Promise<void>, signal: AbortSignal): Promise<void>;
  /** The first of a session that the stream holds behind a place, whoever was given it. Rejects with `unavailable`. */
  next(session: string, streamSequence: number): Promise<Stored | undefined>;
  /** Of a session, what the stream holds now: outbox sequences above `after`. For the reconcile. Rejects with `unavailable`. */
  stored(session: string, after: number): Promise<ReadonlySet<number>>;
  stop(): Promise<void>;
}
