/** POST /sessions/:session/messages: what a person says, stored together with its wish for an answer. */
import { z } from 'zod';
import { requestKeyShape } from '../event/turn-id.ts';
import { onBusyModes } from '../turn/turns.ts';
import type { Message, Turns } from '../turn/turns.ts';
import { requireSize, shapedBody } from './body.ts';
import type { ReadJsonBody } from './body.ts';
import type { SessionHandler } from './door.ts';

const messageShape = z.strictObject({
  key: requestKeyShape,
  content: z.custom<Message['content']>(
    isContent,
    'a content is a text that says something, or a list of parts: objects with a type',
  ),
  onBusy: z.enum(onBusyModes).default('enqueue'),
});

/** A part is whatever its sender and the agent agree on; it is kept as a value, so its numbers are doubles. */
function isContent(value: unknown): boolean {
  if (typeof value === 'string') return value.trim() !== '';
  return Array.isArray(value) && value.length > 0 && value.every(isPart);
}

const isPart = (part: unknown): boolean =>
  typeof part === 'object' && part !== null && 'type' in part && typeof part.type === 'string';

export function messageRoute(turns: Pick<Turns, 'request'>, readJsonBody: ReadJsonBody): SessionHandler {
  return async (c, { session, credential }) => {
    const message = shapedBody(messageShape, await readJsonBody(c, 'bodyBytes'));
    requireSize('contentBytes', JSON.stringify(message.content));
    const { sequence, state, isRepeat } = await turns.request({ session, ...message, by: credential.subject });
    return c.json({ sequence, state }, isRepeat ? 200 : 201);
  };
}
