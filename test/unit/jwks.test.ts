/** Tokens of an issuer whose keys are published: which are taken, which forged, and what holds while it is away. */
import { createHmac } from 'node:crypto';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { accessLimits } from '../../src/base/access-limits.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { createKeySet } from '../../src/http/key-set.ts';
import { createTokenVerifier } from '../../src/http/token-verifier.ts';
import type { TokenTerms, VerifyToken } from '../../src/http/token-verifier.ts';
import { startIssuer } from '../support/issuer.ts';
import type { Issuer } from '../support/issuer.ts';
import { manualClock } from '../support/manual-clock.ts';
import type { ManualClock } from '../support/manual-clock.ts';
import { startStubGateway } from '../support/stub-gateway.ts';
import { mintTestToken } from '../support/token.ts';
import { eventually } from '../support/waits.ts';

const SECRET = 'a secret of the tests, long enough for HS256';
let issuer: Issuer;
let clock: ManualClock;
beforeEach(async () => {
  issuer = await startIssuer();
  onTestFinished(() => issuer.stop());
  await issuer.addKey('k1', 'ES256');
  clock = manualClock();
});

/** Knows the keys that are published now. */
async function verifier(terms: Partial<TokenTerms> = {}): Promise<VerifyToken> {
  const keySet = createKeySet({ url: issuer.url, clock, log: silentLog });
  await keySet.start();
  onTestFinished(() => keySet.stop());
  return createTokenVerifier({ secrets: [], findKey: keySet.findKey, ...terms }, systemClock);
}

const unauthorized = { code: 'unauthorized' };
const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const claimsOf = (token: string): string => token.split('.')[1] ?? '';

describe('a token of an issuer', () => {
  it.each(['RS256', 'PS384', 'ES256', 'ES512', 'EdDSA'])('that is signed by %s is taken', async (alg) => {
    await issuer.addKey('other', alg);
    const verify = await verifier();
    expect(await verify(await issuer.token({ kid: 'other' }))).toMatchObject({
      subject: 'maya',
      sessions: ['*'],
      identity: { jti: 'j', sub: 'maya' },
    });
  });

  it('is taken beside those of the secret', async () => {
    const verify = await verifier({ secrets: [new TextEncoder().encode(SECRET)] });
    expect(await verify(await issuer.token())).toMatchObject({ subject: 'maya' });
    expect(await verify(await mintTestToken(SECRET))).toMatchObject({ subject: 'tester' });
  });

  it('that is HS256, with the public key for its secret, is refused', async () => {
    for (const terms of [{}, { secrets: [new TextEncoder().encode(SECRET)] }]) {
      const verify = await verifier(terms);
      const pem = await issuer.publicKey('k1');
      const claims = claimsOf(await issuer.token());
      for (const key of [pem, pem.trim(), Buffer.from(pem.replace(/-----.*?-----|\n/g, ''), 'base64')]) {
        const text = `${part({ alg: 'HS256', kid: 'k1' })}.${claims}`;
        const forged = `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`;
        await expect(verify(forged)).rejects.toMatchObject(unauthorized);
      }
    }
  });

  it.each(['none', 'None', 'HS512', 'dir', '', undefined])('whose algorithm is %s is refused', async (alg) => {
    const verify = await verifier();
    const token = await issuer.token();
    const header = part({ alg, kid: 'k1' });
    for (const signature of ['', token.split('.')[2]]) {
      await expect(verify(`${header}.${claimsOf(token)}.${signature}`)).rejects.toMatchObject(unauthorized);
    }
  });

  it('that brings its own key is refused', async () => {
    const verify = await verifier();
    await issuer.addKey('forger', 'ES256', false);
    const [, claims, signature] = (await issuer.token({ kid: 'forger' })).split('.');
    for (const header of [
      { alg: 'ES256', kid: 'k1', jku: issuer.url },
      { alg: 'ES256', kid: 'k1', jwk: { kty: 'EC' } },
    ]) {
      await expect(verify(`${part(header)}.${claims}.${signature}`)).rejects.toMatchObject(unauthorized);
    }
  });

  it('must be from whom and for whom the server says, by secret or by key', async () => {
    const secrets = [new TextEncoder().encode(SECRET)];
    const verify = await verifier({ secrets, issuer: 'https://issuer.test/', audience: 'ledgerline' });
    const good = { iss: 'https://issuer.test/', aud: ['other', 'ledgerline'] };
    await verify(await issuer.token({ claims: good }));
    for (const wrong of [
      {},
      { ...good, iss: 'https://issuer.test' },
      { ...good, iss: undefined },
      { ...good, aud: 'ledgerline2' },
      { ...good, aud: undefined },
    ]) {
      await expect(verify(await issuer.token({ claims: wrong }))).rejects.toMatchObject(unauthorized);
    }
    await expect(verify(await mintTestToken(SECRET))).rejects.toMatchObject(unauthorized);
  });

  it.each([
    ['over for more than 5 s', { exp: -6 }],
    ['that begins in more than 5 s', { nbf: 7 }],
    ['that was issued more than 5 s ahead', { iat: 7 }],
  ])('%s is refused', async (_, offsets) => {
    const verify = await verifier();
    const now = Math.floor(Date.now() / 1_000);
    const claims = Object.fromEntries(Object.entries(offsets).map(([name, offset]) => [name, now + offset]));
    await expect(verify(await issuer.token({ claims }))).rejects.toMatchObject(unauthorized);
  });

  it('within 5 s of the server’s clock is taken', async () => {
    const verify = await verifier();
    const now = Math.floor(Date.now() / 1_000);
    for (const claims of [{ exp: now - 3 }, { nbf: now + 3, iat: now + 3 }]) {
      expect(await verify(await issuer.token({ claims }))).toMatchObject({ subject: 'maya' });
    }
  });

  it('that is huge is refused before anything of it is read', async () => {
    const verify = await verifier();
    const token = await issuer.token({ claims: { more: 'm'.repeat(accessLimits.tokenLength) } });
    await expect(verify(token)).rejects.toMatchObject(unauthorized);
  });
});

describe('an issuer that is away', () => {
  it.each(['failing', 'silent', 'garbled'] as const)('(%s) leaves the keys that are known in force', async (state) => {
    const verify = await verifier();
    issuer.state = state;
    await clock.advance(accessLimits.jwksRefreshMs);
    await eventually('it was asked again', () => issuer.asked > 1);
    await verify(await issuer.token());
  });

  it.each(['failing', 'silent', 'garbled'] as const)(
    '(%s) makes an unknown key unavailable, and not wrong',
    async (state) => {
      issuer.state = state;
      const verify = await verifier();
      await expect(verify(await issuer.token())).rejects.toMatchObject({ code: 'unavailable' });
      const before = issuer.asked;
      for (let index = 0; index < 20; index += 1) {
        await expect(verify(await issuer.token())).rejects.toMatchObject({ code: 'unavailable' });
      }
      // it is left alone for a moment, however many ask
      expect(issuer.asked - before).toBeLessThanOrEqual(1);
      issuer.state = 'there';
      await clock.advance(accessLimits.jwksRetryMs);
      await eventually('its keys are known', () => verify(token));
    },
  );
  let token: string;
  beforeEach(async () => {
    token = await issuer.token();
  });

  it('is answered 503 where its key is unknown, and never 401', async () => {
    const keySet = createKeySet({ url: 'http://127.0.0.1:1/jwks.json', clock, log: silentLog });
    const gateway = await startStubGateway({ access: { findKey: keySet.findKey } });
    onTestFinished(() => gateway.stop());
    const authorization = `Bearer ${token}`;
    const answer = await fetch(`${gateway.publicUrl}/sessions/s`, { headers: { authorization } });
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await answer.json()).toMatchObject({ type: 'urn:ledgerline:problem:unavailable' });
  });
});

describe('the keys of an issuer', () => {
  it('that were added are found by the first token of theirs, and those never published are not', async () => {
    const verify = await verifier();
    await issuer.addKey('k2', 'RS256');
    await issuer.addKey('hidden', 'ES256', false);
    // what was read a moment ago is not read again
    await expect(verify(await issuer.token({ kid: 'k2' }))).rejects.toMatchObject(unauthorized);
    await clock.advance(accessLimits.jwksRefreshMs);
    await eventually('the new key is known', async () => verify(await issuer.token({ kid: 'k2' })));
    await expect(verify(await issuer.token({ kid: 'hidden' }))).rejects.toMatchObject(unauthorized);
  });

  it('that were withdrawn hold no longer than until they are read anew', async () => {
    const verify = await verifier();
    await issuer.addKey('k2', 'ES256');
    issuer.withdrawKey('k1');
    await verify(await issuer.token());
    await clock.advance(accessLimits.jwksRefreshMs);
    await eventually('the old key is forgotten', async () => {
      await expect(verify(await issuer.token())).rejects.toMatchObject(unauthorized);
      return true;
    });
  });
});

it('a secret that was replaced still verifies what it signed, as long as it is known', async () => {
  const [older, newer] = [SECRET, `${SECRET}, and newer`].map((text) => new TextEncoder().encode(text));
  if (older === undefined || newer === undefined) throw new Error('there are two');
  const old = await mintTestToken(SECRET);
  await createTokenVerifier({ secrets: [newer, older] }, systemClock)(old);
  await expect(createTokenVerifier({ secrets: [newer] }, systemClock)(old)).rejects.toMatchObject(unauthorized);
});
