/** Makes the tokens that readers carry: a JWT that names sessions, a scope and its own end. */
import { SignJWT } from 'jose';
import { randomId, systemClock } from '../base/clock.ts';
import type { Scope } from './auth.ts';

export interface TokenOptions {
  readonly sub: string;
  /** Ids, `prefix-*`, or `*`. */
  readonly sessions: readonly string[];
  readonly scope: readonly Scope[];
  readonly ttlSeconds: number;
  /** Also reaches the sessions created with this owner. */
  readonly owner?: string;
  /** What its gateway wants to read of where it is from and for. */
  readonly issuer?: string | undefined;
  readonly audience?: string | undefined;
}

export function mintToken(secret: Uint8Array, options: TokenOptions): Promise<string> {
  const now = Math.floor(systemClock.wall() / 1_000);
  const claims = {
    sessions: options.sessions,
    scope: options.scope.join(' '),
    ...(options.owner === undefined ? {} : { owner: options.owner }),
    ...(options.issuer === undefined ? {} : { iss: options.issuer }),
    ...(options.audience === undefined ? {} : { aud: options.audience }),
  };
  return new SignJWT(claims)
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setSubject(options.sub)
    .setJti(randomId())
    .setIssuedAt(now)
    .setExpirationTime(now + options.ttlSeconds)
    .sign(secret);
}
