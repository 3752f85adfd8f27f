/** The sessions that this browser knows: opened or created here, the newest first (pure). */
import { isSessionId } from '../base/address.ts';

const MOST_SESSIONS = 50;

/** Keeps its place in the list when it is there already: a list that reorders under the pointer cannot be clicked. */
export function addSession(sessions: readonly string[], session: string): readonly string[] {
  return sessions.includes(session) ? sessions : [session, ...sessions].slice(0, MOST_SESSIONS);
}

export function forgetSession(sessions: readonly string[], session: string): readonly string[] {
  return sessions.filter((other) => other !== session);
}

/** What storage holds may be anything. */
export function parseSessions(text: string | undefined): readonly string[] {
  let value: unknown;
  try {
    value = JSON.parse(text ?? '[]');
  } catch {
    return [];
  }
  if (!Array.isArray(value)) return [];
  const ids = value.filter((id): id is string => typeof id === 'string' && isSessionId(id));
  return [...new Set(ids)].slice(0, MOST_SESSIONS);
}
