/** POST /sessions/:session/read: how far a reader has read, which is what makes a session unread for the others alone. */
import { z } from 'zod';
import { toCursor } from '../event/sequence.ts';
import type { Sessions } from '../session/sessions.ts';
import { shapedBody } from './body.ts';
import type { ReadJsonBody } from './body.ts';
import { sessionDeleted, sessionUnknown } from './door.ts';
import type { SessionHandler } from './door.ts';
import { json } from './openapi/operation.ts';
import type { Operation } from './openapi/operation.ts';
import { cursorShape } from './openapi/shapes.ts';

const readShape = z.strictObject({ sequence: cursorShape }).meta({ id: 'Read', examples: [{ sequence: 44 }] });

const markShape = z.object({ read: cursorShape }).meta({ id: 'ReadMark', examples: [{ read: 44 }] });

export const readOperation = {
  id: 'markRead',
  group: 'Sessions',
  summary: 'Say how far a reader has read',
  description: 'Of the subject of the token. It never goes back, and never passes the head.',
  scope: 'read',
  body: { contents: json(readShape) },
  answers: { 200: { description: 'How far it is now.', contents: json(markShape) } },
  refusals: ['session_deleted'],
} as const satisfies Operation;

export function readRoute(sessions: Pick<Sessions, 'markRead'>, readJsonBody: ReadJsonBody): SessionHandler {
  return async (c, { session, credential }) => {
    const { sequence } = shapedBody(readShape, await readJsonBody(c, 'bodyBytes'));
    const mark = await sessions.markRead(session, credential.subject, toCursor(sequence));
    if (mark === undefined) throw sessionUnknown();
    if (mark.state === 'deleted') throw sessionDeleted();
    return c.json({ read: mark.read } satisfies z.infer<typeof markShape>);
  };
}
