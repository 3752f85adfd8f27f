/** POST /sessions/:session/decisions: a person's answer to what a turn asked; the first one counts. */
import { z } from 'zod';
import { approvalIdShape } from '../event/turn-id.ts';
import type { Turns } from '../turn/turns.ts';
import { requireSize, shapedBody } from './body.ts';
import type { ReadJsonBody } from './body.ts';
import type { SessionHandler } from './door.ts';

const decisionShape = z.strictObject({
  approval: approvalIdShape,
  decision: z.enum(['approved', 'denied']),
  comment: z.string().optional(),
});

export function decisionRoute(turns: Pick<Turns, 'decide'>, readJsonBody: ReadJsonBody): SessionHandler {
  return async (c, { session, credential }) => {
    const { approval, decision, comment } = shapedBody(decisionShape, await readJsonBody(c, 'bodyBytes'));
    if (comment !== undefined) requireSize('commentBytes', comment);
    const decided = await turns.decide(session, { approval, decision, comment, by: credential.subject });
    return c.json({ sequence: decided.sequence, state: decided.state }, decided.isRepeat ? 200 : 201);
  };
}
