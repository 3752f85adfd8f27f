/** GET /sessions/:session/events: pages of history in both directions, by the same integer. */
import { z } from 'zod';
import { LedgerlineError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { parseCursor } from '../event/cursor.ts';
import { START } from '../event/sequence.ts';
import type { Cursor } from '../event/sequence.ts';
import type { HistoryRange } from '../ledger/ledger.ts';
import type { Sessions } from '../session/sessions.ts';
import type { AppContext } from './context.ts';
import { sessionDeleted, sessionUnknown } from './door.ts';
import type { SessionHandler } from './door.ts';
import { json } from './openapi/operation.ts';
import type { Operation } from './openapi/operation.ts';
import { cursorShape, envelopeShape, sequenceShape } from './openapi/shapes.ts';
import { readLimit, single } from './query.ts';

const historyShape = z
  .object({
    events: z.array(envelopeShape).describe('In ascending order, in both directions.'),
    first: sequenceShape.nullable(),
    last: sequenceShape.nullable(),
    head: cursorShape,
    floor: cursorShape,
  })
  .meta({
    id: 'History',
    examples: [
      {
        events: [{ sequence: 42, type: 'text.delta', at: '2026-11-30T04:00:00.000Z', data: { text: 'Hel' } }],
        first: 42,
        last: 42,
        head: 42,
        floor: 0,
      },
    ],
  });

export const historyOperation = {
  id: 'readHistory',
  group: 'Events',
  summary: 'Read a page of history',
  description:
    'The lowest events after a place, or the highest before one; without either, the first ones. A page also ends at 4 MiB. Go on with `after=last` or `before=first`.',
  scope: 'read',
  query: z.object({
    after: cursorShape.optional().describe('Not together with `before`.'),
    before: cursorShape.optional(),
    limit: z.int().min(1).max(limits.historyRows).default(limits.historyRowsDefault),
  }),
  answers: { 200: { description: 'A page.', contents: json(historyShape) } },
  refusals: ['session_deleted'],
} as const satisfies Operation;

export function historyRoute(sessions: Pick<Sessions, 'history'>): SessionHandler {
  return async (c, { session }) => {
    const range = readRange(c);
    const { head, ...page } = await sessions.history(session, range);
    if (head === undefined) throw sessionUnknown();
    if (head.state === 'deleted') throw sessionDeleted();
    const facts: Omit<z.infer<typeof historyShape>, 'events'> = {
      first: page.first ?? null,
      last: page.last ?? null,
      head: head.head,
      floor: head.floor,
    };
    // The envelopes are texts and stay as they are [I2].
    const body = `{"events":[${page.events.join(',')}],${JSON.stringify(facts).slice(1)}`;
    return c.body(body, 200, { 'Content-Type': 'application/json' });
  };
}

function readRange(c: AppContext): HistoryRange {
  const after = cursorOf(c, 'after');
  const before = cursorOf(c, 'before');
  const limit = readLimit(c, limits.historyRowsDefault, limits.historyRows);
  if (after !== undefined && before !== undefined) {
    throw new LedgerlineError('malformed', 'a page goes on after one place or back before one, not both', {
      where: 'before',
    });
  }
  return before === undefined ? { after: after ?? START, limit } : { before, limit };
}

function cursorOf(c: AppContext, name: 'after' | 'before'): Cursor | undefined {
  const requested = parseCursor(single(c, name));
  if (requested.kind === 'after') return requested.cursor;
  if (requested.kind === 'start') return undefined;
  throw new LedgerlineError('malformed', `${name} is a decimal number of at most 2^53−1`, { where: name });
}
