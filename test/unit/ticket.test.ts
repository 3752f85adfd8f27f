/** A ticket opens one stream for a while, its pass for as long as the token holds, and neither anything else. */
import { SignJWT, decodeJwt } from 'jose';
import { describe, expect, it } from 'vitest';
import { accessLimits } from '../../src/base/access-limits.ts';
import type { Credential } from '../../src/http/auth.ts';
import { internalCredential } from '../../src/http/auth.ts';
import { cookieText, readCookie } from '../../src/http/cookie.ts';
import { createTickets } from '../../src/http/ticket.ts';
import { createTokenVerifier } from '../../src/http/token-verifier.ts';
import { manualClock } from '../support/manual-clock.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const secret = bytes('a secret of the tests, long enough for HS256');
const other = bytes('another secret of the tests, also long enough');

function scene() {
  const clock = manualClock();
  const tickets = createTickets([secret], clock);
  const credential: Credential = {
    subject: 'maya',
    isInternal: false,
    identity: { jti: 'j', sub: 'maya', issuedAtMs: clock.wall() - 1_000 },
    sessions: ['*'],
    scope: new Set(['read', 'write']),
    owner: 'o',
    expiresAtMs: clock.wall() + 3_600_000,
  };
  return { clock, tickets, credential };
}

describe('a ticket', () => {
  it('opens its stream to read, as the token that it was asked for with, until that ends', async () => {
    const { clock, tickets, credential } = scene();
    const { ticket, expiresAtMs } = await tickets.mint(credential, 's');
    expect(expiresAtMs).toBeLessThanOrEqual(clock.wall() + accessLimits.ticketMs);
    const redeemed = await tickets.redeem('s', ticket, undefined);
    expect(redeemed?.credential).toEqual({
      ...credential,
      sessions: ['s'],
      scope: new Set(['read']),
      owner: undefined,
    });
    expect(redeemed?.pass?.maxAgeSeconds).toBe(3_600);
  });

  it('opens no other session', async () => {
    const { tickets, credential } = scene();
    const { ticket } = await tickets.mint(credential, 's');
    expect(await tickets.redeem('t', ticket, undefined)).toBeUndefined();
  });

  it('opens nothing after five minutes but to a browser that has its pass', async () => {
    const { clock, tickets, credential } = scene();
    const { ticket } = await tickets.mint(credential, 's');
    const pass = (await tickets.redeem('s', ticket, undefined))?.pass?.text;
    clock.stepWall(accessLimits.ticketMs);
    expect(await tickets.redeem('s', ticket, undefined)).toBeUndefined();
    const again = await tickets.redeem('s', ticket, pass);
    expect([again?.credential.identity?.jti, again?.pass]).toEqual(['j', undefined]);
    clock.stepWall(3_600_000);
    expect(await tickets.redeem('s', ticket, pass)).toBeUndefined();
  });

  it('ends with its token where that is sooner', async () => {
    const { clock, tickets, credential } = scene();
    const { ticket, expiresAtMs } = await tickets.mint({ ...credential, expiresAtMs: clock.wall() + 60_000 }, 's');
    expect(expiresAtMs).toBeLessThanOrEqual(clock.wall() + 60_000);
    clock.stepWall(60_000);
    expect(await tickets.redeem('s', ticket, undefined)).toBeUndefined();
  });

  it('of one person is not renewed by the pass of another, nor by one for another session', async () => {
    const { clock, tickets, credential } = scene();
    const passOf = async (subject: string, session: string): Promise<string | undefined> => {
      const identity = { jti: 'k', sub: subject, issuedAtMs: clock.wall() };
      const { ticket } = await tickets.mint({ ...credential, subject, identity }, session);
      return (await tickets.redeem(session, ticket, undefined))?.pass?.text;
    };
    const passes = [await passOf('noor', 's'), await passOf('maya', 't')];
    const { ticket } = await tickets.mint(credential, 's');
    clock.stepWall(accessLimits.ticketMs);
    for (const pass of passes) expect(await tickets.redeem('s', ticket, pass)).toBeUndefined();
  });

  it('that the key asks for lasts an hour, and can be revoked', async () => {
    const { clock, tickets } = scene();
    const { ticket } = await tickets.mint(internalCredential, 's');
    const { credential } = (await tickets.redeem('s', ticket, undefined)) ?? {};
    expect(credential).toMatchObject({ isInternal: false, expiresAtMs: clock.wall() + accessLimits.keyTicketMs });
    expect(credential?.identity).toMatchObject({ sub: 'internal', issuedAtMs: clock.wall() });
  });

  it('of a secret that was replaced holds as long as that is still known', async () => {
    const { clock, tickets, credential } = scene();
    const { ticket } = await tickets.mint(credential, 's');
    expect(await createTickets([other, secret], clock).redeem('s', ticket, undefined)).toBeDefined();
    expect(await createTickets([other], clock).redeem('s', ticket, undefined)).toBeUndefined();
  });

  it('is no token, a token no ticket, and neither is a pass', async () => {
    const { clock, tickets, credential } = scene();
    const verify = createTokenVerifier({ secrets: [secret] }, clock);
    const { ticket } = await tickets.mint(credential, 's');
    const pass = (await tickets.redeem('s', ticket, undefined))?.pass?.text ?? '';
    for (const text of [ticket, pass]) await expect(verify(text)).rejects.toMatchObject({ code: 'unauthorized' });
    expect(await tickets.redeem('s', pass, undefined)).toBeUndefined();
    // the claims of a ticket under the secret of tokens, with every header that could pass for one
    for (const typ of ['ledgerline-ticket+jwt', 'JWT']) {
      const forged = await new SignJWT({ ...decodeJwt(ticket), scope: 'read', sessions: ['s'] })
        .setProtectedHeader({ alg: 'HS256', typ })
        .sign(secret);
      expect(await tickets.redeem('s', forged, undefined)).toBeUndefined();
      expect(await tickets.redeem('s', ticket.replace(/[^.]+$/, 'AAAA'), forged)).toBeUndefined();
    }
    clock.stepWall(accessLimits.ticketMs);
    expect(await tickets.redeem('s', ticket, ticket)).toBeUndefined();
  });

  it.each(['', '.', '..', 'a.b.c', `a.${'b'.repeat(accessLimits.tokenLength)}.c`])('is not %.20s', async (text) => {
    expect(await scene().tickets.redeem('s', text, text)).toBeUndefined();
  });
});

describe('a cookie', () => {
  const cookie = { name: 'n', value: 'v', path: '/p', maxAgeSeconds: 9 };

  it('is kept from scripts, from other sites, and from what is not TLS', () => {
    expect(cookieText(cookie, { isSecure: true, isCrossSite: false })).toBe(
      'n=v; Path=/p; Max-Age=9; HttpOnly; SameSite=Strict; Secure',
    );
  });

  it('for other sites is secure whatever else is set, and apart for each of them', () => {
    expect(cookieText(cookie, { isSecure: false, isCrossSite: true })).toBe(
      'n=v; Path=/p; Max-Age=9; HttpOnly; SameSite=None; Secure; Partitioned',
    );
  });

  it.each([
    [undefined, undefined],
    ['', undefined],
    ['a=1', undefined],
    ['na=1; xn=2', undefined],
    ['a=1; n=v', 'v'],
    ['n=first;n=second', 'first'],
    ['n=a=b', 'a=b'],
    ['n', ''],
  ])('is found in %s as %s', (header, value) => expect(readCookie(header, 'n')).toBe(value));
});
