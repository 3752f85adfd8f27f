/** The nginx of deploy/ over two gateways, NATS and Postgres: a deployment without the containers around it. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { launchBrowser } from '../support/browser.ts';
import { openDeploymentTab } from '../support/deployment-tab.ts';
import type { DeploymentTab } from '../support/deployment-tab.ts';
import { startGateway } from '../support/gateway.ts';
import type { RunningGateway } from '../support/gateway.ts';
import { line, openNdjson } from '../support/ndjson-call.ts';
import { startNginx } from '../support/nginx.ts';
import { askHttp2 } from '../support/nginx-calls.ts';
import { startDeployedNginx } from '../support/nginx-deployed.ts';
import type { DeployedNginx } from '../support/nginx-deployed.ts';
import { freshDatabase, sharedNatsUrl } from '../support/services.ts';
import type { FreshDatabase } from '../support/services.ts';
import { appendNumbers, newSession, subscribersOf } from '../support/session-calls.ts';
import { eventually } from '../support/waits.ts';
import { range } from '../support/world.ts';

/** A browser's own waits between two tries come on top of everybody else's. */
const PATIENCE_MS = 60_000;

let database: FreshDatabase;
let first: RunningGateway;
let second: RunningGateway;
let nginx: DeployedNginx;

beforeAll(async () => {
  database = await freshDatabase();
  const environment = { LEDGERLINE_NATS_SUBJECT_ROOT: `test-${randomUUID()}`, LEDGERLINE_GOAWAY_WINDOW_MS: '500' };
  const start = () => startGateway({ databaseUrl: database.url, natsUrl: sharedNatsUrl(), environment });
  [first, second] = await Promise.all([start(), start()]);
  nginx = await startDeployedNginx([new URL(first.publicUrl).host, new URL(second.publicUrl).host]);
});
afterAll(async () => {
  await nginx?.stop();
  await Promise.all([first?.kill(), second?.kill()]);
  await database?.drop();
});

test('a producer’s one request is stored as it is written, straight and through the documented nginx', async () => {
  const documented = await startNginx(first.internalUrl, {
    location: ['proxy_http_version 1.1;', 'proxy_request_buffering off;', 'proxy_buffering off;'],
  });
  onTestFinished(() => documented.stop());
  for (const internalUrl of [first.internalUrl, documented.url]) {
    const session = await newSession(second);
    const request = openNdjson({ internalUrl, key: first.key }, session, 'producer=p&sequence=1');
    for (const number of range(1, 5)) {
      request.write(line(String(number)));
      await request.said({ last: number });
    }
    await request.end();
    expect(request.lines().at(-1)).toMatchObject({ end: 'complete' });
  }
});

test('the internal side of a gateway is not there for readers', async () => {
  const headers = { authorization: `Bearer ${first.key}`, 'content-type': 'application/json' };
  const append = { method: 'POST', headers, body: '{"events":[]}' };
  expect((await askHttp2(nginx.url, '/internal/sessions/s/events', append)).status).toBe(404);
});

/** Waits until each of the ten streams has the last event, and then each has all, once, in order. */
async function expectAll(tab: DeploymentTab, last: number): Promise<void> {
  const isThere = async () => (await tab.sequences()).every((sequences) => sequences.includes(last));
  await eventually(`each stream has event ${last}`, isThere, PATIENCE_MS);
  expect(await tab.sequences()).toEqual(range(1, 10).map(() => range(1, last)));
  expect(await tab.ended()).toBe(0);
}

test('ten streams of one tab over HTTP/2 outlive the kill, the drain and the absence of their gateways', async () => {
  const browser = await launchBrowser();
  onTestFinished(() => browser.close());
  const session = await newSession(first);
  const tab = await openDeploymentTab(browser, nginx.url);
  expect(await tab.protocol()).toBe('h2');

  await tab.follow({ session, token: first.token }, 5);
  await appendNumbers(first, session, 20);
  await expectAll(tab, 20);
  expect(await Promise.all([subscribersOf(first, session), subscribersOf(second, session)])).toEqual([5, 5]);

  await first.kill();
  await appendNumbers(second, session, 20);
  await expectAll(tab, 40);

  await first.restart();
  expect(await second.terminate()).toBe(0);
  await appendNumbers(first, session, 20);
  await expectAll(tab, 60);

  await first.kill();
  await eventually('nginx has answered for them', () => nginx.accessLog().some((entry) => isAway(entry)), PATIENCE_MS);
  await Promise.all([first.restart(), second.restart()]);
  await appendNumbers(second, session, 20);
  await expectAll(tab, 80);

  await tab.close();
  const streams = await eventually('all are logged', () => {
    const entries = nginx.accessLog().filter(({ path }) => path === `/sessions/${session}/stream`);
    return entries.length >= 30 && entries;
  });
  expect(new Set(streams.map(({ protocol }) => protocol))).toEqual(new Set(['HTTP/2.0']));
  expect(nginx.logs()).not.toMatch(/ticket=|Bearer|eyJ/);
});

/** No gateway was there, and a browser’s EventSource was told to come back. */
const isAway = ({ status, upstreamStatus }: Record<string, string>): boolean =>
  status === '200' && /^502(, 502)*$/.test(upstreamStatus ?? '');
