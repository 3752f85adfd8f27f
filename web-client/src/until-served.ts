/** Asks a server again for as long as it cannot be reached. */
import { backoffMs } from './backoff.ts';
import type { Clock } from './clock.ts';
import { FollowError } from './follow-error.ts';
import { pause } from './pause.ts';

/** Asks until there is an answer: what may pass is waited out. */
export async function untilServed<T>(ask: () => Promise<T>, clock: Clock, signal: AbortSignal): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await ask();
    } catch (error) {
      if (signal.aborted || !(error instanceof FollowError)) throw error;
      if (error.code !== 'unavailable' && error.code !== 'token') throw error;
      await pause(clock, Math.max(error.retryAfterMs ?? 0, backoffMs(attempt, clock.random())), signal);
    }
  }
}
