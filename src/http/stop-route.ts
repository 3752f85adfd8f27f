/** POST /sessions/:session/stop: ends what the agent does, whichever screen asks for it. */
import { z } from 'zod';
import { turnIdShape } from '../event/turn-id.ts';
import type { Turns } from '../turn/turns.ts';
import { shapedBody } from './body.ts';
import type { ReadJsonBody } from './body.ts';
import type { SessionHandler } from './door.ts';

const stopShape = z.strictObject({ turn: turnIdShape.optional() });

export function stopRoute(turns: Pick<Turns, 'stop'>, readJsonBody: ReadJsonBody): SessionHandler {
  return async (c, { session, credential }) => {
    const bytes = await readJsonBody(c, 'bodyBytes');
    const { turn } = bytes.length === 0 ? {} : shapedBody(stopShape, bytes);
    const { isStopping, isStopped, state } = await turns.stop(session, credential.subject, turn);
    // What a worker has yet to end is accepted, and not done.
    return c.json({ stopping: isStopping, stopped: isStopped, state }, isStopping ? 202 : 200);
  };
}
