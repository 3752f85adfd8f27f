/** The page of docs/examples follows with a browser's own EventSource, and gets over the end of what let it in. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../src/db/postgres-process.ts';
import { launchBrowser } from '../support/browser.ts';
import { startExample } from '../support/example-files.ts';
import { call } from '../support/gateway-calls.ts';
import { type InProcessGateway, startInProcessGateway } from '../support/in-process-gateway.ts';
import { appendNumbers } from '../support/session-calls.ts';
import { eventually } from '../support/waits.ts';
import { range } from '../support/world.ts';

const PASSWORD = 'a password';

let gateway: InProcessGateway;
let browser: Browser;
let port: number;
beforeAll(async () => {
  port = await freePort();
  gateway = await startInProcessGateway({
    config: { allowedOrigins: [`http://127.0.0.1:${port}`], cookies: { isSecure: false, isCrossSite: false } },
  });
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await gateway?.stop();
});

test.each([
  ['ticket', 'ledgerline_pass'],
  ['cookie', 'ledgerline_token'],
])('by a %s it shows each event once, also when it was revoked and asks for another', async (how, cookie) => {
  const hono = startExample(['node', 'docs/examples/hono.mjs'], {
    LEDGERLINE_URL: gateway.publicUrl,
    LEDGERLINE_TOKEN_SECRET: 'a secret of the tests, long enough for HS256',
    PASSWORD,
    PORT: String(port),
  });
  const [url = ''] = await eventually('it serves', () => /http:\S+/.exec(hono.stdout()));
  const context = await browser.newContext({ httpCredentials: { username: 'maya', password: PASSWORD } });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  await page.goto(`${url}/#${how}`);
  const { head } = JSON.parse((await call(gateway, 'GET', '/sessions/chat-maya')).text) as { head: number };
  const shown = async (): Promise<number[]> =>
    (await page.locator('#events li').allTextContents()).map(
      (text) => (JSON.parse(text) as { sequence: number }).sequence,
    );

  await appendNumbers(gateway, 'chat-maya', 3);
  await eventually('it follows', async () => (await shown()).includes(head + 3));
  expect((await context.cookies(gateway.publicUrl + '/sessions/chat-maya/stream')).map(({ name }) => name)).toEqual([
    cookie,
  ]);
  const { status } = await call(gateway, 'POST', '/internal/revocations', JSON.stringify({ sub: 'maya' }));
  expect(status).toBe(201);
  const isFollowed = async (): Promise<boolean> => {
    const { room } = JSON.parse((await call(gateway, 'GET', '/sessions/chat-maya')).text) as {
      room: { subscribers: number } | null;
    };
    return room !== null && room.subscribers > 0;
  };
  await eventually('what let it in is over', async () => !(await isFollowed()));
  await appendNumbers(gateway, 'chat-maya', 2);
  await eventually('it goes on', async () => (await shown()).includes(head + 5), 60_000);
  expect(await shown()).toEqual(range(1, head + 5));
});
