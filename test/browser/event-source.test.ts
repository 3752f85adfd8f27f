/** A browser's own EventSource follows a session through kills, outages, drains, cuts and reloads. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { expectAll, hears, setStage, streamOf } from '../support/browser-stage.ts';
import type { Stage } from '../support/browser-stage.ts';
import { append } from '../support/gateway-calls.ts';
import { freshDatabase, sharedNatsUrl, startPostgres } from '../support/services.ts';
import { appendNumbers, newSession } from '../support/session-calls.ts';
import { eventually } from '../support/waits.ts';
import { range } from '../support/world.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await setStage();
});
afterAll(() => stage?.stop());

describe('an EventSource comes back by itself', () => {
  test('after its gateway was killed, with what was said meanwhile through another', async () => {
    const bus = { natsUrl: sharedNatsUrl(), environment: { LEDGERLINE_NATS_SUBJECT_ROOT: `browser-${randomUUID()}` } };
    const [watched, other] = await Promise.all([
      stage.ownGateway(stage.databaseUrl, bus),
      stage.ownGateway(stage.databaseUrl, bus),
    ]);
    const session = await newSession(other, 20);
    const proxy = await stage.proxyTo(watched);
    const tab = await stage.newTab();
    await tab.follow(streamOf(proxy, session));
    await expectAll(tab, 20);
    await appendNumbers(other, session, 20);
    await watched.kill();
    await appendNumbers(other, session, 20);
    await eventually('it has tried in vain', () => proxy.passages.some(({ status }) => status === undefined));
    await watched.restart();
    await appendNumbers(other, session, 20);
    await expectAll(tab, 80);
    const [first, ...later] = proxy.passages;
    expect(first?.lastEventId).toBeUndefined();
    for (const { lastEventId } of later) expect(Number(lastEventId)).toBeGreaterThanOrEqual(20);
  });

  test('and stays connected while Postgres is away, and goes on', async () => {
    const postgres = await startPostgres();
    onTestFinished(() => postgres.stop());
    const gateway = await stage.ownGateway((await freshDatabase({ on: postgres })).url);
    const session = await newSession(gateway, 10);
    const proxy = await stage.proxyTo(gateway);
    const tab = await stage.newTab();
    await tab.follow(streamOf(proxy, session));
    await expectAll(tab, 10);
    await postgres.kill();
    expect((await append(gateway, session, '"refused"')).status).toBe(503);
    await postgres.restart();
    await eventually('appends work again', async () => (await append(gateway, session, '"taken"')).status === 201);
    await appendNumbers(gateway, session, 9);
    await expectAll(tab, 20);
    expect(proxy.passages.map(({ status }) => status)).toEqual([200]);
  });

  test('when Postgres is away at its first visit, which any status but 200 would make its last [Yaffle#88]', async () => {
    const postgres = await startPostgres();
    onTestFinished(() => postgres.stop());
    const gateway = await stage.ownGateway((await freshDatabase({ on: postgres })).url);
    const session = await newSession(gateway, 10);
    const proxy = await stage.proxyTo(gateway);
    await postgres.kill();
    const tab = await stage.newTab();
    await tab.follow(streamOf(proxy, session));
    await eventually(
      'it has come back in vain',
      () => proxy.passages.filter(({ status }) => status === 200).length > 1,
    );
    expect(await tab.seen()).toEqual([]);
    await postgres.restart();
    await expectAll(tab, 10);
    expect(new Set(proxy.passages.map(({ status }) => status))).toEqual(new Set([200]));
  });

  test('after its gateway drained, in the slot that it was given', async () => {
    const gateway = await stage.ownGateway(stage.databaseUrl);
    const session = await newSession(gateway, 5);
    const proxy = await stage.proxyTo(gateway);
    const tab = await stage.newTab();
    await tab.follow(streamOf(proxy, session));
    await expectAll(tab, 5);
    expect(await gateway.terminate()).toBe(0);
    await hears(tab, 'goaway');
    await appendNumbers(stage.gateway, session, 5);
    await gateway.restart();
    await hears(tab, 'connected');
    await expectAll(tab, 10);
    expect(proxy.passages.at(-1)).toMatchObject({ status: 200, lastEventId: '5' });
  });

  test('after the network cut it again and again', async () => {
    const session = await newSession(stage.gateway);
    const proxy = await stage.proxyTo(stage.gateway);
    const tab = await stage.newTab();
    await tab.follow(streamOf(proxy, session));
    for (const round of range(1, 4)) {
      await eventually('it is open', async () => (await tab.opened()) === round, 60_000);
      await appendNumbers(stage.gateway, session, 5);
      proxy.cut();
      await appendNumbers(stage.gateway, session, 5);
    }
    await expectAll(tab, 40);
  });
});

test('a reload goes on where the page was, and a later cut where the stream was', async () => {
  const session = await newSession(stage.gateway, 10);
  const proxy = await stage.proxyTo(stage.gateway);
  const tab = await stage.newTab();
  await tab.follow(streamOf(proxy, session));
  await expectAll(tab, 10);
  await tab.reload();
  await appendNumbers(stage.gateway, session, 10);
  await tab.follow(`${streamOf(proxy, session)}?after=10`);
  await expectAll(tab, 20);
  // the browser repeats the old address, and the header wins
  proxy.cut();
  await appendNumbers(stage.gateway, session, 10);
  await expectAll(tab, 30);
  expect(proxy.passages.at(-1)).toMatchObject({ path: `/sessions/${session}/stream?after=10`, lastEventId: '20' });
});
