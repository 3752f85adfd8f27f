/** What the middle of the page shows of a session (pure). */
import type { SessionSnapshot } from '../../src/session-view.ts';

export type Stage = 'loading' | 'empty' | 'refused' | 'shown';

export function toStage({ events, outgoing, status, error, cursor }: SessionSnapshot): Stage {
  // What was read stays readable, whatever happened afterwards.
  if (events.length > 0) return 'shown';
  if (error !== undefined) return 'refused';
  if (outgoing.length > 0) return 'shown';
  const isKnown = cursor !== 'head' && (status.state === 'live' || status.state === 'stopped');
  return isKnown ? 'empty' : 'loading';
}
