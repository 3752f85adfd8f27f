/** Mints a reader's token the way an application would: with a JWT library and the secret, and nothing of ours. */
import { randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';

export interface TokenOptions {
  /** Ids, `prefix-*`, or `*`. */
  readonly sessions?: readonly string[];
  /** Words separated by spaces. */
  readonly scope?: string;
  readonly subject?: string;
  readonly ttlSeconds?: number;
  readonly owner?: string;
  /** It does not say when it was issued. */
  readonly isUndated?: boolean;
}

export async function mintTestToken(secret: string, options: TokenOptions = {}): Promise<string> {
  const { sessions = ['*'], scope = 'read send write create', subject = 'tester', ttlSeconds = 3_600, owner } = options;
  const token = new SignJWT({ sessions, scope, ...(owner === undefined ? {} : { owner }) })
    .setProtectedHeader({ alg: 'HS256' })
    .setSubject(subject)
    .setJti(randomUUID())
    .setExpirationTime(Math.floor(Date.now() / 1_000) + ttlSeconds);
  return (options.isUndated === true ? token : token.setIssuedAt()).sign(new TextEncoder().encode(secret));
}
