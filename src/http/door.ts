/** The door of every route of a session: who asks, for which session, and may they. */
import type { Revocations } from '../access/revocations.ts';
import { LedgerlineError } from '../base/errors.ts';
import { sessionIdShape } from '../event/event.ts';
import { reaches, requireScope } from './auth.ts';
import type { Credential, Scope } from './auth.ts';
import { tokenRevoked } from './authenticate.ts';
import type { Authenticate } from './authenticate.ts';
import type { AppContext, Handler } from './context.ts';

export interface Visit {
  readonly session: string;
  readonly credential: Credential;
}

/** Called only for a session that the caller reaches. */
export type SessionHandler = (c: AppContext, visit: Visit) => Promise<Response>;

/** Puts a handler behind the door. */
export type Door = (scope: Scope, handler: SessionHandler) => Handler;

/** Resolves when the session is within reach of the credential; else `session_unknown`, or `unauthorized` if that was revoked. */
export type RequireReach = (credential: Credential, session: string) => Promise<void>;

/** Whether the credential may still do in the session what it once could. */
export type StandsIn = (credential: Credential, session: string) => boolean;

export const createStandsIn =
  (revocations: Pick<Revocations, 'isRevokedIn'>): StandsIn =>
  ({ identity }, session) =>
    identity === undefined || !revocations.isRevokedIn(identity, session);

/** Before anything is read of the session, so that neither the answer nor its time tells whether it exists. */
export function createReach(
  ownerOf: (session: string) => Promise<string | undefined>,
  standsIn: StandsIn,
): RequireReach {
  return async (credential, session) => {
    const { owner } = credential;
    const isReached = reaches(credential, session) || (owner !== undefined && (await ownerOf(session)) === owner);
    if (!isReached) throw sessionUnknown();
    if (!standsIn(credential, session)) throw tokenRevoked();
  };
}

export function createDoor(authenticate: Authenticate, requireReach: RequireReach): Door {
  return (scope, handler) => async (c) => {
    const credential = await authenticate(c);
    const session = toSessionId(c.req.param('session') ?? '');
    c.set('session', session);
    await requireReach(credential, session);
    requireScope(credential, scope);
    return handler(c, { session, credential });
  };
}

/** Of what is about no session, or about many. */
export type GateHandler = (c: AppContext, credential: Credential) => Response | Promise<Response>;

/** Asks who it is and whether they may, and leaves it to the handler how far that reaches. */
export type Gate = (scope: Scope, handler: GateHandler) => Handler;

export const createGate =
  (authenticate: Authenticate): Gate =>
  (scope, handler) =>
  async (c) => {
    const credential = await authenticate(c);
    requireScope(credential, scope);
    return handler(c, credential);
  };

function toSessionId(text: string): string {
  const result = sessionIdShape.safeParse(text);
  if (result.success) return result.data;
  throw new LedgerlineError('malformed', result.error.issues[0]?.message ?? 'not a session id', { where: 'session' });
}

/** The same for a session that does not exist and for one out of reach, so that ids cannot be probed. */
export const sessionUnknown = (): LedgerlineError =>
  new LedgerlineError('session_unknown', 'there is no such session within reach of this credential');

export const sessionDeleted = (): LedgerlineError =>
  new LedgerlineError('session_deleted', 'the session was deleted; its id is never used again');
