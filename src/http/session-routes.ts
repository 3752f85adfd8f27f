/** Creating, describing, closing and deleting sessions. */
import { z } from 'zod';
import { randomId } from '../base/clock.ts';
import { LedgerlineError } from '../base/errors.ts';
import { sessionIdShape } from '../event/event.ts';
import type { Head, SessionRow } from '../ledger/ledger.ts';
import type { Rooms } from '../room/rooms.ts';
import type { Sessions } from '../session/sessions.ts';
import { ownerShape, reaches } from './auth.ts';
import { tokenRevoked } from './authenticate.ts';
import { requireSize, shapedBody } from './body.ts';
import type { ReadJsonBody } from './body.ts';
import { sessionDeleted, sessionUnknown } from './door.ts';
import type { GateHandler, SessionHandler, StandsIn } from './door.ts';
import { json } from './openapi/operation.ts';
import type { Operation } from './openapi/operation.ts';
import { cursorShape, sessionStateShape, turnNowShape } from './openapi/shapes.ts';
import { turnNow } from './turn-json.ts';

const createShape = z
  .strictObject({
    session: sessionIdShape.optional().describe('Left out: the server makes one.'),
    metadata: z.record(z.string(), z.unknown()).optional().describe('At most 16 KiB of JSON; numbers are doubles.'),
    owner: ownerShape.optional().describe('For internal callers; the sessions of a token get the owner of the token.'),
  })
  .meta({ id: 'SessionCreation', examples: [{ session: 'run-42', metadata: { title: 'Order 7731' } }] });

const headShape = z
  .object({ session: sessionIdShape, head: cursorShape, floor: cursorShape, state: sessionStateShape })
  .meta({ id: 'SessionHead', examples: [{ session: 'run-42', head: 42, floor: 0, state: 'closed' }] });

const sessionShape = z
  .object({ ...headShape.shape, metadata: z.unknown().describe('An object, or null where none was given.') })
  .meta({
    id: 'Session',
    examples: [{ session: 'run-42', head: 0, floor: 0, state: 'open', metadata: { title: 'Order 7731' } }],
  });

const describedShape = z
  .object({
    ...sessionShape.shape,
    turn: turnNowShape,
    room: z
      .object({ watermark: cursorShape, subscribers: z.int().min(0) })
      .nullable()
      .describe('Of the process that answers; null when nobody follows the session there.'),
  })
  .meta({
    id: 'DescribedSession',
    examples: [
      {
        session: 'run-42',
        head: 42,
        floor: 0,
        state: 'open',
        metadata: null,
        turn: { state: 'idle', turn: null, attempt: null, stop: null },
        room: { watermark: 42, subscribers: 2 },
      },
    ],
  });

export const createOperation = {
  id: 'createSession',
  group: 'Sessions',
  summary: 'Create a session',
  description: 'What is there already stays as it is. The token must reach the session, or name an owner.',
  scope: 'create',
  body: { isOptional: true, contents: json(createShape) },
  answers: {
    201: { description: 'It was created.', contents: json(sessionShape) },
    200: { description: 'It is there already.', contents: json(sessionShape) },
  },
  refusals: ['session_deleted'],
} as const satisfies Operation;

export function createRoute(
  sessions: Pick<Sessions, 'create'>,
  readJsonBody: ReadJsonBody,
  standsIn: StandsIn,
): GateHandler {
  return async (c, credential) => {
    const { session = randomId(), metadata, owner } = toCreation(await readJsonBody(c, 'bodyBytes'));
    c.get('notes').session = session;
    if (owner !== undefined && !credential.isInternal) {
      throw new LedgerlineError('malformed', 'only an internal caller names the owner', { where: 'owner' });
    }
    if (!reaches(credential, session) && credential.owner === undefined) throw outOfReach();
    if (!standsIn(credential, session)) throw tokenRevoked();
    const givenOwner = owner ?? credential.owner;
    const { created, row } = await sessions.create(session, {
      ...(metadata === undefined ? {} : { metadata }),
      ...(givenOwner === undefined ? {} : { owner: givenOwner }),
    });
    if (!created && !reaches(credential, session) && row.owner !== credential.owner) throw outOfReach();
    if (row.state === 'deleted') throw sessionDeleted();
    return c.json(description(row), created ? 201 : 200);
  };
}

function toCreation(bytes: Buffer): z.infer<typeof createShape> {
  if (bytes.length === 0) return {};
  const creation = shapedBody(createShape, bytes);
  if (creation.metadata !== undefined) requireSize('metadataBytes', JSON.stringify(creation.metadata));
  return creation;
}

const outOfReach = (): LedgerlineError =>
  new LedgerlineError('forbidden', 'the token does not reach that session; name one that it does');

export const describeOperation = {
  id: 'describeSession',
  group: 'Sessions',
  summary: 'Describe a session',
  scope: 'read',
  answers: { 200: { description: 'As it is now.', contents: json(describedShape) } },
  refusals: ['session_deleted'],
} as const satisfies Operation;

export interface DescribeOptions {
  readonly sessions: Pick<Sessions, 'describe'>;
  readonly rooms: Pick<Rooms, 'describe'>;
}

export function describeRoute({ sessions, rooms }: DescribeOptions): SessionHandler {
  return async (c, { session }) => {
    const row = await sessions.describe(session);
    if (row === undefined) throw sessionUnknown();
    if (row.state === 'deleted') throw sessionDeleted();
    const room = rooms.describe(session) ?? null;
    return c.json({ ...description(row), turn: turnNow(row.turn), room } satisfies z.infer<typeof describedShape>);
  };
}

export const closeOperation = {
  id: 'closeSession',
  group: 'Sessions',
  summary: 'Close a session',
  description:
    'It takes no more events, and its streams end once they have delivered everything. Closing again is the same.',
  scope: 'write',
  answers: { 200: { description: 'It is closed.', contents: json(headShape) } },
  refusals: ['session_deleted', 'session_busy'],
} as const satisfies Operation;

export function closeRoute(sessions: Pick<Sessions, 'close'>): SessionHandler {
  return async (c, { session }) => {
    const head = await sessions.close(session);
    if (head === undefined) throw sessionUnknown();
    if (head.state === 'deleted') throw sessionDeleted();
    return c.json(headOf(session, head));
  };
}

export const deleteOperation = {
  id: 'deleteSession',
  group: 'Sessions',
  summary: 'Delete a session',
  description: 'Its events are erased, and its id is never used again. Deleting again is the same.',
  scope: 'write',
  answers: { 200: { description: 'It is deleted.', contents: json(headShape) } },
  refusals: ['session_busy'],
} as const satisfies Operation;

/** Deleting again changes nothing and answers the same. */
export function deleteRoute(sessions: Pick<Sessions, 'delete'>): SessionHandler {
  return async (c, { session }) => {
    const head = await sessions.delete(session);
    if (head === undefined) throw sessionUnknown();
    return c.json(headOf(session, head));
  };
}

const headOf = (session: string, { head, floor, state }: Head): z.infer<typeof headShape> => ({
  session,
  head,
  floor,
  state,
});

const description = (row: SessionRow): z.infer<typeof sessionShape> => ({
  ...headOf(row.session, row),
  metadata: row.metadata,
});
