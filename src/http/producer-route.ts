/** GET /internal/sessions/:session/producers/:producer: where a producer goes on that does not know what became of its last append. */
import { LedgerlineError } from '../base/errors.ts';
import { producerIdShape } from '../event/producer.ts';
import type { Sessions } from '../session/sessions.ts';
import { sessionDeleted, sessionUnknown } from './door.ts';
import type { SessionHandler } from './door.ts';

export function producerRoute(sessions: Pick<Sessions, 'producer'>): SessionHandler {
  return async (c, { session }) => {
    const producer = toProducerId(c.req.param('producer') ?? '');
    const row = await sessions.producer(session, producer);
    if (row === undefined) throw sessionUnknown();
    if (row.state === 'deleted') throw sessionDeleted();
    return c.json({ counter: row.counter, first: row.first ?? null, last: row.last ?? null });
  };
}

export function toProducerId(text: string): string {
  const result = producerIdShape.safeParse(text);
  if (result.success) return result.data;
  throw new LedgerlineError('malformed', result.error.issues[0]?.message ?? 'not a producer id', { where: 'producer' });
}
