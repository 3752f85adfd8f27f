/** The seam between what reads a session (a stream of this tab's own, or the tab that leads) and the follower it reads for. */
import type { FollowError } from './follow-error.ts';
import type { SessionEvent } from './session-event.ts';

/** Why a follower waits before the next try. */
export type WaitCause =
  /** The network, the server or a proxy ended the connection. */
  | 'cut'
  /** No connection came about, or the server answered that it cannot serve now. */
  | 'unreachable'
  /** No byte for 2.5 sync intervals. */
  | 'silent'
  /** The server is going away; it gave this reader a slot to come back. */
  | 'draining'
  /** What came could not be right: see the fault that was reported. */
  | 'fault'
  /** The token ended, or the token function failed. */
  | 'token'
  /** `reconnect()` was called. */
  | 'asked';

/** Something that a correct server never sends. It is reported, and healed by reading again from the cursor. */
export interface Fault {
  readonly kind: 'gap' | 'repeat' | 'malformed';
  /** The sequence that had to come. */
  readonly expected: number;
  /** The one that came; undefined when what came was no event. */
  readonly got?: number;
}

/** The cursor could not be served, and the events go on behind `cursor`. What a screen holds beyond `head` never was. */
export interface Reset {
  readonly reason: 'expired' | 'ahead' | 'malformed' | 'restored';
  /** The events go on after this one: the floor. */
  readonly cursor: number;
  readonly head: number;
}

/** How reading came to its end for good. */
export type End =
  | { readonly kind: 'ended'; readonly reason: 'closed' | 'deleted' }
  | { readonly kind: 'refused'; readonly error: FollowError }
  | { readonly kind: 'aborted' };

/** What a reader tells, in order. The recipient keeps the cursor and the state; the reader asks it where to go on. */
export interface Recipient {
  /** `head`: from now on, until `hello` says where that is. */
  readonly cursor: number | 'head';
  connecting(): void;
  /** The stream goes on after `cursor`. */
  hello(cursor: number, head: number): void;
  /** Contiguous, and the first is the cursor's next. Nothing more is read before it resolves. */
  events(events: readonly SessionEvent[]): void | Promise<void>;
  reset(reset: Reset): void;
  /** Everything up to the head at joining has come. */
  connected(head: number): void;
  /** What the server last said the head is; never moves the cursor. */
  head(head: number): void;
  /** The next try is due `inMs` from now. `attempt` counts the tries in vain since the stream was last served. */
  waiting(cause: WaitCause, inMs: number, attempt: number): void;
  fault(fault: Fault): void;
}

/** Reads until there is nothing more to come, through every cut. Never rejects; resolves soon after `signal` aborts. */
export type Read = (recipient: Recipient, signal: AbortSignal) => Promise<End>;
