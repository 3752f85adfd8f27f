/** Presents the token, or one that is made for the diagnosis, and looks at it without the gateway. */
import { jwtVerify } from 'jose';
import { mintToken } from '../../http/token.ts';
import type { Outcome, Wire } from './call.ts';
import { readClaims } from './claims.ts';
import type { Claims } from './claims.ts';
import type { Deployment } from './deployment.ts';
import { askList } from './observe-server.ts';

export interface TokenObserved {
  readonly text: string;
  readonly claims: Claims | undefined;
  readonly isMinted: boolean;
  readonly verifiesHere: boolean | undefined;
  readonly tried: Outcome;
  readonly isAccepted: boolean;
}

/** Undefined where there is neither a token nor a secret to make one with. */
export async function observeToken(
  wire: Wire,
  deployment: Deployment,
  session: string | undefined,
): Promise<TokenObserved | undefined> {
  const { url, token, secret } = deployment;
  const text = token ?? (secret === undefined ? undefined : await mint(wire, deployment, secret, session));
  if (text === undefined) return undefined;
  const tried = await askList(wire, url, text);
  return {
    text,
    claims: readClaims(text),
    isMinted: token === undefined,
    verifiesHere: secret === undefined ? undefined : await verifies(text, secret),
    tried,
    isAccepted: tried.kind === 'answer' && tried.status === 200,
  };
}

/** It reaches what the diagnosis looks at, and no longer than that takes. */
function mint(
  { times }: Wire,
  { issuer, audience }: Deployment,
  secret: string,
  session: string | undefined,
): Promise<string> {
  return mintToken(new TextEncoder().encode(secret), {
    sub: 'doctor',
    sessions: [session ?? 'doctor-*'],
    scope: session === undefined ? ['read', 'create', 'write'] : ['read'],
    ttlSeconds: times.tokenSeconds,
    issuer,
    audience,
  });
}

/** By its signature alone: its times are judged elsewhere. */
async function verifies(token: string, secret: string): Promise<boolean> {
  try {
    await jwtVerify(token, new TextEncoder().encode(secret), { algorithms: ['HS256'], clockTolerance: Infinity });
    return true;
  } catch {
    // Whatever the reason, it is not signed with this.
    return false;
  }
}
