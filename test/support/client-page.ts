/** Web pages with the library in them, as tabs of one browser, and all that their followers are told. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { BrowserContext, Page } from 'playwright-core';
import { bundleLibrary } from './bundle.ts';
import { eventually } from './waits.ts';

const html = `<!doctype html>
<meta charset="utf-8">
<title>A client</title>
<script type="module">
  import { createSender, followSession } from './client.js';
  const followers = [];
  window.openSender = (options) => void (window.sender = createSender(options));
  window.outgoing = () => window.sender.outgoing.map(({ content, state }) => [content, state]);
  window.follow = (options) => {
    const told = { sequences: [], times: [], states: [], resets: [], faults: [] };
    const follower = followSession({
      ...options,
      onEvents(events) {
        for (const { sequence } of events) {
          told.sequences.push(sequence);
          told.times.push(performance.timeOrigin + performance.now());
        }
      },
      onStatus: ({ state }) => told.states.push(state),
      onReset: (reset) => told.resets.push(reset),
      onFault: (fault) => told.faults.push(fault),
    });
    followers.push({ follower, told });
    return followers.length - 1;
  };
  window.look = (index) => {
    const { follower, told } = followers[index];
    const { status, cursor, head, isLeading } = follower;
    return { ...told, state: status.state, end: status.end && { ...status.end, error: undefined }, cursor, head, isLeading };
  };
  window.ask = (index, what, ...words) => followers[index].follower[what](...words);
</script>
`;

export interface ClientSite {
  readonly origin: string;
  stop(): Promise<void>;
}

export async function startClientSite(): Promise<ClientSite> {
  const library = await bundleLibrary(['follow-session', 'sender']);
  const server = createServer(({ url }, response) => {
    const isLibrary = url === '/client.js';
    const type = isLibrary ? 'text/javascript' : 'text/html; charset=utf-8';
    response.writeHead(200, { 'content-type': type }).end(isLibrary ? library : html);
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

export interface ClientOptions {
  readonly url: string;
  readonly session: string;
  readonly token: string;
  readonly after?: number | 'head';
  readonly share?: boolean | string;
}

export interface Looked {
  readonly sequences: readonly number[];
  /** When each of them came, in milliseconds since 1970. */
  readonly times: readonly number[];
  readonly states: readonly string[];
  readonly resets: readonly unknown[];
  readonly faults: readonly unknown[];
  readonly state: string;
  readonly end?: unknown;
  readonly cursor: number | 'head';
  readonly head?: number;
  readonly isLeading: boolean;
}

export interface ClientFollower {
  readonly page: Page;
  look(): Promise<Looked>;
  reconnect(): Promise<void>;
  stop(): Promise<void>;
  /** The number of events in a page of history. */
  historyLength(): Promise<number>;
}

export async function openClientTab(context: BrowserContext, origin: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(origin);
  return page;
}

export async function followOn(page: Page, options: ClientOptions): Promise<ClientFollower> {
  await eventually('the page has the library', () => page.evaluate(`'follow' in window`));
  const index = await page.evaluate(`follow(${JSON.stringify(options)})`);
  const evaluate = <T>(expression: string): Promise<T> => page.evaluate<T>(expression);
  return {
    page,
    look: () => evaluate(`look(${String(index)})`),
    reconnect: () => evaluate(`ask(${String(index)}, 'reconnect')`),
    stop: () => evaluate(`ask(${String(index)}, 'stop')`),
    historyLength: () => evaluate(`ask(${String(index)}, 'history', { after: 0 }).then(({ events }) => events.length)`),
  };
}
