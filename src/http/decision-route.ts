/** POST /sessions/:session/decisions: a person's answer to what a turn asked; the first one counts. */
import { z } from 'zod';
import { approvalIdShape } from '../event/turn-id.ts';
import type { Turns } from '../turn/turns.ts';
import { requireSize, shapedBody } from './body.ts';
import type { ReadJsonBody } from './body.ts';
import type { SessionHandler } from './door.ts';
import { json } from './openapi/operation.ts';
import type { Operation } from './openapi/operation.ts';
import { sequenceShape, turnStateShape } from './openapi/shapes.ts';

const decisionShape = z
  .strictObject({
    approval: approvalIdShape,
    decision: z.enum(['approved', 'denied']),
    comment: z.string().optional().describe('At most 4 KiB.'),
  })
  .meta({ id: 'Decision', examples: [{ approval: 'refund-7731', decision: 'approved', comment: 'fine' }] });

const decidedShape = z
  .object({ sequence: sequenceShape, state: turnStateShape })
  .meta({ id: 'AcceptedDecision', examples: [{ sequence: 44, state: 'ready' }] });

export const decisionOperation = {
  id: 'decide',
  group: 'Turns',
  summary: 'Decide what an agent asked',
  description: 'The first decision wins; the same one by the same person is a repeat.',
  scope: 'send',
  body: { contents: json(decisionShape) },
  answers: {
    201: { description: 'It is decided.', contents: json(decidedShape) },
    200: { description: 'The same person has decided so before.', contents: json(decidedShape) },
  },
  refusals: ['session_closed', 'session_deleted', 'session_busy', 'approval_unknown', 'approval_decided'],
} as const satisfies Operation;

export function decisionRoute(turns: Pick<Turns, 'decide'>, readJsonBody: ReadJsonBody): SessionHandler {
  return async (c, { session, credential }) => {
    const { approval, decision, comment } = shapedBody(decisionShape, await readJsonBody(c, 'bodyBytes'));
    if (comment !== undefined) requireSize('commentBytes', comment);
    const decided = await turns.decide(session, { approval, decision, comment, by: credential.subject });
    const { sequence, state, isRepeat } = decided;
    return c.json({ sequence, state } satisfies z.infer<typeof decidedShape>, isRepeat ? 200 : 201);
  };
}
