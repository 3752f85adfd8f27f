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
import { turnNow } from './turn-json.ts';

const createShape = z.strictObject({
  session: sessionIdShape.optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
  /** For internal callers; a token's sessions get the token's own. */
  owner: ownerShape.optional(),
});

export function createRoute(
  sessions: Pick<Sessions, 'create'>,
  readJsonBody: ReadJsonBody,
  standsIn: StandsIn,
): GateHandler {
  return async (c, credential) => {
    const { session = randomId(), metadata, owner } = toCreation(await readJsonBody(c, 'bodyBytes'));
    c.set('session', session);
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

export interface DescribeOptions {
  readonly sessions: Pick<Sessions, 'describe'>;
  readonly rooms: Pick<Rooms, 'describe'>;
}

export function describeRoute({ sessions, rooms }: DescribeOptions): SessionHandler {
  return async (c, { session }) => {
    const row = await sessions.describe(session);
    if (row === undefined) throw sessionUnknown();
    if (row.state === 'deleted') throw sessionDeleted();
    return c.json({ ...description(row), turn: turnNow(row.turn), room: rooms.describe(session) ?? null });
  };
}

export function closeRoute(sessions: Pick<Sessions, 'close'>): SessionHandler {
  return async (c, { session }) => {
    const head = await sessions.close(session);
    if (head === undefined) throw sessionUnknown();
    if (head.state === 'deleted') throw sessionDeleted();
    return c.json(headOf(session, head));
  };
}

/** Deleting again changes nothing and answers the same. */
export function deleteRoute(sessions: Pick<Sessions, 'delete'>): SessionHandler {
  return async (c, { session }) => {
    const head = await sessions.delete(session);
    if (head === undefined) throw sessionUnknown();
    return c.json(headOf(session, head));
  };
}

const headOf = (session: string, { head, floor, state }: Head) => ({ session, head, floor, state });

const description = (row: SessionRow) => ({ ...headOf(row.session, row), metadata: row.metadata });
