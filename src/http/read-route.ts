/** POST /sessions/:session/read: how far a reader has read, which is what makes a session unread for the others alone. */
import { z } from 'zod';
import { toCursor } from '../event/sequence.ts';
import type { Sessions } from '../session/sessions.ts';
import { shapedBody } from './body.ts';
import type { ReadJsonBody } from './body.ts';
import { sessionDeleted, sessionUnknown } from './door.ts';
import type { SessionHandler } from './door.ts';

const readShape = z.strictObject({ sequence: z.int().min(0) });

export function readRoute(sessions: Pick<Sessions, 'markRead'>, readJsonBody: ReadJsonBody): SessionHandler {
  return async (c, { session, credential }) => {
    const { sequence } = shapedBody(readShape, await readJsonBody(c, 'bodyBytes'));
    const mark = await sessions.markRead(session, credential.subject, toCursor(sequence));
    if (mark === undefined) throw sessionUnknown();
    if (mark.state === 'deleted') throw sessionDeleted();
    return c.json({ read: mark.read });
  };
}
