/** Who asks, and how far that reaches: which sessions, and what may be done with them (pure). */
import { z } from 'zod';
import type { TokenIdentity } from '../access/revocation-set.ts';
import { LedgerlineError } from '../base/errors.ts';
import type { SessionFilter } from '../ledger/session-filter.ts';

export const scopes = ['read', 'send', 'write', 'create'] as const;
export type Scope = (typeof scopes)[number];

export interface Credential {
  /** Whose it is; a renewed token has the same. */
  readonly subject: string;
  readonly isInternal: boolean;
  /** What may be revoked of it; the key is changed instead. */
  readonly identity: TokenIdentity | undefined;
  readonly sessions: readonly string[];
  readonly scope: ReadonlySet<string>;
  /** Sessions are created with this owner, and those that have it are reached. */
  readonly owner: string | undefined;
  /** By the wall clock; the key does not expire. */
  readonly expiresAtMs: number | undefined;
}

/** Postgres holds no NUL in a text. */
const nameShape = (what: string) =>
  z.string().regex(/^[^\p{Cc}\p{Cs}]{1,256}$/u, `${what} is 1 to 256 characters, none of control`);

export const ownerShape = nameShape('an owner');
export const workerShape = nameShape('the name of a worker');

const SUBJECT = 'a subject is 1 to 256 characters';
export const subjectShape = z.string().min(1, SUBJECT).max(256, SUBJECT);

const TOKEN_ID = 'the id of a token is 1 to 256 characters';
export const tokenIdShape = z.string().min(1, TOKEN_ID).max(256, TOKEN_ID);

export const internalCredential: Credential = {
  subject: 'internal',
  isInternal: true,
  identity: undefined,
  sessions: ['*'],
  scope: new Set(scopes),
  owner: undefined,
  expiresAtMs: undefined,
};

/** By name; `*` alone, or behind a prefix, stands for the rest. */
export function reaches(credential: Credential, session: string): boolean {
  return credential.sessions.some((pattern) =>
    pattern.endsWith('*') ? session.startsWith(pattern.slice(0, -1)) : session === pattern,
  );
}

/** The same reach, for lists. */
export function filterOf({ sessions, owner }: Credential): SessionFilter {
  if (sessions.includes('*')) return { kind: 'all' };
  const isPrefix = (pattern: string): boolean => pattern.endsWith('*');
  return {
    kind: 'some',
    sessions: sessions.filter((pattern) => !isPrefix(pattern)),
    prefixes: sessions.filter(isPrefix).map((pattern) => pattern.slice(0, -1)),
    owner,
  };
}

export function requireScope(credential: Credential, scope: Scope): void {
  if (!credential.scope.has(scope)) {
    throw new LedgerlineError('forbidden', `the token lacks the scope ${scope}`, { scope });
  }
}
