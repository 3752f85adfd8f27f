/** Follows a session from a browser: `followSession` and what it takes and gives. */
import type { FollowError } from './follow-error.ts';
import { createFollower } from './follower.ts';
import type { Callbacks, Follower, FollowerStatus } from './follower.ts';
import { canShare, createSharedReader, shareName } from './read-shared.ts';
import { createStreamReader } from './read-stream.ts';
import type { End, Fault, Read, Reset, WaitCause } from './recipient.ts';
import type { SessionEvent } from './session-event.ts';
import { createSessionServer } from './session-server.ts';
import type { HistoryPage, HistoryRange, SessionServerOptions } from './session-server.ts';
import { createSurroundings } from './surroundings.ts';
import type { Surroundings, Wake } from './surroundings.ts';
import type { Token } from './token.ts';

export type {
  End,
  Fault,
  FollowError,
  Follower,
  FollowerStatus,
  HistoryPage,
  HistoryRange,
  Reset,
  SessionEvent,
  Token,
  WaitCause,
};

export interface FollowOptions extends Omit<SessionServerOptions, 'clock'>, Callbacks {
  /** Go on after this sequence; 0, the default, is the start, and `head` from now on. */
  readonly after?: number | 'head' | undefined;
  readonly signal?: AbortSignal | undefined;
  /**
   * One connection for all tabs and followers of this origin. The default in a browser that has Web Locks and
   * BroadcastChannel. A string, such as a user's id, keeps the users of one browser apart; false is a connection of
   * its own.
   */
  readonly share?: boolean | string | undefined;
}

/** Starts at once. The callbacks come later than this returns. */
export function followSession(options: FollowOptions, world: Surroundings = createSurroundings()): Follower {
  const { after = 0, share = true, signal } = options;
  const listeners = new Set<(wake: Wake) => void>();
  const surroundings: Surroundings = {
    clock: world.clock,
    onWake(listener) {
      const stopListening = world.onWake(listener);
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
        stopListening();
      };
    },
  };
  const server = createSessionServer({ ...options, clock: world.clock });
  let isLeading = false;
  const readStream = createStreamReader(server, surroundings);
  const lead: Read = async (recipient, stop) => {
    isLeading = true;
    const end = await readStream(recipient, stop);
    isLeading = false;
    return end;
  };
  const wake = (how: Wake): void => [...listeners].forEach((listener) => listener(how));
  const isShared = share !== false && canShare();
  const name = isShared ? shareName(options.url, options.session, share === true ? '' : share) : '';
  return createFollower({
    read: isShared ? createSharedReader({ server, surroundings, wake, name, lead }) : lead,
    after,
    signal,
    clock: world.clock,
    callbacks: options,
    isLeading: () => isLeading,
    history: (range) => server.history(range),
    reconnect: () => wake('asked'),
  });
}
