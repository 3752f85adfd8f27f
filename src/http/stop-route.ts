/** POST /sessions/:session/stop: ends what the agent does, whichever screen asks for it. */
import { z } from 'zod';
import { turnIdShape } from '../event/turn-id.ts';
import type { Turns } from '../turn/turns.ts';
import { shapedBody } from './body.ts';
import type { ReadJsonBody } from './body.ts';
import type { SessionHandler } from './door.ts';
import { json } from './openapi/operation.ts';
import type { Operation } from './openapi/operation.ts';
import { turnStateShape } from './openapi/shapes.ts';

const stopShape = z
  .strictObject({ turn: turnIdShape.optional().describe('Only this one: a stop that comes late hits no newer turn.') })
  .meta({ id: 'Stop', examples: [{}] });

const stoppedShape = z
  .object({ stopping: z.boolean(), stopped: z.boolean(), state: turnStateShape })
  .meta({ id: 'Stopped', examples: [{ stopping: true, stopped: false, state: 'running' }] });

export const stopOperation = {
  id: 'stop',
  group: 'Turns',
  summary: 'Stop what the agent does',
  description: 'What it has written stays. After 30 s a turn is stopped without its worker.',
  scope: 'send',
  body: { isOptional: true, contents: json(stopShape) },
  answers: {
    202: { description: 'A worker has it to end.', contents: json(stoppedShape) },
    200: {
      description: 'It was only queued or waiting and is over, or there was nothing to stop.',
      contents: json(stoppedShape),
    },
  },
  refusals: ['session_closed', 'session_deleted', 'session_busy'],
} as const satisfies Operation;

export function stopRoute(turns: Pick<Turns, 'stop'>, readJsonBody: ReadJsonBody): SessionHandler {
  return async (c, { session, credential }) => {
    const bytes = await readJsonBody(c, 'bodyBytes');
    const { turn } = bytes.length === 0 ? {} : shapedBody(stopShape, bytes);
    const { isStopping, isStopped, state } = await turns.stop(session, credential.subject, turn);
    // What a worker has yet to end is accepted, and not done.
    const answer: z.infer<typeof stoppedShape> = { stopping: isStopping, stopped: isStopped, state };
    return c.json(answer, isStopping ? 202 : 200);
  };
}
