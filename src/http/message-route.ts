/** POST /sessions/:session/messages: what a person says, stored together with its wish for an answer. */
import { z } from 'zod';
import { limits } from '../base/limits.ts';
import { requestKeyShape } from '../event/turn-id.ts';
import { onBusyModes } from '../turn/turns.ts';
import type { Message, Turns } from '../turn/turns.ts';
import { requireSize, shapedBody } from './body.ts';
import type { ReadJsonBody } from './body.ts';
import type { SessionHandler } from './door.ts';
import { json } from './openapi/operation.ts';
import type { Operation } from './openapi/operation.ts';
import { sequenceShape, traceHeaders, turnStateShape } from './openapi/shapes.ts';

const contentShape = z
  .custom<Message['content']>(
    isContent,
    'a content is a text that says something, or a list of parts: objects with a type',
  )
  .meta({
    description: `A text that is not blank, or a list of parts; at most ${limits.contentBytes / 1_024} KiB of JSON.`,
    anyOf: [
      { type: 'string', pattern: '\\S' },
      {
        type: 'array',
        minItems: 1,
        items: {
          type: 'object',
          properties: { type: { type: 'string' } },
          required: ['type'],
          additionalProperties: true,
        },
      },
    ],
  });

const messageShape = z
  .strictObject({
    key: requestKeyShape.describe('Made by the sender before the first try, and repeated with every further one.'),
    content: contentShape,
    onBusy: z.enum(onBusyModes).default('enqueue').describe('What becomes of it while a turn is under way.'),
  })
  .meta({
    id: 'Message',
    examples: [{ key: 'a-key-of-the-sender', content: 'Where is order 7731?', onBusy: 'enqueue' }],
  });

const acceptedShape = z
  .object({ sequence: sequenceShape, state: turnStateShape })
  .meta({ id: 'AcceptedMessage', examples: [{ sequence: 40, state: 'ready' }] });

export const messageOperation = {
  id: 'sendMessage',
  group: 'Turns',
  summary: 'Send a message',
  description: 'Stored together with the request for its answer. The same key again is the same message.',
  scope: 'send',
  headers: traceHeaders,
  body: { contents: json(messageShape) },
  answers: {
    201: { description: 'It is stored.', contents: json(acceptedShape) },
    200: { description: 'It is there already, by this key.', contents: json(acceptedShape) },
  },
  refusals: ['session_closed', 'session_deleted', 'session_busy', 'request_conflict', 'turn_busy'],
} as const satisfies Operation;

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
    const traceparent = c.get('notes').traceparent;
    const sent = await turns.request({ session, ...message, by: credential.subject, traceparent });
    const { sequence, state, isRepeat } = sent;
    c.get('notes').facts = { sequence };
    return c.json({ sequence, state } satisfies z.infer<typeof acceptedShape>, isRepeat ? 200 : 201);
  };
}
