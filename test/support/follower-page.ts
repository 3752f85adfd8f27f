/** A web page with a native EventSource, on an origin of its own, that writes down everything it is told. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';

/** What is recorded lives in the tab's storage, so that a reload goes on with it. */
const html = `<!doctype html>
<meta charset="utf-8">
<title>A follower</title>
<script>
  const seen = JSON.parse(sessionStorage.getItem('seen') ?? '[]');
  const named = [];
  let source;
  let opened = 0;
  function follow(url) {
    source = new EventSource(url, { withCredentials: true });
    source.onopen = () => { opened += 1; };
    source.onmessage = ({ lastEventId, data }) => {
      seen.push({ sequence: Number(lastEventId), data });
      if (data.length < 1000) sessionStorage.setItem('seen', JSON.stringify(seen));
    };
    for (const name of ['hello', 'connected', 'reset', 'end', 'goaway', 'denied']) {
      source.addEventListener(name, ({ lastEventId, data }) => named.push({ name, id: lastEventId, data }));
    }
  }
</script>
`;

export interface Site {
  readonly origin: string;
  stop(): Promise<void>;
}

export async function startSite(): Promise<Site> {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' }).end(html);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

export interface Seen {
  readonly sequence: number;
  readonly data: string;
}

export interface Named {
  readonly name: string;
  readonly id: string;
  readonly data: string;
}

/** A tab with the page in it. */
export interface Tab {
  follow(url: string): Promise<void>;
  /** Every event so far, those of before a reload included. */
  seen(): Promise<readonly Seen[]>;
  sequences(): Promise<readonly number[]>;
  /** Frames with a name, since the page was loaded. */
  named(): Promise<readonly Named[]>;
  /** How often the EventSource opened, since the page was loaded. */
  opened(): Promise<number>;
  state(): Promise<'connecting' | 'open' | 'closed'>;
  /** As the page's own back end does: out of reach of scripts, and for this host on every port. */
  setCookie(name: string, value: string): Promise<void>;
  /** What the browser keeps, also what no script can see. */
  cookies(): Promise<readonly { readonly name: string; readonly path: string; readonly httpOnly: boolean }[]>;
  reload(): Promise<void>;
  close(): Promise<void>;
}

export async function openTab(browser: Browser, origin: string): Promise<Tab> {
  const page = await browser.newPage();
  await page.goto(origin);
  const evaluate = <T>(expression: string): Promise<T> => page.evaluate<T>(expression);
  return {
    follow: (url) => evaluate(`follow(${JSON.stringify(url)})`),
    seen: () => evaluate('seen'),
    sequences: () => evaluate('seen.map(({ sequence }) => sequence)'),
    named: () => evaluate('named'),
    opened: () => evaluate('opened'),
    state: () => evaluate(`['connecting', 'open', 'closed'][source.readyState]`),
    setCookie: (name, value) =>
      page.context().addCookies([{ name, value, url: origin, httpOnly: true, sameSite: 'Strict' }]),
    cookies: () => page.context().cookies(),
    reload: async () => void (await page.reload()),
    close: () => page.close(),
  };
}
