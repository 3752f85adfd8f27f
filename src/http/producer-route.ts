/** GET /internal/sessions/:session/producers/:producer: where a producer goes on that does not know what became of its last append. */
import { z } from 'zod';
import { LedgerlineError } from '../base/errors.ts';
import { producerIdShape } from '../event/producer.ts';
import type { Sessions } from '../session/sessions.ts';
import { sessionDeleted, sessionUnknown } from './door.ts';
import type { SessionHandler } from './door.ts';
import { json } from './openapi/operation.ts';
import type { Operation } from './openapi/operation.ts';
import { sequenceShape } from './openapi/shapes.ts';

const progressShape = z
  .object({
    counter: z.int().min(0).describe('Of its last stored event; 0 if it has none.'),
    first: sequenceShape.nullable(),
    last: sequenceShape.nullable(),
  })
  .meta({ id: 'ProducerProgress', examples: [{ counter: 43, first: 2, last: 44 }] });

export const producerOperation = {
  id: 'readProducer',
  group: 'Events',
  summary: 'Ask how far a producer has come',
  description: 'Where it goes on when it does not know what became of its last append.',
  scope: 'read',
  answers: { 200: { description: 'Its counter and its sequences.', contents: json(progressShape) } },
  refusals: ['session_deleted'],
} as const satisfies Operation;

export function producerRoute(sessions: Pick<Sessions, 'producer'>): SessionHandler {
  return async (c, { session }) => {
    const producer = toProducerId(c.req.param('producer') ?? '');
    const row = await sessions.producer(session, producer);
    if (row === undefined) throw sessionUnknown();
    if (row.state === 'deleted') throw sessionDeleted();
    const { counter, first = null, last = null } = row;
    return c.json({ counter, first, last } satisfies z.infer<typeof progressShape>);
  };
}

export function toProducerId(text: string): string {
  const result = producerIdShape.safeParse(text);
  if (result.success) return result.data;
  throw new LedgerlineError('malformed', result.error.issues[0]?.message ?? 'not a producer id', { where: 'producer' });
}
