/** Who asks, and how far that reaches: readers' tokens on the public listener, the key on the internal one. */
import { createHash, createSecretKey, timingSafeEqual } from 'node:crypto';
import { jwtVerify } from 'jose';
import { z } from 'zod';
import type { Clock } from '../base/clock.ts';
import { LedgerlineError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { SessionFilter } from '../ledger/session-filter.ts';

export const scopes = ['read', 'send', 'write', 'create'] as const;
export type Scope = (typeof scopes)[number];

export interface Credential {
  /** Whose it is; a renewed token has the same. */
  readonly subject: string;
  readonly isInternal: boolean;
  readonly sessions: readonly string[];
  readonly scope: ReadonlySet<string>;
  /** Sessions are created with this owner, and those that have it are reached. */
  readonly owner: string | undefined;
  /** By the wall clock; the key does not expire. */
  readonly expiresAtMs: number | undefined;
}

/** From the `Authorization` header to a credential, or `unauthorized`. */
export type Authenticate = (header: string | undefined) => Promise<Credential>;

/** Postgres holds no NUL in a text. */
const nameShape = (what: string) =>
  z.string().regex(/^[^\p{Cc}\p{Cs}]{1,256}$/u, `${what} is 1 to 256 characters, none of control`);

export const ownerShape = nameShape('an owner');
export const workerShape = nameShape('the name of a worker');

const SUBJECT = 'a subject is 1 to 256 characters';
export const subjectShape = z.string().min(1, SUBJECT).max(256, SUBJECT);

const claimsShape = z.object({
  sub: subjectShape,
  jti: z.string().min(1).max(256),
  exp: z.number(),
  scope: z.string(),
  sessions: z.array(z.string().regex(/^(?:[A-Za-z0-9_-]{1,128}|[A-Za-z0-9_-]{0,127}\*)$/)),
  owner: ownerShape.optional(),
});

/** The algorithm is pinned: what the token's own header asks for counts for nothing [spec: RFC 8725, 3.1]. */
async function verifyToken(token: string, secret: Secret, clock: Clock): Promise<Credential> {
  const { payload } = await jwtVerify(token, secret, {
    algorithms: ['HS256'],
    currentDate: new Date(clock.wall()),
    clockTolerance: limits.tokenToleranceMs / 1_000,
  });
  const claims = claimsShape.parse(payload);
  return {
    subject: claims.sub,
    isInternal: false,
    sessions: claims.sessions,
    scope: new Set(claims.scope.split(' ')),
    owner: claims.owner,
    expiresAtMs: claims.exp * 1_000 + limits.tokenToleranceMs,
  };
}

type Secret = ReturnType<typeof createSecretKey>;

export function tokenAuthentication(secret: Uint8Array, clock: Clock): Authenticate {
  const key = createSecretKey(secret);
  return async (header) => {
    const token = bearer(header);
    try {
      return await verifyToken(token, key, clock);
    } catch {
      // Why it failed helps a forger more than its bearer.
      throw new LedgerlineError('unauthorized', 'the token does not verify, or its time is over');
    }
  };
}

const internalCredential: Credential = {
  subject: 'internal',
  isInternal: true,
  sessions: ['*'],
  scope: new Set(scopes),
  owner: undefined,
  expiresAtMs: undefined,
};

export function keyAuthentication(key: string): Authenticate {
  const expected = digest(key);
  return async (header) => {
    // Digests have one length, which a comparison in constant time needs.
    if (!timingSafeEqual(digest(bearer(header)), expected)) {
      throw new LedgerlineError('unauthorized', 'this is not the internal key');
    }
    return internalCredential;
  };
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

function bearer(header: string | undefined): string {
  const token = /^bearer +([^\s]+) *$/i.exec(header ?? '')?.[1];
  if (token === undefined) throw new LedgerlineError('unauthorized', 'the request needs `Authorization: Bearer …`');
  return token;
}

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
