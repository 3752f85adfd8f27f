/** Reads the newest page of a session, however long the server takes to answer. */
import { backoffMs } from './backoff.ts';
import type { FollowError } from './follow-error.ts';
import type { FollowerStatus } from './follow-session.ts';
import { pause } from './pause.ts';
import type { HistoryPage, SessionServer } from './session-server.ts';
import type { Surroundings } from './surroundings.ts';
import { whenAborted } from './when-aborted.ts';

export interface FirstPage {
  readonly server: SessionServer;
  readonly limit: number;
  readonly world: Surroundings;
  readonly signal: AbortSignal;
  readonly show: (status: FollowerStatus) => void;
  /** Told how to try again at once, while there is a wait. */
  readonly onWait: (cut: () => void) => void;
}

/** Rejects with a `FollowError`, when it is refused or aborted. */
export async function readFirstPage({ server, limit, world, signal, show, onWait }: FirstPage): Promise<HistoryPage> {
  const { clock } = world;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await server.history({ before: Number.MAX_SAFE_INTEGER, limit }, signal);
    } catch (cause) {
      const { code, retryAfterMs = 0 } = cause as FollowError;
      if (code !== 'unavailable' && code !== 'token') throw cause;
      const waitMs = Math.max(retryAfterMs, backoffMs(attempt, clock.random()));
      const until = clock.wall() + waitMs;
      show({ state: 'waiting', cause: code === 'token' ? 'token' : 'unreachable', until, attempt });
      const waiting = new AbortController();
      const cut = () => waiting.abort();
      const stops = [whenAborted(signal, cut), world.onWake(cut)];
      onWait(cut);
      await pause(clock, waitMs, waiting.signal);
      stops.forEach((stop) => stop());
      if (!signal.aborted) show({ state: 'connecting' });
    }
  }
}
