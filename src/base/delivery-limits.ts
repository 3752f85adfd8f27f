/** Every bound of deliveries, unit in the name, with the relations between them asserted at load; the rest is in `limits`. */
import { assert } from './assert.ts';

const KiB = 1024;

export const deliveryLimits = {
  deliveryBytes: 256 * KiB,
  /** How long a relay owns its shards without a sign of life, and how often it gives one. */
  relayLeaseMs: 10_000,
  relayRenewMs: 3_000,
  /** How often a relay looks without being woken. */
  relayPollMs: 1_000,
  /** What a look at a shard brings: so many sessions, and of each so many deliveries, up to so many bytes. */
  relaySessions: 16,
  relayRows: 100,
  relayBytes: 512 * KiB,
  relayConnections: 4,
  /** One publish without an acknowledgement: its outcome is unknown, so it counts as not published. */
  publishDeadlineMs: 5_000,
  /** A delivery that the broker refuses is dead after so many tries; the pause between them doubles up to the cap. */
  deliveryAttempts: 10,
  deliveryPauseMs: 1_000,
  deliveryPauseCapMs: 60_000,
  /** How long what was published is kept, by the stream and in the tables. */
  deliveryDays: 7,
  /** Published so long ago, the stream may drop it by itself any day: the reconcile leaves it alone. */
  reconcileDays: 6,
  reconcileMs: 24 * 3_600_000,
  /** How often a relay looks whether that is over for any of its shards. */
  reconcileLookMs: 60_000,
  /** Rows forgotten in one transaction, and how often. */
  forgetRows: 1_000,
  forgetMs: 600_000,
  /** How long the stream knows a message by its id: a convenience, for the inbox is the truth. */
  duplicateWindowMs: 600_000,
  /** Sessions of which a consumer has a delivery in hand at the same time, and how many of them are in their transaction. */
  consumerSessions: 64,
  consumerConnections: 8,
  /** Received and waiting for their turn, in one process. */
  consumerQueued: 200,
  /** Given out and not yet acknowledged, of all processes of a consumer: those behind a hole wait among them. */
  consumerUnacknowledged: 20_000,
  /** A delivery that nobody speaks of for so long is given out again. */
  acknowledgeMs: 30_000,
  /** Behind a hole a delivery waits so long in hand, for another process may be at the one before it. */
  holeWaitMs: 10,
  holeWaits: 5,
  /** Then it is put off. The lowest number of a session looks so often whether another process has filled the hole. */
  holePauseCapMs: 5_000,
  /** That one is told of when it came so often: by its pauses, after about a minute. */
  holeTold: 20,
  consumerPauseMs: 200,
  consumerPauseCapMs: 30_000,
  /** One delivery's transaction. */
  applyDeadlineMs: 30_000,
  deliveriesPerList: 200,
  deliveriesPerListDefault: 50,
  /** Consumers that a list of a session's deliveries asks about. */
  consumersPerList: 100,
  /** What a channel within a process holds; behind it only what every consumer has acknowledged makes room. */
  localDeliveries: 10_000,
} as const;

assert(deliveryLimits.relayRenewMs * 2 < deliveryLimits.relayLeaseMs, 'a relay may miss a renewal or two');
assert(
  deliveryLimits.publishDeadlineMs < deliveryLimits.relayLeaseMs,
  'a publish is over before its shard is another relay’s',
);
assert(
  deliveryLimits.reconcileDays < deliveryLimits.deliveryDays,
  'what the stream drops by its age is not taken for lost',
);
