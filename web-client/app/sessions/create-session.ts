/** Makes a session, with an id of the server's choice or one of one's own. */
import { request } from '../base/request.ts';

/** The session's id. Rejects with a `FollowError`. */
export async function createSession(session?: string): Promise<string> {
  const made = await request<{ readonly session: string }>('POST', '/sessions', {
    body: session === undefined ? {} : { session },
  });
  return made.session;
}
