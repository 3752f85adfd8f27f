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

/**
 * Comes back when the session is within reach of the credential; else throws, or rejects with, `session_unknown`, or `unauthorized`
 * if that was revoked. A promise only where the ledger has to be asked.
 */
export type RequireReach = (credential: Credential, session: string) => undefined | Promise<undefined>;

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
  const judge = (isReached: boolean, credential: Credential, session: string): undefined => {
    if (!isReached) throw sessionUnknown();
    if (!standsIn(credential, session)) throw tokenRevoked();
  };
  return (credential, session) => {
    const { owner } = credential;
    const isNamed = reaches(credential, session);
    if (isNamed || owner === undefined) return judge(isNamed, credential, session);
    return ownerOf(session).then((actual) => judge(actual === owner, credential, session));
  };
}

export function createDoor(authenticate: Authenticate, requireReach: RequireReach): Door {
  return (scope, handler) => {
    function enter(c: AppContext, credential: Credential): Promise<Response> {
      const session = toSessionId(c.req.param('session') ?? '');
      c.get('notes').session = session;
      const pass = (): Promise<Response> => {
        requireScope(credential, scope);
        return handler(c, { session, credential });
      };
      const reached = requireReach(credential, session);
      return reached === undefined ? pass() : reached.then(pass);
    }
    return (c) => whenKnown(authenticate(c), (credential) => enter(c, credential));
  };
}

/** Of what is about no session, or about many. */
export type GateHandler = (c: AppContext, credential: Credential) => Response | Promise<Response>;

/** Asks who it is and whether they may, and leaves it to the handler how far that reaches. */
export type Gate = (scope: Scope, handler: GateHandler) => Handler;

export const createGate =
  (authenticate: Authenticate): Gate =>
  (scope, handler) =>
  (c) =>
    whenKnown(authenticate(c), (credential) => {
      requireScope(credential, scope);
      return handler(c, credential);
    });

/** At once where nothing has to be waited for: each await costs every request [bench]. */
const whenKnown = (
  credential: Credential | Promise<Credential>,
  then: (credential: Credential) => Response | Promise<Response>,
): Response | Promise<Response> => (credential instanceof Promise ? credential.then(then) : then(credential));

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
