/** From a request to whoever makes it: by what it presents, on which listener, and whether that still holds. */
import { hash, timingSafeEqual } from 'node:crypto';
import type { Limiter } from '../access/limiter.ts';
import type { Revocations } from '../access/revocations.ts';
import { LedgerlineError, toError } from '../base/errors.ts';
import { internalCredential } from './auth.ts';
import type { Credential } from './auth.ts';
import { headerOf } from './context.ts';
import type { AppContext } from './context.ts';
import { PASS_COOKIE, TOKEN_COOKIE, cookieText, readCookie } from './cookie.ts';
import type { CookieRules } from './cookie.ts';
import type { Redeemed, Tickets } from './ticket.ts';
import type { VerifyToken } from './token-verifier.ts';

/** Rejects with `unauthorized`. A promise only where something has to be waited for, or went wrong. */
export type Authenticate = (c: AppContext) => Credential | Promise<Credential>;

/** Readers: a token in the header; or in a cookie, which may look and never touch, so that no other page can act by it. */
export function tokenAuthentication(verify: VerifyToken, allowedOrigins: readonly string[]): Authenticate {
  const allowed = new Set(allowedOrigins);
  return async (c) => {
    const header = c.req.header('authorization');
    const cookie = readCookie(c.req.header('cookie'), TOKEN_COOKIE);
    if (header !== undefined || cookie === undefined) return verify(bearer(header));
    if (!isLook(c))
      throw new LedgerlineError('unauthorized', 'a cookie opens GET and HEAD alone; send the token as Bearer');
    if (!isOwnPage(c, allowed))
      throw new LedgerlineError('unauthorized', 'no cookie counts from a page of this origin');
    return verify(cookie);
  };
}

/** Producers and operators: the key. */
export function keyAuthentication(key: string): Authenticate {
  const expected = digest(key);
  let accepted: Buffer | undefined;
  /** A producer's header is the same each time: once accepted, the next is compared with it as it is, if it is as long. */
  const isAccepted = (header: string): boolean => {
    const given = Buffer.from(header);
    if (given.length === accepted?.length && timingSafeEqual(given, accepted)) return true;
    if (!timingSafeEqual(digest(bearer(header)), expected)) return false;
    accepted = given;
    return true;
  };
  return (c) => {
    try {
      if (isAccepted(headerOf(c, 'authorization') ?? '')) return internalCredential;
      throw new LedgerlineError('unauthorized', 'this is not the internal key');
    } catch (thrown) {
      return Promise.reject(toError(thrown));
    }
  };
}

/** A stream's: a ticket in the address, or the pass that an earlier visit left; a token in the header goes before both. */
export function ticketAuthentication(authenticate: Authenticate, tickets: Tickets, rules: CookieRules): Authenticate {
  return async (c) => {
    const ticket = c.req.query('ticket');
    const cookies = c.req.header('cookie');
    if (ticket === undefined || c.req.header('authorization') !== undefined) return authenticate(c);
    const session = c.req.param('session') ?? '';
    const redeemed = await tickets.redeem(session, ticket, readCookie(cookies, PASS_COOKIE));
    if (redeemed !== undefined) {
      if (redeemed.pass !== undefined) c.header('Set-Cookie', passCookie(session, redeemed.pass, rules));
      return redeemed.credential;
    }
    if (readCookie(cookies, TOKEN_COOKIE) !== undefined) return authenticate(c);
    throw new LedgerlineError(
      'unauthorized',
      'the ticket does not open this stream, or its time is over: ask for another',
    );
  };
}

/** What was revoked opens nothing more; and who writes too often waits. */
export function standing(
  authenticate: Authenticate,
  { revocations, limiter }: { revocations: Pick<Revocations, 'isRevoked'>; limiter: Pick<Limiter, 'write'> },
): Authenticate {
  return async (c) => {
    const credential = await authenticate(c);
    if (credential.identity === undefined) return credential;
    if (revocations.isRevoked(credential.identity)) throw tokenRevoked();
    if (!isLook(c)) limiter.write(credential.identity.jti);
    return credential;
  };
}

export const tokenRevoked = (): LedgerlineError => new LedgerlineError('unauthorized', 'the token was revoked');

type Pass = NonNullable<Redeemed['pass']>;

const passCookie = (session: string, { text, maxAgeSeconds }: Pass, rules: CookieRules): string =>
  cookieText({ name: PASS_COOKIE, value: text, path: `/sessions/${session}/stream`, maxAgeSeconds }, rules);

/** `none` is a person, who typed the address or follows a bookmark [spec: Fetch Metadata, 2.3]. */
const ownSites: ReadonlySet<string> = new Set(['same-origin', 'none']);

const isLook = (c: AppContext): boolean => c.req.method === 'GET' || c.req.method === 'HEAD';

/**
 * A page on the list, or of this origin. Where the browser itself says whether the page is foreign, that decides: it knows the
 * scheme and the name under which it came here, of which a proxy that ends TLS leaves neither. No page can forge it.
 */
function isOwnPage(c: AppContext, allowed: ReadonlySet<string>): boolean {
  const origin = c.req.header('origin');
  if (origin !== undefined && allowed.has(origin)) return true;
  const site = c.req.header('sec-fetch-site');
  if (site !== undefined) return ownSites.has(site);
  if (origin === undefined) return true;
  return URL.canParse(origin) && new URL(origin).host === new URL(c.req.url).host;
}

/** Of one length, which a comparison in constant time needs. */
const digest = (text: string): Buffer => hash('sha256', text, 'buffer');

/** The word behind `Bearer` in an `Authorization` header. */
export function bearer(header: string | undefined): string {
  const token = /^bearer +([^\s]+) *$/i.exec(header ?? '')?.[1];
  if (token === undefined) throw new LedgerlineError('unauthorized', 'the request needs `Authorization: Bearer …`');
  return token;
}
