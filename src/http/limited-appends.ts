/** Appends within the rates of their session, on whichever route they come. */
import type { Limiter } from '../access/limiter.ts';
import type { Sessions } from '../session/sessions.ts';

/** The same sessions; an append of one that has had too much is `rate_limited`, and nothing of it is stored. */
export function limitedAppends(sessions: Sessions, limiter: Pick<Limiter, 'append'>): Sessions {
  return {
    ...sessions,
    async append(request) {
      const bytes = request.events.reduce((sum, event) => sum + event.bytes, 0);
      limiter.append(request.session, request.events.length, bytes);
      return sessions.append(request);
    },
  };
}
