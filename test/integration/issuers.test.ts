/** A gateway whose readers' tokens an issuer signs, and one whose secret was replaced, as their settings say. */
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import type { ServerConfig } from '../../src/config.ts';
import { call } from '../support/gateway-calls.ts';
import { startInProcessGateway } from '../support/in-process-gateway.ts';
import type { InProcessGateway } from '../support/in-process-gateway.ts';
import { startIssuer } from '../support/issuer.ts';
import type { Issuer } from '../support/issuer.ts';
import { newSession } from '../support/session-calls.ts';
import { readStream } from '../support/sse-reader.ts';
import { mintTestToken } from '../support/token.ts';

const OLD_SECRET = 'an older secret of the tests, also long enough';
const claims = { iss: 'https://issuer.test/', aud: 'ledgerline' };
let issuer: Issuer;
beforeEach(async () => {
  issuer = await startIssuer();
  onTestFinished(() => issuer.stop());
  await issuer.addKey('k1', 'RS256');
});

async function start(config: Partial<ServerConfig>): Promise<InProcessGateway> {
  const gateway = await startInProcessGateway({ config });
  onTestFinished(() => gateway.stop());
  return gateway;
}

async function statusOf(gateway: InProcessGateway, token: string, path: string, method = 'GET'): Promise<number> {
  const answer = await fetch(gateway.publicUrl + path, { method, headers: { authorization: `Bearer ${token}` } });
  await answer.body?.cancel();
  return answer.status;
}

it('tokens of the issuer alone are taken where there is no secret, and open streams by ticket, too', async () => {
  const gateway = await start({
    tokenSecret: undefined,
    jwksUrl: issuer.url,
    tokenIssuer: claims.iss,
    tokenAudience: claims.aud,
  });
  const session = await newSession(gateway, 2);
  const token = await issuer.token({ claims });
  expect(await statusOf(gateway, token, `/sessions/${session}`)).toBe(200);
  const [, payload] = token.split('.');
  for (const refused of [
    await issuer.token({ claims: { ...claims, aud: 'another' } }),
    await issuer.token({ claims: { ...claims, iss: 'https://other.test/' } }),
    // signed by nobody, by the secret that there was, and by no secret at all
    `${Buffer.from('{"alg":"none"}').toString('base64url')}.${payload}.`,
    await gateway.token(),
    await mintTestToken('\0'),
  ]) {
    expect(await statusOf(gateway, refused, `/sessions/${session}`)).toBe(401);
  }

  const asked = await fetch(`${gateway.publicUrl}/sessions/${session}/tickets`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
  });
  const { ticket } = (await asked.json()) as { ticket: string };
  const reader = await readStream(`${gateway.publicUrl}/sessions/${session}/stream?ticket=${ticket}`, {});
  await reader.events(2);
  await call(gateway, 'POST', '/internal/revocations', JSON.stringify({ jti: 'j' }));
  await reader.frame('denied');
  await reader.ended();
});

it('a browser outlasts an issuer that is away: 200, and when to come back; others are told 503', async () => {
  issuer.state = 'failing';
  const gateway = await start({ tokenSecret: undefined, jwksUrl: issuer.url });
  const session = await newSession(gateway, 1);
  const headers = { authorization: `Bearer ${await issuer.token()}` };
  const url = `${gateway.publicUrl}/sessions/${session}/stream`;
  const browser = await fetch(url, { headers });
  expect([browser.status, await browser.text()]).toEqual([200, expect.stringMatching(/^retry: \d{4}\n\n$/)]);
  const other = await fetch(url, { headers: { ...headers, prefer: 'handling=strict' } });
  expect(other.status).toBe(503);
  await other.body?.cancel();
});

it('a secret that was replaced verifies beside the new one, for tokens and for tickets', async () => {
  const gateway = await start({ previousTokenSecret: OLD_SECRET });
  const session = await newSession(gateway, 1);
  for (const token of [await gateway.token(), await mintTestToken(OLD_SECRET)]) {
    expect(await statusOf(gateway, token, `/sessions/${session}`)).toBe(200);
    expect(await statusOf(gateway, token, `/sessions/${session}/tickets`, 'POST')).toBe(201);
  }
  expect(
    await statusOf(gateway, await mintTestToken('another one, which nobody has ever set'), `/sessions/${session}`),
  ).toBe(401);
});
