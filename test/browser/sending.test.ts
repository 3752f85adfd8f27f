/** Messages in a real browser: kept over a reload, sent by one tab at a time, and stored once. */
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { launchBrowser } from '../support/browser.ts';
import { startClientSite } from '../support/client-page.ts';
import type { ClientSite } from '../support/client-page.ts';
import { call } from '../support/gateway-calls.ts';
import { startInProcessGateway } from '../support/in-process-gateway.ts';
import type { InProcessGateway } from '../support/in-process-gateway.ts';
import { newSession } from '../support/session-calls.ts';
import { eventually } from '../support/waits.ts';

declare global {
  interface Window {
    openSender(options: object): void;
    outgoing(): [content: string, state: string][];
    sender: { send(content: string): Promise<unknown> };
  }
}

let browser: Browser;
let site: ClientSite;
let gateway: InProcessGateway;
let token: string;
beforeAll(async () => {
  site = await startClientSite();
  gateway = await startInProcessGateway({ config: { allowedOrigins: [site.origin] } });
  token = await gateway.token();
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await gateway?.stop();
  await site?.stop();
});

async function openTab(context: BrowserContext, session: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(site.origin);
  await openSender(page, session);
  return page;
}

async function openSender(page: Page, session: string): Promise<void> {
  await page.waitForFunction(() => typeof window.openSender === 'function');
  await page.evaluate((options) => window.openSender(options), { url: gateway.publicUrl, session, token });
}

const say = (page: Page, content: string): Promise<void> =>
  page.evaluate((text) => void window.sender.send(text), content);

const outgoing = (page: Page): Promise<[content: string, state: string][]> => page.evaluate(() => window.outgoing());

const shows = (page: Page, expected: readonly (readonly [string, string])[]): Promise<unknown> =>
  eventually('the tab shows it', async () => JSON.stringify(await outgoing(page)) === JSON.stringify(expected), 60_000);

async function stored(session: string): Promise<string[]> {
  const { text } = await call(gateway, 'GET', `/sessions/${session}/events`);
  return (JSON.parse(text) as { events: { data: { content: string } }[] }).events.map(({ data }) => data.content);
}

test('what is said offline is unsent in every tab, there again after a reload, and stored once when the network is back', async () => {
  const session = await newSession(gateway);
  const context = await browser.newContext();
  onTestFinished(() => context.close());
  const [page, other] = [await openTab(context, session), await openTab(context, session)];
  const isGatewaysUrl = (url: URL): boolean => url.origin === gateway.publicUrl;
  await context.route(isGatewaysUrl, (route) => route.abort());
  await say(page, 'one');
  await say(other, 'two');
  await say(page, 'three');
  const unsent = ['one', 'two', 'three'].map((content) => [content, 'unsent'] as const);
  await Promise.all([shows(page, unsent), shows(other, unsent)]);
  await page.reload();
  await openSender(page, session);
  await shows(page, unsent);
  await context.unroute(isGatewaysUrl);
  await Promise.all([shows(page, []), shows(other, [])]);
  expect(await stored(session)).toEqual(['one', 'two', 'three']);
  expect(await page.evaluate(() => localStorage.length)).toBe(0);
});

test('two tabs that say much at the same time store each message once, each in the order of its tab', async () => {
  const session = await newSession(gateway);
  const context = await browser.newContext();
  onTestFinished(() => context.close());
  const tabs = [await openTab(context, session), await openTab(context, session)];
  const numbers = Array.from({ length: 10 }, (_, index) => index);
  const sent = tabs.map((page, tab) =>
    page.evaluate(
      async (contents) => void (await Promise.all(contents.map((content) => window.sender.send(content)))),
      numbers.map((number) => `${tab}-${number}`),
    ),
  );
  await Promise.all(sent);
  const all = await stored(session);
  expect(all).toHaveLength(20);
  for (const tab of [0, 1]) {
    expect(all.filter((content) => content.startsWith(`${tab}-`))).toEqual(numbers.map((number) => `${tab}-${number}`));
  }
});
