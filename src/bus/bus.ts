/** The lossy broadcast: tells every process that a session moved. Whatever it loses, the ledger still has. */
import type { Service } from '../base/service.ts';
import type { Sequence } from '../event/sequence.ts';

/** What one commit says. `frames` are the encoded event frames of first…last, when they fit a message; without them a room reads the ledger. */
export type Broadcast =
  | { readonly kind: 'events'; readonly first: Sequence; readonly last: Sequence; readonly frames?: Buffer }
  /** The head's state changed (closed, deleted): read it. */
  | { readonly kind: 'head' };

export type Listener = (broadcast: Broadcast) => void;

export interface Subscription {
  /** Idempotent; no broadcast is delivered after it. */
  unsubscribe(): void;
}

/** A hint to workers and relays, of any session. One that is lost costs the next look, and nothing else. */
export type Wake =
  /** There will be something to claim in so many milliseconds. */
  | { readonly kind: 'ready'; readonly inMs: number }
  /** A running turn was asked to stop. */
  | { readonly kind: 'stop'; readonly session: string; readonly turn: string }
  /** There is something to deliver. */
  | { readonly kind: 'delivery' };

/** Why broadcasts may have been lost: every open room compares its watermark with the ledger at once. */
export type SuspectReason = 'reconnected' | 'dropped' | 'away';

export interface Bus extends Service {
  /** Fire and forget: never throws, never waits, and a loss is nobody's error. */
  publish(session: string, broadcast: Broadcast): void;
  /** Resolves when the server has the subscription; while the bus is away, when it is back. Listeners may run before it resolves. */
  subscribe(session: string, listener: Listener): Pending;
  /** Fire and forget, as `publish`. */
  wake(wake: Wake): void;
  onWake(listener: (wake: Wake) => void): Subscription;
  /** Called at once on every event that may have lost broadcasts. */
  onSuspect(listener: (reason: SuspectReason) => void): Subscription;
  /** While true, rooms poll the ledger more often. */
  readonly isAway: boolean;
}

/** A subscription that may not have reached the server yet; it can be given up at any time. */
export interface Pending extends Subscription {
  readonly ready: Promise<void>;
}
