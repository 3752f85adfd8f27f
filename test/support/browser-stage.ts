/** What the tests of a browser's own EventSource stand on: a Chromium, a page on its own origin, a gateway that allows it. */
import { randomUUID } from 'node:crypto';
import { expect, onTestFinished } from 'vitest';
import { startAuthorizingProxy } from './authorizing-proxy.ts';
import type { AuthorizingProxy } from './authorizing-proxy.ts';
import { launchBrowser } from './browser.ts';
import { openTab, startSite } from './follower-page.ts';
import type { Tab } from './follower-page.ts';
import { startGateway } from './gateway.ts';
import type { RunningGateway } from './gateway.ts';
import { freshDatabase } from './services.ts';
import { eventually } from './waits.ts';
import { range } from './world.ts';

/** A browser's own waits between two tries come on top of everybody else's. */
const PATIENCE_MS = 60_000;

export interface Stage {
  readonly databaseUrl: string;
  /** For the tests that leave it as it is. */
  readonly gateway: RunningGateway;
  /** One to hurt; it ends with the calling test. */
  ownGateway(
    databaseUrl: string,
    options?: { natsUrl?: string; environment?: Record<string, string> },
  ): Promise<RunningGateway>;
  /** In front of a gateway, with the token of a user that no other test has. */
  proxyTo(gateway: RunningGateway): Promise<AuthorizingProxy>;
  newTab(origin?: string): Promise<Tab>;
  stop(): Promise<void>;
}

export async function setStage(): Promise<Stage> {
  const browser = await launchBrowser();
  const site = await startSite();
  const database = await freshDatabase();
  const usual = {
    LEDGERLINE_ALLOWED_ORIGINS: site.origin,
    LEDGERLINE_GOAWAY_WINDOW_MS: '500',
    // There is no TLS here.
    LEDGERLINE_COOKIE_SECURE: 'false',
  };
  const gateway = await startGateway({ databaseUrl: database.url, environment: usual });
  return {
    databaseUrl: database.url,
    gateway,
    async ownGateway(databaseUrl, { environment, ...options } = {}) {
      const own = await startGateway({ databaseUrl, ...options, environment: { ...usual, ...environment } });
      onTestFinished(() => own.kill());
      return own;
    },
    async proxyTo(target) {
      const proxy = await startAuthorizingProxy(target.publicUrl, await target.mint({ subject: randomUUID() }));
      onTestFinished(() => proxy.stop());
      return proxy;
    },
    async newTab(origin = site.origin) {
      const tab = await openTab(browser, origin);
      onTestFinished(() => tab.close());
      return tab;
    },
    async stop() {
      await browser.close();
      await site.stop();
      await gateway.kill();
      await database.drop();
    },
  };
}

export const streamOf = (proxy: AuthorizingProxy, session: string): string => `${proxy.url}/sessions/${session}/stream`;

/** Waits for the last of them, and then there are all of them, once, in order. */
export async function expectAll(tab: Tab, last: number): Promise<void> {
  const isThere = async (): Promise<boolean> => (await tab.sequences()).some((sequence) => sequence >= last);
  await eventually(`event ${last} arrives`, isThere, PATIENCE_MS);
  expect(await tab.sequences()).toEqual(range(1, last));
}

/** Waits until the newest frame with a name has this one. */
export const hears = (tab: Tab, name: string): Promise<unknown> =>
  eventually(`the browser hears ${name}`, async () => (await tab.named()).at(-1)?.name === name, PATIENCE_MS);

/** Waits until the EventSource has ended for good. */
export const gaveUp = (tab: Tab): Promise<unknown> =>
  eventually('the EventSource is closed', async () => (await tab.state()) === 'closed', PATIENCE_MS);
