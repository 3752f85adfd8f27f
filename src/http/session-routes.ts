/** Creating, describing, closing and deleting sessions. */
import { z } from 'zod';
import { randomId } from '../base/clock.ts';
import { LedgerlineError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { sessionIdShape } from '../event/event.ts';
import { parseJson, shaped } from '../event/json-body.ts';
import { checkBody } from '../event/slice.ts';
import type { Head, SessionRow } from '../ledger/ledger.ts';
import type { Rooms } from '../room/rooms.ts';
import type { Sessions } from '../session/sessions.ts';
import { ownerShape, reaches, requireScope } from './auth.ts';
import type { Authenticate } from './auth.ts';
import type { ReadJsonBody } from './body.ts';
import type { Handler } from './context.ts';
import { sessionDeleted, sessionUnknown } from './door.ts';
import type { SessionHandler } from './door.ts';

const createShape = z.strictObject({
  session: sessionIdShape.optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
  /** For internal callers; a token's sessions get the token's own. */
  owner: ownerShape.optional(),
});

export interface CreateOptions {
  readonly sessions: Pick<Sessions, 'create'>;
  readonly authenticate: Authenticate;
  readonly readJsonBody: ReadJsonBody;
}

export function createRoute({ sessions, authenticate, readJsonBody }: CreateOptions): Handler {
  return async (c) => {
    const credential = await authenticate(c.req.header('authorization'));
    requireScope(credential, 'create');
    const { session = randomId(), metadata, owner } = toCreation(await readJsonBody(c, 'bodyBytes'));
    c.set('session', session);
    if (owner !== undefined && !credential.isInternal) {
      throw new LedgerlineError('malformed', 'only an internal caller names the owner', { where: 'owner' });
    }
    if (!reaches(credential, session) && credential.owner === undefined) throw outOfReach();
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
  const creation = shaped(createShape, parseJson(bytes, checkBody).value);
  const size = creation.metadata === undefined ? 0 : Buffer.byteLength(JSON.stringify(creation.metadata));
  if (size > limits.metadataBytes) {
    throw new LedgerlineError('too_large', `metadata holds at most ${limits.metadataBytes} bytes`, {
      limit: 'metadataBytes',
      max: limits.metadataBytes,
    });
  }
  return creation;
}

const outOfReach = (): LedgerlineError =>
  new LedgerlineError('forbidden', 'the token does not reach that session; name one that it does');

export function describeRoute(sessions: Pick<Sessions, 'describe'>, rooms: Pick<Rooms, 'describe'>): SessionHandler {
  return async (c, { session }) => {
    const row = await sessions.describe(session);
    if (row === undefined) throw sessionUnknown();
    if (row.state === 'deleted') throw sessionDeleted();
    return c.json({ ...description(row), room: rooms.describe(session) ?? null });
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
