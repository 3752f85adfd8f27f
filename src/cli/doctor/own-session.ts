/** Sessions of the doctor's own: made, written to where the key is known, and erased in the end whatever happened. */
import { randomId } from '../../base/clock.ts';
import { ask, bearer } from './call.ts';
import type { Outcome, Wire } from './call.ts';
import { idWithin } from './claims.ts';
import type { Deployment } from './deployment.ts';
import type { TokenObserved } from './observe-token.ts';

/** Where sessions are made, and by what. */
export interface Operator {
  readonly url: string;
  readonly credential: string;
  /** Only the internal listener appends. */
  readonly mayAppend: boolean;
  /** What the reader reaches: ids and prefixes. */
  readonly sessions: readonly string[];
}

/** Undefined where nobody is known who may. */
export function operatorOf(
  { url, internalUrl }: Deployment,
  key: string | undefined,
  token: TokenObserved | undefined,
): Operator | undefined {
  const claims = token?.isAccepted === true ? token.claims : undefined;
  if (key !== undefined && internalUrl !== undefined) {
    const reached = claims?.sessions ?? [];
    // A token that reaches named sessions alone is of no use here: readers come by a ticket then.
    const sessions = idWithin(reached, '') === undefined ? ['*'] : reached;
    return { url: internalUrl, credential: key, mayAppend: true, sessions };
  }
  if (token === undefined || claims === undefined) return undefined;
  const mayMake = claims.scopes.includes('create') && claims.scopes.includes('write');
  const isReached = idWithin(claims.sessions, '') !== undefined;
  return mayMake && isReached
    ? { url, credential: token.text, mayAppend: false, sessions: claims.sessions }
    : undefined;
}

export interface OwnSession {
  readonly id: string;
  readonly mayAppend: boolean;
  /** One event with so many bytes in it; the sequence that it was given, or why there is none. */
  append(bytes: number): Promise<{ readonly sequence: number | undefined; readonly outcome: Outcome }>;
  close(): Promise<Outcome>;
}

export interface OwnSessions {
  /** What went wrong, where none can be made. */
  make(): Promise<OwnSession | Outcome>;
  /** The ids of those that are still there. */
  removeAll(): Promise<readonly string[]>;
}

export const isOwnSession = (made: OwnSession | Outcome): made is OwnSession => 'append' in made;

export function createOwnSessions(wire: Wire, operator: Operator): OwnSessions {
  const { url, credential, mayAppend } = operator;
  const headers = bearer(credential);
  const made: string[] = [];

  const ownSession = (id: string): OwnSession => ({
    id,
    mayAppend,
    async append(bytes) {
      const events = [{ type: 'doctor.probe', data: { filler: 'x'.repeat(bytes) } }];
      const path = `/internal/sessions/${id}/events`;
      const outcome = await ask(wire, { url, path, method: 'POST', headers, body: { events } });
      const [, sequence] = outcome.kind === 'none' ? [] : (/"last":(\d+)/.exec(outcome.text) ?? []);
      const isStored = outcome.kind === 'answer' && outcome.status === 201;
      return { sequence: isStored && sequence !== undefined ? Number(sequence) : undefined, outcome };
    },
    close: () => ask(wire, { url, path: `/sessions/${id}/close`, method: 'POST', headers }),
  });

  return {
    async make() {
      const id = idWithin(operator.sessions, randomId());
      if (id === undefined) return { kind: 'none', why: "the token reaches no session of the doctor's own" };
      const outcome = await ask(wire, { url, path: '/sessions', method: 'POST', headers, body: { session: id } });
      if (outcome.kind !== 'answer' || outcome.status !== 201) return outcome;
      made.push(id);
      return ownSession(id);
    },
    async removeAll() {
      // Not by the signal that ends the diagnosis: what was made goes all the same.
      const patient: Wire = { ...wire, stop: new AbortController().signal };
      const left: string[] = [];
      for (const id of made.splice(0)) {
        const outcome = await ask(patient, { url, path: `/sessions/${id}`, method: 'DELETE', headers });
        if (outcome.kind !== 'answer' || outcome.status !== 200) left.push(id);
      }
      return left;
    },
  };
}
