/** What a session's view shows at one moment. */
import type { FollowError } from './follow-error.ts';
import type { FollowerStatus } from './follow-session.ts';
import type { Outgoing } from './outgoing.ts';
import type { Fault, Reset } from './recipient.ts';
import type { SessionWindow } from './session-window.ts';
import type { TurnNow } from './turn-now.ts';

/** Never changes; the next one is another object, and what did not change in it is the same. */
export interface SessionSnapshot extends SessionWindow {
  readonly status: FollowerStatus;
  /** The last event that is here. */
  readonly cursor: number | 'head';
  /** The session's last event, as far as the server said. */
  readonly head: number;
  /** The highest sequence that retention removed, as far as the server said. */
  readonly floor: number;
  /** There are events before the first of `events`. */
  readonly hasOlder: boolean;
  readonly isLoadingOlder: boolean;
  /** What the agent does. */
  readonly turn: TurnNow;
  /** What was said here, or in another tab, and is not among the events yet; in order. */
  readonly outgoing: readonly Outgoing[];
  /** This tab holds the connection itself. */
  readonly isLeading: boolean;
  /** The last of each, if there was one. */
  readonly fault?: Fault | undefined;
  readonly reset?: Reset | undefined;
  /** Why it stopped, if it was refused. */
  readonly error?: FollowError | undefined;
}
