/** From a reader's token to what it allows: a JWT signed with the server's secret, or by an issuer whose keys are published. */
import { createSecretKey } from 'node:crypto';
import { decodeProtectedHeader, jwtVerify } from 'jose';
import type { JWTPayload, JWTVerifyGetKey, JWTVerifyOptions } from 'jose';
import { z } from 'zod';
import { accessLimits } from '../base/access-limits.ts';
import type { Clock } from '../base/clock.ts';
import { LedgerlineError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { ownerShape, subjectShape, tokenIdShape } from './auth.ts';
import type { Credential } from './auth.ts';

export interface TokenTerms {
  /** HS256: tokens are signed with the first; the others still verify. */
  readonly secrets: readonly Uint8Array[];
  /** Finds the issuer's key for a token's header. */
  readonly findKey?: JWTVerifyGetKey | undefined;
  /** What `iss` and `aud` must be, if anything. */
  readonly issuer?: string | undefined;
  readonly audience?: string | undefined;
}

/** Rejects with `unauthorized`, or with `unavailable` when the key that signed it cannot be looked for. */
export type VerifyToken = (token: string) => Promise<Credential>;

/** Pinned: what a token's own header asks for only chooses between the kinds, each of which has its own keys [spec: RFC 8725, 3.1]. */
const SYMMETRIC = ['HS256'];
const ASYMMETRIC = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];

const claimsShape = z.object({
  sub: subjectShape,
  jti: tokenIdShape,
  exp: z.number(),
  iat: z.number().optional(),
  scope: z.string(),
  sessions: z.array(z.string().regex(/^(?:[A-Za-z0-9_-]{1,128}|[A-Za-z0-9_-]{0,127}\*)$/)),
  owner: ownerShape.optional(),
});

export function createTokenVerifier(terms: TokenTerms, clock: Clock): VerifyToken {
  const { findKey, issuer, audience } = terms;
  const secrets = terms.secrets.map((secret) => createSecretKey(secret));
  const options = (): JWTVerifyOptions => ({
    currentDate: new Date(clock.wall()),
    clockTolerance: limits.tokenToleranceMs / 1_000,
    ...(issuer === undefined ? {} : { issuer }),
    ...(audience === undefined ? {} : { audience }),
  });

  async function payloadOf(token: string): Promise<JWTPayload> {
    const { alg } = decodeProtectedHeader(token);
    if (alg === 'HS256') return bySecret(token);
    if (findKey === undefined) throw new Error('there is no issuer whose keys are known');
    const { payload } = await jwtVerify(token, findKey, { ...options(), algorithms: ASYMMETRIC });
    return payload;
  }

  async function bySecret(token: string): Promise<JWTPayload> {
    let failure: unknown = new Error('there is no secret');
    for (const secret of secrets) {
      try {
        const { payload } = await jwtVerify(token, secret, { ...options(), algorithms: SYMMETRIC });
        return payload;
      } catch (thrown) {
        failure = thrown;
      }
    }
    throw failure;
  }

  return async (token) => {
    if (token.length > accessLimits.tokenLength) throw unauthorized();
    let claims: z.infer<typeof claimsShape>;
    try {
      claims = claimsShape.parse(await payloadOf(token));
    } catch (thrown) {
      if (thrown instanceof LedgerlineError) throw thrown;
      // Why it failed helps a forger more than its bearer.
      throw unauthorized();
    }
    requireLife(claims, clock.wall());
    return {
      subject: claims.sub,
      isInternal: false,
      identity: {
        jti: claims.jti,
        sub: claims.sub,
        issuedAtMs: claims.iat === undefined ? undefined : claims.iat * 1_000,
      },
      sessions: claims.sessions,
      scope: new Set(claims.scope.split(' ')),
      owner: claims.owner,
      expiresAtMs: claims.exp * 1_000 + limits.tokenToleranceMs,
    };
  };
}

/** Its issuer may know: whoever signed it is no forger. Without either bound a revocation could be outlived, or passed. */
function requireLife({ exp, iat = 0 }: { exp: number; iat?: number | undefined }, nowMs: number): void {
  const latestMs = nowMs + limits.tokenToleranceMs;
  if (iat * 1_000 > latestMs) throw new LedgerlineError('unauthorized', 'the token was issued in the future');
  if (exp * 1_000 > latestMs + accessLimits.tokenMs) {
    throw new LedgerlineError('unauthorized', 'the token holds for more than 366 days');
  }
}

const unauthorized = (): LedgerlineError =>
  new LedgerlineError('unauthorized', 'the token does not verify, or its time is over');
