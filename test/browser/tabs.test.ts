/** Many tabs of one browser follow a session over one connection, whatever becomes of the tab that holds it. */
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { launchBrowser } from '../support/browser.ts';
import { followOn, openClientTab, startClientSite } from '../support/client-page.ts';
import type { ClientFollower, ClientOptions, ClientSite, Looked } from '../support/client-page.ts';
import { startGateway } from '../support/gateway.ts';
import type { RunningGateway } from '../support/gateway.ts';
import { closeSession } from '../support/gateway-calls.ts';
import { rendererOf } from '../support/renderer.ts';
import { freshDatabase } from '../support/services.ts';
import type { FreshDatabase } from '../support/services.ts';
import { appendNumbers, newSession, subscribersOf } from '../support/session-calls.ts';
import { eventually } from '../support/waits.ts';
import { range } from '../support/world.ts';

/** A browser on a machine with other things to do. */
const PATIENCE_MS = 60_000;

let browser: Browser;
let site: ClientSite;
let database: FreshDatabase;
let gateway: RunningGateway;
beforeAll(async () => {
  browser = await launchBrowser();
  site = await startClientSite();
  database = await freshDatabase();
  gateway = await startGateway({ databaseUrl: database.url, environment: { LEDGERLINE_ALLOWED_ORIGINS: site.origin } });
});
afterAll(async () => {
  await browser?.close();
  await site?.stop();
  await gateway?.kill();
  await database?.drop();
});

/** One user's browser, the session that its tabs follow, and the requests for the stream that they made together. */
interface Desk {
  readonly session: string;
  readonly streams: string[];
  newPage(): Promise<Page>;
  follow(page: Page, options?: Partial<ClientOptions>): Promise<ClientFollower>;
  /** Each in a tab of its own. */
  followers(count: number, options?: Partial<ClientOptions>): Promise<ClientFollower[]>;
}

async function desk(events: number): Promise<Desk> {
  const session = await newSession(gateway, events);
  const context: BrowserContext = await browser.newContext();
  onTestFinished(() => context.close());
  const streams: string[] = [];
  context.on('request', (request) => {
    if (request.method() === 'GET' && request.url().includes('/stream')) streams.push(request.url());
  });
  const follow = (page: Page, options: Partial<ClientOptions> = {}): Promise<ClientFollower> =>
    followOn(page, { url: gateway.publicUrl, session, token: gateway.token, ...options });
  const newPage = (): Promise<Page> => openClientTab(context, site.origin);
  return {
    session,
    streams,
    newPage,
    follow,
    async followers(count, options) {
      const pages = await Promise.all(range(1, count).map(newPage));
      return Promise.all(pages.map((page) => follow(page, options)));
    },
  };
}

/** Waits for the last of them, and then there are all of them, once, in order. */
async function expectAll(followers: readonly ClientFollower[], last: number, first = 1): Promise<void> {
  for (const follower of followers) {
    const isThere = async (): Promise<boolean> => Number((await follower.look()).cursor) >= last;
    await eventually(`event ${last} arrives`, isThere, PATIENCE_MS);
    expect((await follower.look()).sequences).toEqual(range(first, last));
  }
}

const lookAll = (followers: readonly ClientFollower[]): Promise<Looked[]> =>
  Promise.all(followers.map((follower) => follower.look()));

async function leaderOf(
  followers: readonly ClientFollower[],
): Promise<{ leader: ClientFollower; others: ClientFollower[] }> {
  return eventually('one of them leads', async () => {
    const looks = await lookAll(followers);
    const leader = followers.find((_, index) => looks[index]?.isLeading === true);
    if (leader === undefined || looks.filter(({ isLeading }) => isLeading).length > 1) return false;
    return { leader, others: followers.filter((follower) => follower !== leader) };
  });
}

const allLive = (followers: readonly ClientFollower[]): Promise<unknown> =>
  eventually(
    'all are live',
    async () => {
      const states = (await lookAll(followers)).map(({ state, isLeading }) =>
        isLeading ? `${state}, leading` : state,
      );
      if (!states.every((state) => state.startsWith('live'))) throw new Error(`they are ${states.join('; ')}`);
      return true;
    },
    PATIENCE_MS,
  );

const oneConnection = (session: string): Promise<unknown> =>
  eventually('there is one connection', async () => (await subscribersOf(gateway, session)) === 1, PATIENCE_MS);

/** Events that go on until they are told to stop, one by one. */
function flow(session: string): { stop(): Promise<number> } {
  let isOn = true;
  let count = 0;
  const flowing = (async () => {
    while (isOn) {
      await appendNumbers(gateway, session, 1);
      count += 1;
    }
  })();
  return {
    async stop() {
      isOn = false;
      await flowing;
      return count;
    },
  };
}

describe('eight tabs', () => {
  test('show everything over one connection, and their other requests are not held up [freenet-core#5213]', async () => {
    const { session, streams, followers } = await desk(1_000);
    const tabs = await followers(8);
    await expectAll(tabs, 1_000);
    for (const _ of range(1, 20)) await appendNumbers(gateway, session, 5);
    await expectAll(tabs, 1_100);
    await allLive(tabs);
    expect(await Promise.all(tabs.map((tab) => tab.historyLength()))).toEqual(tabs.map(() => 100));
    expect([streams.length, await subscribersOf(gateway, session)]).toEqual([1, 1]);
  });

  test('go on when the one that leads is closed while events flow', async () => {
    const { session, streams, followers } = await desk(100);
    const tabs = await followers(8);
    await allLive(tabs);
    const { leader, others } = await leaderOf(tabs);
    const events = flow(session);
    await eventually('events flow', async () => Number((await leader.look()).cursor) > 110, PATIENCE_MS);
    await leader.page.close();
    const { leader: next } = await leaderOf(others);
    const { cursor } = await next.look();
    await eventually('they flow again', async () => Number((await next.look()).cursor) > Number(cursor), PATIENCE_MS);
    const count = await events.stop();
    await expectAll(others, 100 + count);
    await allLive(others);
    await oneConnection(session);
    expect(streams).toHaveLength(2);
  });

  test('go on, one after the other, as each of them is closed', async () => {
    const { session, streams, followers } = await desk(10);
    let tabs = await followers(8);
    await expectAll(tabs, 10);
    for (const round of range(1, 7)) {
      const { leader, others } = await leaderOf(tabs);
      tabs = others;
      await (round % 2 === 0 ? leader.stop() : leader.page.close());
      await appendNumbers(gateway, session, 5);
      await expectAll(tabs, 10 + 5 * round);
    }
    await oneConnection(session);
    expect(streams).toHaveLength(8);
  });
});

test('two followers in one tab, and one in another, share one connection', async () => {
  const { session, streams, newPage, follow } = await desk(50);
  const page = await newPage();
  const three = [await follow(page), await follow(page), await follow(await newPage())];
  await expectAll(three, 50);
  await appendNumbers(gateway, session, 50);
  await expectAll(three, 100);
  expect([streams.length, await subscribersOf(gateway, session)]).toEqual([1, 1]);
});

test('users who are kept apart, and whoever does not share, have connections of their own', async () => {
  const { session, streams, newPage, follow } = await desk(5);
  const page = await newPage();
  const four = [
    await follow(page, { share: 'ann' }),
    await follow(page, { share: 'bob' }),
    await follow(page, { share: 'ann' }),
    await follow(page, { share: false }),
  ];
  await expectAll(four, 5);
  expect([streams.length, await subscribersOf(gateway, session)]).toEqual([3, 3]);
});

describe('a tab that leads and is frozen', () => {
  test('is robbed by another; thawed, it shows everything and holds no connection', async () => {
    const { session, streams, followers } = await desk(20);
    const tabs = await followers(4);
    await allLive(tabs);
    const { leader: frozen, others } = await leaderOf(tabs);
    const renderer = await rendererOf(browser, frozen.page);
    renderer.freeze();
    let answers = 0;
    const answering = frozen.look().then(() => (answers += 1));
    await appendNumbers(gateway, session, 10);
    await expectAll(others, 30);
    expect(answers).toBe(0);
    const { leader } = await leaderOf(others);
    await appendNumbers(gateway, session, 10);
    await expectAll(others, 40);
    const made = streams.length;
    renderer.thaw();
    await answering;
    await appendNumbers(gateway, session, 10);
    await expectAll(tabs, 50);
    await allLive(tabs);
    await oneConnection(session);
    expect([(await frozen.look()).isLeading, (await leader.look()).isLeading]).toEqual([false, true]);
    expect(streams).toHaveLength(made);
  });

  test('is not robbed when it only follows, and shows everything when it is thawed', async () => {
    const { session, streams, followers } = await desk(20);
    const tabs = await followers(3);
    await allLive(tabs);
    const { others } = await leaderOf(tabs);
    const [frozen] = others;
    const renderer = await rendererOf(browser, frozen!.page);
    renderer.freeze();
    for (const _ of range(1, 30)) await appendNumbers(gateway, session, 100);
    await expectAll(
      tabs.filter((tab) => tab !== frozen),
      3_020,
    );
    renderer.thaw();
    await expectAll(tabs, 3_020);
    expect(streams).toHaveLength(1);
  });
});

test('a tab that leaves for another page and comes back by history takes part again', async () => {
  const { session, followers, follow } = await desk(20);
  const tabs = await followers(3);
  await allLive(tabs);
  const { leader, others } = await leaderOf(tabs);
  await leader.page.goto(`${site.origin}/elsewhere`);
  await appendNumbers(gateway, session, 5);
  await expectAll(others, 25);
  await leader.page.goBack();
  // a page that holds a lock is not kept by the browser: it begins anew
  const again = await follow(leader.page);
  await appendNumbers(gateway, session, 5);
  await expectAll([...others, again], 30);
  await oneConnection(session);
});

test('the end of the session reaches every tab, with all that came before it, and nobody asks again', async () => {
  const { session, streams, followers } = await desk(20);
  const tabs = await followers(8);
  await allLive(tabs);
  await appendNumbers(gateway, session, 500);
  expect((await closeSession(gateway, session)).status).toBe(200);
  await expectAll(tabs, 520);
  await eventually('all have ended', async () => (await lookAll(tabs)).every(({ state }) => state === 'stopped'));
  for (const { end } of await lookAll(tabs)) expect(end).toEqual({ kind: 'ended', reason: 'closed' });
  expect(streams).toHaveLength(1);
  await eventually('no connection is left', async () => (await subscribersOf(gateway, session)) === 0);
});

test('to reconnect is asked of the tab that leads', async () => {
  const { session, streams, followers } = await desk(20);
  const tabs = await followers(3);
  await allLive(tabs);
  const { others } = await leaderOf(tabs);
  await others[0]?.reconnect();
  await eventually('another connection is made', () => streams.length === 2);
  await appendNumbers(gateway, session, 5);
  await expectAll(tabs, 25);
  await oneConnection(session);
});
