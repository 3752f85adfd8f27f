/** What following a session says of itself. */
import { z } from 'zod';
import { envelope } from '../event/event.ts';
import { START, after, before, toSequence } from '../event/sequence.ts';
import { connectedFrame, eventFrame, helloFrame, retryFrame } from '../sse/frame.ts';
import type { Operation } from './openapi/operation.ts';
import { cursorShape } from './openapi/shapes.ts';

const place = z.union([cursorShape, z.literal('head')]).optional();

const seen = toSequence(42);
const AT = '2026-11-30T04:00:00.000Z';

const framesShape = z.string().meta({
  id: 'Frames',
  description:
    'Server-sent events without an end. An event of the session has no name, so that `onmessage` gets it; `hello`, `connected`, `sync`, `reset`, `goaway`, `end` and `denied` are about the stream. The id is always the cursor to resume with.',
  examples: [
    [
      retryFrame(1_000),
      helloFrame('run-42', before(seen), START, after(seen)),
      eventFrame(seen, envelope({ sequence: seen, type: 'text.delta', at: AT, data: '{"text":"Hel"}' })),
      connectedFrame(after(seen), after(seen)),
    ].join(''),
  ],
});

export const streamOperation = {
  id: 'followSession',
  group: 'Events',
  summary: 'Follow a session',
  description:
    'What comes after a cursor: first from the ledger, then live, in order and once each. A cursor that cannot be served is no error: the stream goes on from the floor and says why.\n\nA browser’s EventSource ends for ever on any status but 200, so what will pass is answered 200 with `retry` alone and an end, unless the request prefers to be told.',
  scope: 'read',
  takesTicket: true,
  query: z.object({
    after: place.describe(
      'The last sequence that the reader has; `head` means from now on. Also `lastEventId`, `last_event_id`.',
    ),
  }),
  headers: z.object({
    'Last-Event-ID': cursorShape
      .optional()
      .describe('The same, and it wins: a reconnect of a browser repeats its old address.'),
    Prefer: z.string().optional().describe('`handling=strict`: real status codes, for clients that read them.'),
  }),
  answers: {
    200: {
      description: 'The stream.',
      contents: { 'text/event-stream': framesShape },
      headers: z.object({ 'Preference-Applied': z.literal('handling=strict').optional() }),
    },
    204: { description: 'The session is over and a reconnect has all of it: this stops a browser.' },
  },
  refusals: ['session_deleted', 'rate_limited', 'draining'],
} as const satisfies Operation;
