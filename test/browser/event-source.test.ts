/** A browser's own EventSource follows a session through kills, outages, drains and reloads, and stops when it is over. */
import { randomUUID } from 'node:crypto';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { startAuthorizingProxy } from '../support/authorizing-proxy.ts';
import type { AuthorizingProxy } from '../support/authorizing-proxy.ts';
import { launchBrowser } from '../support/browser.ts';
import { openTab, startSite } from '../support/follower-page.ts';
import type { Site, Tab } from '../support/follower-page.ts';
import { append, closeSession, createSession, deleteSession } from '../support/gateway-calls.ts';
import { startGateway } from '../support/gateway.ts';
import type { RunningGateway } from '../support/gateway.ts';
import { freshDatabase, sharedNatsUrl, startPostgres } from '../support/services.ts';
import type { FreshDatabase } from '../support/services.ts';
import { eventually } from '../support/waits.ts';
import { range } from '../support/world.ts';

let browser: Browser;
let site: Site;
let database: FreshDatabase;
/** For the tests that leave it as it is. */
let shared: RunningGateway;
const ownEnvironment = (): Record<string, string> => ({
  LEDGERLINE_ALLOWED_ORIGINS: site.origin,
  LEDGERLINE_GOAWAY_WINDOW_MS: '500',
});

beforeAll(async () => {
  browser = await launchBrowser();
  site = await startSite();
  database = await freshDatabase();
  shared = await startGateway({ databaseUrl: database.url, environment: ownEnvironment() });
});
afterAll(async () => {
  await browser?.close();
  await site?.stop();
  await shared?.kill();
  await database?.drop();
});

async function ownGateway(
  databaseUrl: string,
  options: { natsUrl?: string; environment?: Record<string, string> } = {},
): Promise<RunningGateway> {
  const gateway = await startGateway({
    databaseUrl,
    ...options,
    environment: { ...ownEnvironment(), ...options.environment },
  });
  onTestFinished(() => gateway.kill());
  return gateway;
}

async function proxyTo(gateway: RunningGateway): Promise<AuthorizingProxy> {
  // a subject of its own: a reader of an ended session is remembered by session and subject
  const proxy = await startAuthorizingProxy(gateway.publicUrl, await gateway.mint({ subject: randomUUID() }));
  onTestFinished(() => proxy.stop());
  return proxy;
}

async function newTab(origin = site.origin): Promise<Tab> {
  const tab = await openTab(browser, origin);
  onTestFinished(() => tab.close());
  return tab;
}

async function sessionOf(gateway: RunningGateway, count: number): Promise<string> {
  const session = `browser-${randomUUID()}`;
  expect((await createSession(gateway, session)).status).toBe(201);
  if (count > 0) await appendAll(gateway, session, count);
  return session;
}

async function appendAll(gateway: RunningGateway, session: string, count: number): Promise<void> {
  const { status } = await append(gateway, session, ...range(1, count).map((number) => `{"number":${number}}`));
  expect(status).toBe(201);
}

const streamOf = (proxy: AuthorizingProxy, session: string): string => `${proxy.url}/sessions/${session}/stream`;

/** Waits for the last of them, and then there are all of them, once, in order. */
async function expectAll(tab: Tab, last: number): Promise<void> {
  await eventually(
    `event ${last} arrives`,
    async () => (await tab.sequences()).some((sequence) => sequence >= last),
    60_000,
  );
  expect(await tab.sequences()).toEqual(range(1, last));
}

const nameOfLast = async (tab: Tab): Promise<string | undefined> => (await tab.named()).at(-1)?.name;

const until = (tab: Tab, name: string): Promise<unknown> =>
  eventually(`the browser hears ${name}`, async () => (await nameOfLast(tab)) === name, 60_000);

describe('an EventSource comes back by itself', () => {
  test('after its gateway was killed, with what was said meanwhile through another', async () => {
    const bus = { natsUrl: sharedNatsUrl(), environment: { LEDGERLINE_NATS_SUBJECT_ROOT: `browser-${randomUUID()}` } };
    const [watched, other] = await Promise.all([ownGateway(database.url, bus), ownGateway(database.url, bus)]);
    const session = await sessionOf(other, 20);
    const proxy = await proxyTo(watched);
    const tab = await newTab();
    await tab.follow(streamOf(proxy, session));
    await expectAll(tab, 20);
    await appendAll(other, session, 20);
    await watched.kill();
    await appendAll(other, session, 20);
    await eventually('it has tried in vain', () => proxy.passages.some(({ status }) => status === undefined));
    await watched.restart();
    await appendAll(other, session, 20);
    await expectAll(tab, 80);
    const [first, ...later] = proxy.passages;
    expect(first?.lastEventId).toBeUndefined();
    for (const { lastEventId } of later) expect(Number(lastEventId)).toBeGreaterThanOrEqual(20);
  });

  test('and stays connected while Postgres is away, and goes on', async () => {
    const postgres = await startPostgres();
    onTestFinished(() => postgres.stop());
    const gateway = await ownGateway((await freshDatabase({ on: postgres })).url);
    const session = await sessionOf(gateway, 10);
    const proxy = await proxyTo(gateway);
    const tab = await newTab();
    await tab.follow(streamOf(proxy, session));
    await expectAll(tab, 10);
    await postgres.kill();
    expect((await append(gateway, session, '"refused"')).status).toBe(503);
    await postgres.restart();
    await eventually('appends work again', async () => (await append(gateway, session, '"taken"')).status === 201);
    await appendAll(gateway, session, 9);
    await expectAll(tab, 20);
    expect(proxy.passages.map(({ status }) => status)).toEqual([200]);
  });

  test('when Postgres is away at its first visit, which any status but 200 would make its last [Yaffle#88]', async () => {
    const postgres = await startPostgres();
    onTestFinished(() => postgres.stop());
    const gateway = await ownGateway((await freshDatabase({ on: postgres })).url);
    const session = await sessionOf(gateway, 10);
    const proxy = await proxyTo(gateway);
    await postgres.kill();
    const tab = await newTab();
    await tab.follow(streamOf(proxy, session));
    await eventually('it has come back in vain', () => proxy.passages.filter(({ status }) => status === 200).length > 1);
    expect(await tab.seen()).toEqual([]);
    await postgres.restart();
    await expectAll(tab, 10);
    expect(new Set(proxy.passages.map(({ status }) => status))).toEqual(new Set([200]));
  });

  test('after its gateway drained, in the slot that it was given', async () => {
    const gateway = await ownGateway(database.url);
    const session = await sessionOf(gateway, 5);
    const proxy = await proxyTo(gateway);
    const tab = await newTab();
    await tab.follow(streamOf(proxy, session));
    await expectAll(tab, 5);
    expect(await gateway.terminate()).toBe(0);
    await until(tab, 'goaway');
    await appendAll(shared, session, 5);
    await gateway.restart();
    await until(tab, 'connected');
    await expectAll(tab, 10);
    expect(proxy.passages.at(-1)).toMatchObject({ status: 200, lastEventId: '5' });
  });

  test('after the network cut it again and again', async () => {
    const session = await sessionOf(shared, 0);
    const proxy = await proxyTo(shared);
    const tab = await newTab();
    await tab.follow(streamOf(proxy, session));
    for (const round of range(1, 4)) {
      await eventually('it is open', async () => (await tab.opened()) === round, 60_000);
      await appendAll(shared, session, 5);
      proxy.cut();
      await appendAll(shared, session, 5);
    }
    await expectAll(tab, 40);
  });
});

test('a reload goes on where the page was, and a later cut where the stream was', async () => {
  const session = await sessionOf(shared, 10);
  const proxy = await proxyTo(shared);
  const tab = await newTab();
  await tab.follow(streamOf(proxy, session));
  await expectAll(tab, 10);
  await tab.reload();
  await appendAll(shared, session, 10);
  await tab.follow(`${streamOf(proxy, session)}?after=10`);
  await expectAll(tab, 20);
  // the browser repeats the old address, and the header wins
  proxy.cut();
  await appendAll(shared, session, 10);
  await expectAll(tab, 30);
  expect(proxy.passages.at(-1)).toMatchObject({ path: `/sessions/${session}/stream?after=10`, lastEventId: '20' });
});

describe('the end of a session', () => {
  test('is told, and a 204 then stops the browser for good [jersey#6119]', async () => {
    const session = await sessionOf(shared, 5);
    const proxy = await proxyTo(shared);
    const tab = await newTab();
    await tab.follow(streamOf(proxy, session));
    await until(tab, 'connected');
    await appendAll(shared, session, 5);
    expect((await closeSession(shared, session)).status).toBe(200);
    await eventually('it stops', async () => (await tab.state()) === 'closed', 60_000);
    expect(await tab.sequences()).toEqual(range(1, 10));
    expect((await tab.named()).at(-1)).toMatchObject({ name: 'end', id: '10' });
    expect(proxy.passages.map(({ status, lastEventId }) => [status, lastEventId])).toEqual([
      [200, undefined],
      [204, '10'],
    ]);
  });

  test('by deletion is told, and nothing of the session again', async () => {
    const session = await sessionOf(shared, 5);
    const proxy = await proxyTo(shared);
    const tab = await newTab();
    await tab.follow(streamOf(proxy, session));
    await expectAll(tab, 5);
    expect((await deleteSession(shared, session)).status).toBe(200);
    await eventually('it stops', async () => (await tab.state()) === 'closed', 60_000);
    expect((await tab.named()).at(-1)).toMatchObject({ name: 'end' });
    expect(await tab.sequences()).toEqual(range(1, 5));
    expect(proxy.passages.map(({ status }) => status)).toEqual([200, 204]);
  });

  test('reaches a reload of the page too, with all of the session before it', async () => {
    const session = await sessionOf(shared, 5);
    await closeSession(shared, session);
    const proxy = await proxyTo(shared);
    for (const count of [5, 10]) {
      const tab = await newTab();
      await tab.follow(streamOf(proxy, session));
      await until(tab, 'end');
      expect(await tab.sequences()).toEqual(range(1, 5));
      await eventually('it was told again', () => proxy.passages.length === (count / 5) * 2, 60_000);
    }
  });
});

describe('what a browser reads is what was written', () => {
  test('an event of the largest size', async () => {
    const session = await sessionOf(shared, 0);
    const proxy = await proxyTo(shared);
    const tab = await newTab();
    await tab.follow(streamOf(proxy, session));
    await until(tab, 'connected');
    const text = 'é'.repeat(limits.payloadBytes / 2 - 1);
    expect((await append(shared, session, JSON.stringify(text))).status).toBe(201);
    await expectAll(tab, 1);
    const [event] = await tab.seen();
    expect((JSON.parse(String(event?.data)) as { data: string }).data === text).toBe(true);
  });

  test('text with every kind of line break, emoji, half an emoji, NUL and a byte order mark', async () => {
    const texts = [
      'a\u2028b\u2029c\u0085d',
      'a\r\nb\rc\nd\n\ne',
      '👩🏽‍🚀 🇳🇱 ☕',
      '\ud83d',
      '\ude80',
      'a\u0000b',
      '\ufeffa',
      'data: x\n\nid: 7\nevent: end',
    ];
    const session = await sessionOf(shared, 0);
    await append(shared, session, ...texts.map((text) => JSON.stringify(text)));
    const proxy = await proxyTo(shared);
    const tab = await newTab();
    await tab.follow(streamOf(proxy, session));
    await expectAll(tab, texts.length);
    // Live too; and the raw characters, as a producer that does not escape sends them.
    await append(shared, session, ...texts.slice(0, 1).map((text) => `"${text}"`));
    await expectAll(tab, texts.length + 1);
    const read = (await tab.seen()).map(({ data }) => (JSON.parse(data) as { data: string }).data);
    expect(read).toEqual([...texts, texts[0]]);
    expect((await tab.named()).map(({ name }) => name)).toEqual(['hello', 'connected']);
  });
});

test('a page of an origin that is not on the list reads nothing', async () => {
  const stranger = await startSite();
  onTestFinished(() => stranger.stop());
  const session = await sessionOf(shared, 5);
  const proxy = await proxyTo(shared);
  const tab = await newTab(stranger.origin);
  await tab.follow(streamOf(proxy, session));
  await eventually('it gives up', async () => (await tab.state()) === 'closed', 60_000);
  expect(proxy.passages).toMatchObject([{ status: 200 }]);
  expect([await tab.opened(), await tab.seen(), await tab.named()]).toEqual([0, [], []]);
});
