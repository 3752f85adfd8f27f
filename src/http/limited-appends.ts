/** Appends within the rates of their session, on whichever route they come. */
import type { Limiter } from '../access/limiter.ts';
import type { Clock } from '../base/clock.ts';
import { toError } from '../base/errors.ts';
import { lineLimits } from '../base/line-limits.ts';
import { bytesOf } from '../session/append.ts';
import type { Sessions } from '../session/sessions.ts';

/** The same sessions; an append of one that has had too much is `rate_limited`, and nothing of it is stored. */
export function limitedAppends(sessions: Sessions, limiter: Pick<Limiter, 'append'>): Sessions {
  return {
    ...sessions,
    append(request) {
      try {
        limiter.append(request.session, request.events.length, bytesOf(request.events));
      } catch (thrown) {
        return Promise.reject(toError(thrown));
      }
      return sessions.append(request);
    },
  };
}

/**
 * The same, for a stream, of which no more is read meanwhile than may wait (`lineLimits.waitingLinesBytes`): its producer
 * feels a rate as backpressure, and is refused only where it would have to wait for longer than it takes for an answer that
 * does not come.
 */
export function pacedAppends(
  sessions: Sessions,
  limiter: Pick<Limiter, 'append' | 'appendWaitMs'>,
  clock: Clock,
): Sessions {
  const limited = limitedAppends(sessions, limiter);
  return {
    ...limited,
    async append(request) {
      const untilMs = clock.now() + lineLimits.rateWaitMs;
      for (;;) {
        const waitMs = limiter.appendWaitMs(request.session);
        // Of several that waited one comes first; the others wait again.
        if (waitMs === 0 || clock.now() + waitMs > untilMs) return limited.append(request);
        await new Promise<void>((resolve) => void clock.after(waitMs, resolve));
      }
    },
  };
}
