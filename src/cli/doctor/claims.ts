/** What a token says of itself, read without its key (pure). */
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { z } from 'zod';

export interface Claims {
  readonly algorithm: string;
  /** Those that a gateway requires and the token lacks. */
  readonly missing: readonly string[];
  readonly scopes: readonly string[];
  readonly sessions: readonly string[];
  /** Milliseconds since the epoch. */
  readonly issuedAtMs: number | undefined;
  readonly notBeforeMs: number | undefined;
  readonly expiresAtMs: number | undefined;
}

const seconds = z.number().optional().catch(undefined);
const shape = z.object({
  scope: z.string().catch(''),
  sessions: z.array(z.string()).catch([]),
  iat: seconds,
  nbf: seconds,
  exp: seconds,
});

const required = ['sub', 'jti', 'exp', 'sessions', 'scope'];

/** Undefined for what is no JWT. */
export function readClaims(token: string): Claims | undefined {
  try {
    const payload = decodeJwt(token);
    const { scope, sessions, iat, nbf, exp } = shape.parse(payload);
    return {
      algorithm: decodeProtectedHeader(token).alg ?? 'none',
      missing: required.filter((name) => payload[name] === undefined),
      scopes: scope.split(' '),
      sessions,
      issuedAtMs: inMs(iat),
      notBeforeMs: inMs(nbf),
      expiresAtMs: inMs(exp),
    };
  } catch {
    // Not a JWT at all: that is the answer.
    return undefined;
  }
}

const inMs = (value: number | undefined): number | undefined => (value === undefined ? undefined : value * 1_000);

/** An id for a session of the doctor's own that the token reaches; undefined where it reaches named sessions alone. */
export function idWithin(sessions: readonly string[], unique: string): string | undefined {
  const prefixes = sessions.filter((pattern) => pattern.endsWith('*')).map((pattern) => pattern.slice(0, -1));
  const own = `doctor-${unique}`;
  if (prefixes.some((prefix) => own.startsWith(prefix))) return own;
  const [prefix] = prefixes.toSorted((one, other) => one.length - other.length);
  const id = `${prefix ?? ''}${own}`;
  return prefix === undefined || id.length > 128 ? undefined : id;
}
