/** Whose token is taken, and how far it reaches. */
import { createHmac, randomUUID } from 'node:crypto';
import { SignJWT, decodeJwt } from 'jose';
import { describe, expect, it } from 'vitest';
import { accessLimits } from '../../src/base/access-limits.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { Clock } from '../../src/base/clock.ts';
import { limits } from '../../src/base/limits.ts';
import { filterOf, reaches, requireScope } from '../../src/http/auth.ts';
import { bearer, keyAuthentication } from '../../src/http/authenticate.ts';
import type { AppContext } from '../../src/http/context.ts';
import { createTokenVerifier } from '../../src/http/token-verifier.ts';
import { mintToken } from '../../src/http/token.ts';

const secret = new TextEncoder().encode('a secret of the tests, long enough for HS256');
const verify = createTokenVerifier({ secrets: [secret] }, systemClock);
const everything = { sub: 'u', sessions: ['*'], scope: 'read', jti: 'j', exp: Math.floor(Date.now() / 1_000) + 60 };
const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

function sign(claims: object, header: object = { alg: 'HS256' }, key = secret, hash = 'sha256'): string {
  const text = `${part(header)}.${part(claims)}`;
  return `${text}.${createHmac(hash, key).update(text).digest('base64url')}`;
}

describe('a token', () => {
  it('that we minted is taken with all it says', async () => {
    const token = await mintToken(secret, {
      sub: 'u',
      sessions: ['a-*'],
      scope: ['read', 'create'],
      ttlSeconds: 60,
      owner: 'o',
    });
    const credential = await verify(token);
    expect(credential).toMatchObject({
      isInternal: false,
      sessions: ['a-*'],
      scope: new Set(['read', 'create']),
      owner: 'o',
    });
    const { exp = 0, iat = 0 } = decodeJwt(token);
    expect(exp - iat).toBe(60);
    expect(credential.expiresAtMs).toBe(exp * 1_000 + limits.tokenToleranceMs);
  });

  it('that another library minted is taken', async () => {
    await expect(verify(bearer(`bearer  ${sign(everything)} `))).resolves.toMatchObject({ sessions: ['*'] });
  });

  it.each(Object.keys(everything))('without %s is refused', async (claim) => {
    const token = sign(Object.fromEntries(Object.entries(everything).filter(([name]) => name !== claim)));
    await expect(verify(token)).rejects.toMatchObject({ code: 'unauthorized' });
  });

  it.each([
    ['no algorithm', `${part({ alg: 'none' })}.${part(everything)}.`],
    ['another algorithm', sign(everything, { alg: 'HS512' }, secret, 'sha512')],
    [
      'another key',
      sign(everything, { alg: 'HS256' }, new TextEncoder().encode('another secret of the tests, also long enough')),
    ],
    ['a critical header nobody knows', sign(everything, { alg: 'HS256', crit: ['x'], x: 1 })],
    ['a session pattern with a star inside', sign({ ...everything, sessions: ['a*b'] })],
    ['sessions as a text', sign({ ...everything, sessions: '*' })],
    ['an expiry as a text', sign({ ...everything, exp: '9999999999' })],
    ['a start in the future', sign({ ...everything, nbf: everything.exp })],
    ['nothing', ''],
    ['two dots', '..'],
    ['more than a header may hold', sign({ ...everything, more: 'm'.repeat(accessLimits.tokenLength) })],
    ['a beginning more than 5 s ahead', sign({ ...everything, nbf: everything.exp - 50 })],
    ['an issue more than 5 s ahead', sign({ ...everything, iat: everything.exp - 50 })],
    ['a life that outlasts what could revoke it', sign({ ...everything, exp: everything.exp + 366 * 86_400 })],
  ])('with %s is refused', async (_, token) => {
    await expect(verify(token)).rejects.toMatchObject({ code: 'unauthorized' });
  });

  it.each([undefined, '', 'Basic dTpw', 'Bearer', sign(everything), `Bearer ${sign(everything)} x`])(
    'is not found in the header %s',
    (header) => {
      expect(() => bearer(header)).toThrow(expect.objectContaining({ code: 'unauthorized' }));
    },
  );

  it('is over at its expiry, with a little tolerance that its end in the stream has too', async () => {
    let wall = everything.exp * 1_000;
    const clock: Clock = { ...systemClock, wall: () => wall };
    const at = createTokenVerifier({ secrets: [secret] }, clock);
    const { expiresAtMs = 0 } = await at(sign(everything));
    wall = expiresAtMs - 1_000;
    await expect(at(sign(everything))).resolves.toBeDefined();
    wall = expiresAtMs;
    await expect(at(sign(everything))).rejects.toMatchObject({ code: 'unauthorized' });
  });
});

const asking = (authorization: string | undefined): AppContext =>
  ({ env: { incoming: { headers: { authorization } } } }) as unknown as AppContext;

describe('the internal key', () => {
  it('opens every session and scope', async () => {
    const credential = await keyAuthentication('k')(asking('Bearer k'));
    expect(reaches(credential, 'any')).toBe(true);
    expect(credential.isInternal).toBe(true);
    for (const scope of ['read', 'send', 'write', 'create'] as const) requireScope(credential, scope);
  });

  it.each(['Bearer x', 'Bearer kk', 'Bearer K', 'k', undefined])('is not %s', async (header) => {
    await expect(keyAuthentication('k')(asking(header))).rejects.toMatchObject({ code: 'unauthorized' });
  });
});

describe('the internal key that was presented before', () => {
  it.each(['Bearer x', 'Bearer K', 'Basic  k', 'Bearer ', 'Bearer kk', '', undefined])(
    'opens again, and is still not %s',
    async (header) => {
      const authenticate = keyAuthentication('k');
      for (let count = 0; count < 2; count += 1) {
        expect((await authenticate(asking('Bearer k'))).isInternal).toBe(true);
        await expect(authenticate(asking(header))).rejects.toMatchObject({ code: 'unauthorized' });
      }
    },
  );
});

describe('reach', () => {
  const token = async (sessions: string[], scope = 'read') =>
    verify(
      await new SignJWT({ sessions, scope })
        .setProtectedHeader({ alg: 'HS256' })
        .setSubject('u')
        .setJti(randomUUID())
        .setExpirationTime('1m')
        .sign(secret),
    );

  it.each([
    [['a'], 'a', true],
    [['a'], 'ab', false],
    [['a'], 'A', false],
    [['a-*'], 'a-', true],
    [['a-*'], 'a-b', true],
    [['a-*'], 'a', false],
    [['*'], 'anything', true],
    [['x', 'y'], 'y', true],
    [[], 'a', false],
  ])('of %j to %s is %s', async (sessions, session, expected) => {
    expect(reaches(await token(sessions), session)).toBe(expected);
  });

  it('is the same as a filter for lists', async () => {
    expect(filterOf(await token(['a', '*', 'b-*']))).toEqual({ kind: 'all' });
    expect(filterOf(await token(['a', 'b-*', 'c']))).toEqual({
      kind: 'some',
      sessions: ['a', 'c'],
      prefixes: ['b-'],
      owner: undefined,
    });
    expect(filterOf({ ...(await token([])), owner: 'she' })).toEqual({
      kind: 'some',
      sessions: [],
      prefixes: [],
      owner: 'she',
    });
  });

  it('needs the scope as a whole word', async () => {
    const credential = await token(['*'], 'reader write');
    expect(() => requireScope(credential, 'write')).not.toThrow();
    expect(() => requireScope(credential, 'read')).toThrow(expect.objectContaining({ code: 'forbidden' }));
  });
});
