/** What appending says of itself: a batch as JSON, or lines for as long as a producer lives. */
import { z } from 'zod';
import { appendShape } from '../event/append-body.ts';
import { producerIdShape } from '../event/producer.ts';
import { JSON_TYPE } from './openapi/operation.ts';
import type { Operation } from './openapi/operation.ts';
import { sequenceShape, traceHeaders } from './openapi/shapes.ts';

const appendedShape = z
  .object({ first: sequenceShape, last: sequenceShape })
  .meta({ id: 'Appended', description: 'The sequences given, contiguous.', examples: [{ first: 40, last: 40 }] });

const LINES = 'application/x-ndjson';

const linesShape = z.string().meta({
  id: 'EventLines',
  description: 'One event a line, `{"type","data"}`. Blank lines are signs of life.',
  examples: ['{"type":"text.delta","data":{"text":"Hel"}}\n{"type":"text.delta","data":{"text":"lo"}}\n'],
});

const acknowledgedShape = z.string().meta({
  id: 'Acknowledgements',
  description: 'One line a stored batch, and a last one that says why the stream ended: `end`, or a problem.',
  examples: ['\n{"first":42,"last":43,"counter":2}\n{"end":"complete"}\n'],
});

export const appendOperation = {
  id: 'appendEvents',
  group: 'Events',
  summary: 'Append events',
  description:
    'All or nothing: one bad event refuses the append. As lines it is one request for as long as a producer lives, answered while it comes; `producer` and `sequence` are required then, and not taken otherwise.',
  scope: 'write',
  headers: traceHeaders,
  query: z.object({
    producer: producerIdShape.optional().describe('Of lines: who appends.'),
    sequence: sequenceShape.optional().describe('Of lines: the producer’s counter of the first one.'),
  }),
  body: { contents: { [JSON_TYPE]: appendShape, [LINES]: linesShape } },
  answers: {
    201: { description: 'The batch is stored.', contents: { [JSON_TYPE]: appendedShape } },
    200: { description: 'Of lines: what is stored, as it is stored.', contents: { [LINES]: acknowledgedShape } },
  },
  refusals: [
    'session_closed',
    'session_deleted',
    'session_busy',
    'wrong_head',
    'fenced',
    'duplicate_append',
    'producer_conflict',
    'producer_overlap',
    'rate_limited',
    'append_unknown',
    'draining',
  ],
} as const satisfies Operation;
