/** What the tests of the page stand on: a Chromium, a gateway that serves the page, and a wire between them to cut. */
import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { launchBrowser } from './browser.ts';
import { endAll, makeWorkingFolder, startCli } from './cli.ts';
import { startGateway } from './gateway.ts';
import type { RunningGateway } from './gateway.ts';
import type { Place } from './gateway-calls.ts';
import { freshDatabase, sharedNatsUrl } from './services.ts';
import { startTcpProxy } from './tcp-proxy.ts';
import type { TcpProxy } from './tcp-proxy.ts';
import type { TokenOptions } from './token.ts';
import { eventually } from './waits.ts';

/** A browser's own waits, on a machine with other things to do, come on top of everybody else's. */
export const PATIENCE_MS = 60_000;

export interface Development extends Place {
  readonly publicUrl: string;
  readonly token: string;
}

export interface OpenOptions {
  readonly origin: string;
  readonly session: string;
  /** Undefined: the page is opened without one. */
  readonly token?: string;
  /** In which to open it: tabs of one context share what the browser keeps. */
  readonly context?: BrowserContext;
}

export interface PageStage {
  readonly databaseUrl: string;
  /** Nobody hurts this one: what is appended here is stored, and broadcast over the run's NATS. */
  readonly writer: RunningGateway;
  /** Of a reader that no other test has, who may everything. */
  mint(options?: TokenOptions): Promise<string>;
  /** A gateway to hurt on the same database and bus; ends with the calling test. */
  ownGateway(options?: {
    databaseUrl?: string;
    natsUrl?: string;
    environment?: Record<string, string>;
  }): Promise<RunningGateway>;
  /** `ledgerline dev` on a database of its own, with the lab; ends with the stage. */
  development(options?: { isPlaying?: boolean }): Promise<Development>;
  /** The only way from a browser to a gateway: page, stream and calls all take it. */
  wireTo(publicUrl: string): Promise<TcpProxy>;
  newContext(options?: BrowserContextOptions): Promise<BrowserContext>;
  openPage(options: OpenOptions): Promise<Page>;
  stop(): Promise<void>;
}

export async function setPageStage(): Promise<PageStage> {
  const browser: Browser = await launchBrowser();
  const database = await freshDatabase();
  const usual = {
    LEDGERLINE_GOAWAY_WINDOW_MS: '500',
    LEDGERLINE_LOG_LEVEL: 'warn',
    LEDGERLINE_NATS_SUBJECT_ROOT: `page-${randomUUID()}`,
  };
  const writer = await startGateway({ databaseUrl: database.url, natsUrl: sharedNatsUrl(), environment: usual });

  const endings: (() => Promise<void>)[] = [];
  const newContext = async (options: BrowserContextOptions = {}): Promise<BrowserContext> => {
    const context = await browser.newContext({ viewport: { width: 1_280, height: 800 }, ...options });
    onTestFinished(() => context.close());
    return context;
  };
  return {
    databaseUrl: database.url,
    writer,
    mint: (options) => writer.mint({ subject: `reader-${randomUUID()}`, scope: 'read send write create', ...options }),
    async ownGateway({ databaseUrl = database.url, natsUrl = sharedNatsUrl(), environment } = {}) {
      const own = await startGateway({ databaseUrl, natsUrl, environment: { ...usual, ...environment } });
      onTestFinished(() => own.kill());
      return own;
    },
    async development({ isPlaying = false } = {}) {
      const { end, ...server } = await startDevelopment(isPlaying);
      endings.push(end);
      return server;
    },
    async wireTo(publicUrl) {
      const wire = await startTcpProxy({ port: Number(new URL(publicUrl).port) });
      onTestFinished(() => wire.stop());
      return wire;
    },
    newContext,
    async openPage({ origin, session, token, context }) {
      const page = await (context ?? (await newContext())).newPage();
      onTestFinished(async ({ task }) => {
        if (task.result?.state === 'fail' && !page.isClosed()) await picture(page, `failed-${task.id}`);
      });
      await page.goto(addressOf({ origin, session, ...(token === undefined ? {} : { token }) }));
      return page;
    },
    async stop() {
      await browser.close();
      for (const end of endings) await end();
      await writer.kill();
      await database.drop();
    },
  };
}

export const originOf = (wire: TcpProxy): string => `http://127.0.0.1:${wire.port}`;

/** With the token behind `#`, which no server sees. */
export const addressOf = ({ origin, session, token }: Omit<OpenOptions, 'context'>): string =>
  `${origin}/?session=${session}${token === undefined ? '' : `#token=${token}`}`;

/** Into a folder that is not kept, for whoever wants to look. */
async function picture(page: Page, name: string): Promise<void> {
  const folder = fileURLToPath(new URL('../browser/screenshots', import.meta.url));
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: `${folder}/${name}.png` });
}

async function startDevelopment(isPlaying: boolean): Promise<Development & { end(): Promise<void> }> {
  const folder = makeWorkingFolder();
  const database = await freshDatabase();
  const words = ['dev', '--port', '0', '--internal-port', '0', '--json', ...(isPlaying ? [] : ['--no-demo'])];
  const cli = startCli(words, { folder: folder.path, environment: { DATABASE_URL: database.url } });
  const end = async (): Promise<void> => {
    await endAll();
    folder.remove();
    await database.drop();
  };
  const line = await eventually('the development server says where it is', () => /^\{.*\}$/m.exec(cli.stdout())?.[0]);
  const server = JSON.parse(line) as { public: string; internal: string; token: string; key: string };
  return { publicUrl: server.public, internalUrl: server.internal, token: server.token, key: server.key, end };
}

/** Everything that an assistant said, as it stands on the screen. */
export const textOnScreen = (page: Page): Promise<string> =>
  page.evaluate(() =>
    Array.from(document.querySelectorAll('[data-role="assistant"] [data-text]'), (text) => text.textContent).join(''),
  );

/** Waits until the screen shows exactly this. A page that begins in the middle is scrolled up, as a reader would. */
export async function shows(page: Page, text: string): Promise<void> {
  let seen = '';
  const isThere = async (): Promise<boolean> => {
    seen = await textOnScreen(page);
    if (seen !== '' && text.endsWith(seen) && seen !== text) await scrollUp(page);
    return seen === text;
  };
  await eventually(`the screen shows all ${text.length} characters`, isThere, PATIENCE_MS).catch((error: unknown) => {
    throw new Error(differenceOf(seen, text), { cause: error });
  });
}

/** Through all the older pages. */
export const scrollToBeginning = (page: Page): Promise<unknown> =>
  eventually(
    'the beginning is in sight',
    async () => {
      await scrollUp(page);
      return page.locator('[role="feed"] [data-first="1"]').isVisible();
    },
    PATIENCE_MS,
  );

const scrollUp = (page: Page): Promise<void> =>
  page.getByRole('feed').evaluate((feed) => {
    feed.scrollTop = 0;
  });

function differenceOf(seen: string, text: string): string {
  let at = 0;
  while (at < text.length && seen[at] === text[at]) at += 1;
  const around = (whole: string): string => JSON.stringify(whole.slice(Math.max(0, at - 20), at + 40));
  return `${seen.length} of ${text.length} characters; from ${at} on the screen says ${around(seen)}, not ${around(text)}`;
}
