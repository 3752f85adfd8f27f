/** Who asks too much is told so, a browser in its own way, and nobody beside him notices. */
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { generousRates } from '../support/access.ts';
import { append, call, metric } from '../support/gateway-calls.ts';
import { startInProcessGateway } from '../support/in-process-gateway.ts';
import type { InProcessGateway } from '../support/in-process-gateway.ts';
import { freshDatabase } from '../support/services.ts';
import { newSession } from '../support/session-calls.ts';
import { readStream } from '../support/sse-reader.ts';
import { eventually } from '../support/waits.ts';

let gateway: InProcessGateway;
beforeEach(async () => {
  const database = await freshDatabase();
  const rates = {
    ...generousRates,
    sessionEvents: 2,
    sessionBytes: 50_000,
    tokenWrites: 2,
    sessionStreams: 2,
    tokenStreams: 1,
  };
  gateway = await startInProcessGateway({ config: { databaseUrl: database.url, rates } });
  onTestFinished(async () => {
    await gateway.stop();
    await database.drop();
  });
});

const strict = { prefer: 'handling=strict' };
const streamOf = (session: string): string => `${gateway.publicUrl}/sessions/${session}/stream`;
const limited = (limit: string, max: number) => ({
  type: 'urn:ledgerline:problem:rate_limited',
  limit,
  max,
  retryAfter: expect.any(Number),
});

it('a session that is appended to too fast waits, with nothing stored, and another does not', async () => {
  const [hot, other] = [await newSession(gateway), await newSession(gateway)];
  expect((await append(gateway, hot, ...Array<string>(100).fill('1'))).status).toBe(201);
  const refused = await append(gateway, hot, '2');
  expect([refused.status, JSON.parse(refused.text)]).toEqual([
    429,
    expect.objectContaining(limited('sessionEvents', 2)),
  ]);
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(10);
  expect((await append(gateway, other, '1')).status).toBe(201);
  expect(JSON.parse((await call(gateway, 'GET', `/sessions/${hot}`)).text)).toMatchObject({ head: 100 });
  expect(await metric(gateway, 'ledgerline_rate_limited_total', 'sessionEvents')).toBe(1);
});

it('a session that is sent too many bytes waits', async () => {
  const session = await newSession(gateway);
  expect((await append(gateway, session, JSON.stringify('x'.repeat(500_000)))).status).toBe(201);
  const refused = await append(gateway, session, '2');
  expect([refused.status, JSON.parse(refused.text)]).toEqual([
    429,
    expect.objectContaining(limited('sessionBytes', 50_000)),
  ]);
});

it('a token that writes too often waits, and another of the same person does not', async () => {
  const session = await newSession(gateway);
  const [first, second] = [await gateway.token(), await gateway.token()];
  const ask = async (token: string, method = 'POST'): Promise<number> => {
    const headers = { authorization: `Bearer ${token}` };
    const path = method === 'GET' ? '' : '/tickets';
    const answer = await fetch(`${gateway.publicUrl}/sessions/${session}${path}`, { method, headers });
    await answer.body?.cancel();
    return answer.status;
  };
  await eventually('it has written too often', async () => (await ask(first)) === 429);
  expect([await ask(second), await ask(first, 'GET')]).toEqual([201, 200]);
});

it('a stream too many is told when to come back, and opens when another has gone', async () => {
  const session = await newSession(gateway);
  const authorization = `Bearer ${await gateway.token()}`;
  const one = await readStream(streamOf(session), { authorization });
  await one.frame('connected');
  const refused = await fetch(streamOf(session), { headers: { authorization, ...strict } });
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5']);
  expect(await refused.json()).toMatchObject(limited('tokenStreams', 1));
  // any status but 200 would be a browser's last
  const browser = await fetch(streamOf(session), { headers: { authorization } });
  expect([browser.status, browser.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
  expect(await browser.text()).toMatch(/^retry: ([5-9]|10)\d{3}\n\n$/);

  const second = await readStream(streamOf(session), { authorization: `Bearer ${await gateway.token()}` });
  await second.frame('connected');
  const third = await fetch(streamOf(session), {
    headers: { authorization: `Bearer ${await gateway.token()}`, ...strict },
  });
  expect(await third.json()).toMatchObject(limited('sessionStreams', 2));
  const elsewhere = await readStream(streamOf(await newSession(gateway)), {
    authorization: `Bearer ${await gateway.token()}`,
  });
  await elsewhere.frame('connected');

  await one.close();
  const again = await eventually('there is room again', async () => {
    const reader = await readStream(streamOf(session), { authorization, ...strict });
    return reader.status === 200 && reader;
  });
  await again.frame('connected');
  for (const reader of [second, elsewhere, again]) await reader.close();
});
