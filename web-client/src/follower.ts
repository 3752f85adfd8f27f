/** Follows a session: takes what a reader brings, keeps the cursor and the state, and hands the events on. */
import type { Clock } from './clock.ts';
import { FollowError } from './follow-error.ts';
import { transitions } from './follower-state.ts';
import type { Input } from './follower-state.ts';
import { createHandover } from './handover.ts';
import type { End, Fault, Read, Recipient, Reset, WaitCause } from './recipient.ts';
import type { SessionEvent } from './session-event.ts';
import type { HistoryPage, HistoryRange } from './session-server.ts';

export type FollowerStatus =
  | { readonly state: 'connecting' }
  | { readonly state: 'replaying' }
  | { readonly state: 'live' }
  /** `until` is the wall clock's, in milliseconds since 1970. `attempt` counts the tries in vain. */
  | { readonly state: 'waiting'; readonly cause: WaitCause; readonly until: number; readonly attempt: number }
  | { readonly state: 'stopped'; readonly end: End };

export interface Callbacks {
  /** In order, contiguous. Nothing more is read before it resolves. */
  onEvents?(events: readonly SessionEvent[]): void | Promise<void>;
  onReset?(reset: Reset): void;
  onStatus?(status: FollowerStatus): void;
  onFault?(fault: Fault): void;
}

/**
 * A session that is being followed. Loop over it to take its events one by one, or give `onEvents`; without either the
 * events wait. The loop ends when the session does, or by `stop()`; it throws a `FollowError` when the server refuses;
 * to leave it stops the follower. What a callback throws ends the follower with a `FollowError` of code `failed`, whose
 * `cause` it is, and whose events were not taken.
 */
export interface Follower extends AsyncIterable<SessionEvent> {
  readonly status: FollowerStatus;
  /** The last event that was taken. */
  readonly cursor: number | 'head';
  /** The session's last event, as far as the server said. */
  readonly head: number | undefined;
  /** This follower holds the connection itself. */
  readonly isLeading: boolean;
  /** Never rejects. */
  readonly done: Promise<End>;
  history(range: HistoryRange): Promise<HistoryPage>;
  /** Severs the connection (the leader's, if another tab leads) and comes back from the cursor. */
  reconnect(): void;
  stop(): void;
}

export interface FollowerParts {
  readonly read: Read;
  readonly after: number | 'head';
  readonly clock: Clock;
  readonly callbacks: Callbacks;
  readonly signal: AbortSignal | undefined;
  isLeading(): boolean;
  history(range: HistoryRange): Promise<HistoryPage>;
  reconnect(): void;
}

export function createFollower({ callbacks, clock, signal, ...parts }: FollowerParts): Follower {
  const controller = new AbortController();
  const handover = createHandover(callbacks.onEvents === undefined);
  let status: FollowerStatus = { state: 'connecting' };
  let cursor = parts.after;
  let head: number | undefined;

  const recipient: Recipient = {
    get cursor() {
      return cursor;
    },
    connecting: () => move('due', { state: 'connecting' }),
    hello(after, newHead) {
      cursor = after;
      head = newHead;
      move('hello', { state: 'replaying' });
    },
    async events(events) {
      if (status.state === 'stopped') return;
      const last = events.at(-1);
      try {
        await callbacks.onEvents?.(events);
        // A loop may leave in the middle, so it moves the cursor itself.
        if (!(await handover.give(events, reach)) && last !== undefined) reach(last);
      } catch (cause) {
        fail(cause);
      }
    },
    reset(reset) {
      cursor = reset.cursor;
      head = reset.head;
      tell(() => callbacks.onReset?.(reset));
    },
    connected(newHead) {
      raise(newHead);
      move('connected', { state: 'live' });
    },
    head: raise,
    waiting: (cause, inMs, attempt) => move('lost', { state: 'waiting', cause, until: clock.wall() + inMs, attempt }),
    fault: (fault) => tell(() => callbacks.onFault?.(fault)),
  };

  function reach({ sequence }: SessionEvent): void {
    cursor = sequence;
    raise(sequence);
  }

  function raise(newHead: number): void {
    head = Math.max(head ?? 0, newHead);
  }

  function move(input: Input, next: FollowerStatus): void {
    const { state } = status;
    if (transitions[state][input] !== next.state || (state === next.state && state !== 'waiting')) return;
    status = next;
    tell(() => callbacks.onStatus?.(next));
  }

  function finish(end: End): void {
    if (status.state === 'stopped') return;
    move('stop', { state: 'stopped', end });
    signal?.removeEventListener('abort', stop);
    controller.abort();
    handover.end();
  }

  const stop = () => finish({ kind: 'aborted' });

  /** A callback may be an async function, whose rejection is as much of a throw. */
  function tell(call: () => unknown): void {
    void (async () => {
      try {
        await call();
      } catch (cause) {
        fail(cause);
      }
    })();
  }

  function fail(cause: unknown): void {
    const end: End = { kind: 'refused', error: new FollowError('failed', 'a callback threw', { cause }) };
    // Thrown when it was told of the end: `done` is all that is left to say so.
    if (status.state === 'stopped') status = { state: 'stopped', end };
    else finish(end);
  }

  async function run(): Promise<End> {
    // Whoever asked has the follower in hand before the first callback.
    await Promise.resolve();
    if (signal?.aborted === true) stop();
    try {
      if (!controller.signal.aborted) finish(await parts.read(recipient, controller.signal));
    } catch (cause) {
      fail(cause);
    }
    return status.state === 'stopped' ? status.end : { kind: 'aborted' };
  }

  signal?.addEventListener('abort', stop);
  const done = run();

  return {
    get status() {
      return status;
    },
    get cursor() {
      return cursor;
    },
    get head() {
      return head;
    },
    get isLeading() {
      return parts.isLeading();
    },
    done,
    history: (range) => parts.history(range),
    reconnect: () => parts.reconnect(),
    stop,
    async *[Symbol.asyncIterator]() {
      handover.open();
      try {
        for (let event = await handover.take(); event !== undefined; event = await handover.take()) yield event;
        const end = await done;
        if (end.kind === 'refused') throw end.error;
      } finally {
        stop();
      }
    },
  };
}
