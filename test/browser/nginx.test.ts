/** Behind a real nginx each event comes when it is written, a cut is resumed, and a reader who leaves is noticed. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { launchBrowser } from '../support/browser.ts';
import { openTab, startSite } from '../support/follower-page.ts';
import { append, closeSession } from '../support/gateway-calls.ts';
import { startGateway } from '../support/gateway.ts';
import type { RunningGateway } from '../support/gateway.ts';
import { startNginx } from '../support/nginx.ts';
import type { Nginx } from '../support/nginx.ts';
import { freshDatabase } from '../support/services.ts';
import type { FreshDatabase } from '../support/services.ts';
import { appendNumbers, newSession, noSubscribers, subscribersOf } from '../support/session-calls.ts';
import { readStream } from '../support/sse-reader.ts';
import type { SseReader } from '../support/sse-reader.ts';
import { eventually } from '../support/waits.ts';
import { range } from '../support/world.ts';

let database: FreshDatabase;
let gateway: RunningGateway;

beforeAll(async () => {
  database = await freshDatabase();
  gateway = await startGateway({ databaseUrl: database.url });
});
afterAll(async () => {
  await gateway?.kill();
  await database?.drop();
});

async function follow(nginx: Nginx, session: string, headers: Record<string, string> = {}): Promise<SseReader> {
  const reader = await readStream(`${nginx.url}/sessions/${session}/stream`, {
    authorization: `Bearer ${gateway.token}`,
    ...headers,
  });
  onTestFinished(() => reader.close());
  return reader;
}

const sequencesOf = (reader: SseReader): number[] =>
  reader.frames.filter(({ event }) => event === 'message').map(({ id }) => Number(id));

const configurations: readonly { name: string; location: readonly string[]; encoding: string | null }[] = [
  { name: 'with its defaults', location: [], encoding: null },
  {
    name: 'with HTTP/1.1 to the gateway',
    location: ['proxy_http_version 1.1;', 'proxy_set_header Connection "";'],
    encoding: null,
  },
  // the worst that an operator can do: everything compressed, event streams too, which nginx leaves out by itself
  {
    name: 'that compresses everything',
    location: ['gzip on;', 'gzip_types *;', 'gzip_min_length 0;', 'gzip_proxied any;', 'gzip_http_version 1.0;'],
    encoding: 'gzip',
  },
];

describe.each(configurations)('an nginx $name', ({ location, encoding }) => {
  let nginx: Nginx;
  beforeAll(async () => {
    nginx = await startNginx(gateway.publicUrl, { location });
  });
  afterAll(() => nginx?.stop());

  test('lets a quiet stream begin, and each event out before the next is written [hono#3833]', async () => {
    const session = await newSession(gateway);
    const reader = await follow(nginx, session, { 'accept-encoding': 'gzip' });
    expect(reader.status).toBe(200);
    expect(reader.headers.get('content-encoding')).toBe(encoding);
    await reader.frame('connected');
    for (const number of range(1, 20)) {
      await appendNumbers(gateway, session, 1);
      await reader.events(number);
    }
    expect(sequencesOf(reader)).toEqual(range(1, 20));
  });

  test('passes the cursor of a reader that comes back, and the end', async () => {
    const session = await newSession(gateway);
    await appendNumbers(gateway, session, 5);
    const first = await follow(nginx, session);
    await first.events(5);
    await first.close();
    await appendNumbers(gateway, session, 1);
    const second = await follow(nginx, session, { 'last-event-id': '3' });
    await second.events(3);
    expect(sequencesOf(second)).toEqual([4, 5, 6]);
    await closeSession(gateway, session);
    await second.ended();
    expect(second.frames.at(-1)).toMatchObject({ event: 'end', id: '6' });
    expect((await follow(nginx, session, { 'last-event-id': '6' })).status).toBe(204);
  });

  test('tells the gateway of a reader who leaves [dust#24357]', async () => {
    const session = await newSession(gateway);
    const readers = await Promise.all(range(1, 3).map(() => follow(nginx, session)));
    await eventually('all are there', async () => (await subscribersOf(gateway, session)) === 3);
    for (const reader of readers) await reader.close();
    await noSubscribers(gateway, session);
  });

  test('carries a history of many pages whole', async () => {
    const session = await newSession(gateway);
    const payload = JSON.stringify('x'.repeat(1_000));
    for (const _ of range(1, 5)) await append(gateway, session, ...range(1, 1_000).map(() => payload));
    const reader = await follow(nginx, session);
    await reader.events(5_000);
    expect(sequencesOf(reader)).toEqual(range(1, 5_000));
  });
});

test('the quiet of a stream ends well before the 60 s after which proxies cut it', () => {
  // nginx's proxy_read_timeout and the idle timeout of common load balancers
  expect(limits.syncMs).toBeLessThan(60_000 / 2);
});

/** nginx's own 502 would end a browser's EventSource for ever [Yaffle#88]. */
const answersForGateway = (origin: string): readonly string[] => [
  `location @away {
      default_type text/event-stream;
      add_header Access-Control-Allow-Origin ${origin};
      add_header Access-Control-Allow-Credentials true;
      return 200 "retry: 500\\n\\n";
    }`,
];

test('a browser follows through an nginx that answers while the gateway is away, and comes back', async () => {
  const site = await startSite();
  onTestFinished(() => site.stop());
  const browser = await launchBrowser();
  onTestFinished(() => browser.close());
  const own = await startGateway({
    databaseUrl: database.url,
    environment: { LEDGERLINE_ALLOWED_ORIGINS: site.origin },
  });
  onTestFinished(() => own.kill());
  const nginx = await startNginx(own.publicUrl, {
    location: [`proxy_set_header Authorization "Bearer ${own.token}";`, 'error_page 502 504 = @away;'],
    server: answersForGateway(site.origin),
  });
  onTestFinished(() => nginx.stop());
  const session = await newSession(gateway);
  const tab = await openTab(browser, site.origin);
  await tab.follow(`${nginx.url}/sessions/${session}/stream`);
  await eventually('it is open', async () => (await tab.opened()) === 1);
  await appendNumbers(gateway, session, 5);
  await eventually('all have come', async () => (await tab.sequences()).length === 5);
  await own.kill();
  await appendNumbers(gateway, session, 5);
  await eventually('nginx has answered', async () => (await tab.opened()) > 1);
  await own.restart();
  await eventually('it came back', async () => (await tab.sequences()).includes(10), 60_000);
  expect(await tab.sequences()).toEqual(range(1, 10));
});
