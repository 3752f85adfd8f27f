/** What a view of a session is made with, and what it offers. */
import type { FollowOptions } from './follow-session.ts';
import type { LoadBackOptions } from './read-back.ts';
import type { MessageStorage, Sender, Stopped } from './sender.ts';
import type { SessionSnapshot } from './session-snapshot.ts';

export interface SessionViewOptions extends FollowOptions {
  /** Events of the first screen: 1 to 1,000, 200 if absent. None are read if `after` says where to start. */
  readonly initial?: number | undefined;
  /** Events kept while the reader is at the end, 20,000 if absent. */
  readonly most?: number | undefined;
  /** Where messages are kept until the server has them; the browser's `localStorage` if absent, and if there is one. */
  readonly storage?: MessageStorage | undefined;
}

/** What is said, decided and stopped is as with a `Sender`; messages stay in `outgoing` until their events are here. */
export interface SessionView extends Pick<Sender, 'send' | 'retrySend' | 'discardSend' | 'decide'> {
  getSnapshot(): SessionSnapshot;
  /** Called at most once per animation frame, every 100 ms where there are none. Returns how to listen no more. */
  subscribe(listener: () => void): () => void;
  /**
   * The page before the first event: 1 to 1,000 events, 200 if `limit` is absent. Asked for again meanwhile, it is the
   * same page. Resolves when the snapshot has it. Rejects with a `FollowError`; `unavailable` and `token` may pass.
   */
  loadOlder(limit?: number): Promise<void>;
  /**
   * All pages back to the one that holds `sequence`; shown at once when they are there, or as many as have come when
   * `signal` aborts. The reader is not at the end any more, unless it came to nothing. Rejects as `loadOlder` does, and
   * shows what has come.
   */
  loadBackTo(sequence: number, options?: LoadBackOptions): Promise<void>;
  /** Whether the reader looks at the newest events, as at first. If not, nothing is taken from under the reader's eyes. */
  setAtEnd(isAtEnd: boolean): void;
  /** Nothing is taken away either until the function that it returns is called: for who reads back page by page. */
  keepAll(): () => void;
  /** Severs the connection and comes back from the cursor; cuts a wait short. */
  reconnect(): void;
  /** Ends the view. What is still unsent is kept, and goes out when the session is opened again. */
  stop(): void;
  /** Asks the agent to stop: this turn, or the one that is under way as far as it is known here. Rejects as `decide` does. */
  stopTurn(turn?: string): Promise<Stopped>;
}
