/** What the leader's connection reads for: it tells every follower, in other tabs and in its own, and waits for its own only. */
import type { Clock } from './clock.ts';
import type { Recipient } from './recipient.ts';
import type { LeaderState, Statement } from './tab-channel.ts';
import type { TabCursor } from './tab-cursor.ts';

/** So long the connection may stand still for this tab's consumer while others wait. */
const PATIENCE_MS = 2_000;

export interface TabLeaderParts {
  /** The follower of this tab. */
  readonly own: Recipient;
  readonly clock: Clock;
  /** It leads until this aborts. */
  readonly signal: AbortSignal;
  /** To everybody, this tab's follower included. */
  readonly say: (statement: Statement) => void;
  readonly cursor: TabCursor;
  /** There are other followers. */
  readonly hasCompany: () => boolean;
  /** Others may have a token where this tab gets none. */
  readonly resign: () => void;
}

export interface TabLeader {
  readonly recipient: Recipient;
  /** Says where it is. */
  readonly tell: () => void;
}

export function createTabLeader({ own, clock, signal, say, hasCompany, resign, ...parts }: TabLeaderParts): TabLeader {
  let { cursor } = own;
  let head: number | undefined;
  let state: LeaderState = { kind: 'connecting' };
  let isOwnBehind = false;

  const tell = (): void => say({ kind: 'here', cursor: cursor === 'head' ? 0 : cursor, head, state });
  const move = (next: LeaderState): void => {
    state = next;
    tell();
  };
  const raise = (newHead: number): void => void (head = Math.max(head ?? 0, newHead));

  const recipient: Recipient = {
    get cursor() {
      return cursor;
    },
    connecting: () => move({ kind: 'connecting' }),
    hello(after, newHead) {
      cursor = after;
      head = newHead;
      move({ kind: 'replaying' });
    },
    events(events) {
      const last = events.at(-1);
      if (last === undefined) return undefined;
      cursor = last.sequence;
      raise(cursor);
      say({ kind: 'events', events });
      return ownTurn();
    },
    reset(reset) {
      ({ cursor, head } = reset);
      say({ kind: 'reset', reset });
    },
    connected(newHead) {
      raise(newHead);
      move({ kind: 'live' });
    },
    head(newHead) {
      raise(newHead);
      tell();
    },
    waiting(cause, inMs, attempt) {
      move({ kind: 'waiting', cause, until: clock.wall() + inMs, attempt });
      if (cause === 'token' && attempt > 1 && hasCompany()) resign();
    },
    fault: (fault) => own.fault(fault),
  };

  /**
   * Nothing more is read before this tab has taken it. A tab that takes too long does not hold up the others: it will
   * find in history what it could not take.
   */
  function ownTurn(): Promise<void> | undefined {
    const turn = parts.cursor.work;
    if (turn === undefined || (isOwnBehind && hasCompany())) return undefined;
    return new Promise((resolve) => {
      const watch = () =>
        clock.after(PATIENCE_MS, () => {
          isOwnBehind = hasCompany();
          if (isOwnBehind || signal.aborted) resolve();
          else timer = watch();
        });
      let timer = watch();
      void turn.then(() => {
        timer.cancel();
        isOwnBehind = false;
        resolve();
      });
    });
  }

  return { recipient, tell };
}
