/** A browser's own EventSource reads what was written, stops when the session is over, and tells a stranger nothing. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { expectAll, gaveUp, hears, setStage, streamOf } from '../support/browser-stage.ts';
import type { Stage } from '../support/browser-stage.ts';
import { startSite } from '../support/follower-page.ts';
import { append, closeSession, deleteSession } from '../support/gateway-calls.ts';
import { appendNumbers, newSession } from '../support/session-calls.ts';
import { eventually } from '../support/waits.ts';
import { range } from '../support/world.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await setStage();
});
afterAll(() => stage?.stop());

describe('the end of a session', () => {
  test('is told, and a 204 then stops the browser for good [jersey#6119]', async () => {
    const session = await newSession(stage.gateway, 5);
    const proxy = await stage.proxyTo(stage.gateway);
    const tab = await stage.newTab();
    await tab.follow(streamOf(proxy, session));
    await hears(tab, 'connected');
    await appendNumbers(stage.gateway, session, 5);
    expect((await closeSession(stage.gateway, session)).status).toBe(200);
    await gaveUp(tab);
    expect(await tab.sequences()).toEqual(range(1, 10));
    expect((await tab.named()).at(-1)).toMatchObject({ name: 'end', id: '10' });
    expect(proxy.passages.map(({ status, lastEventId }) => [status, lastEventId])).toEqual([
      [200, undefined],
      [204, '10'],
    ]);
  });

  test('by deletion is told, and nothing of the session again', async () => {
    const session = await newSession(stage.gateway, 5);
    const proxy = await stage.proxyTo(stage.gateway);
    const tab = await stage.newTab();
    await tab.follow(streamOf(proxy, session));
    await expectAll(tab, 5);
    expect((await deleteSession(stage.gateway, session)).status).toBe(200);
    await gaveUp(tab);
    expect((await tab.named()).at(-1)).toMatchObject({ name: 'end', data: expect.stringContaining('"deleted"') });
    expect(await tab.sequences()).toEqual(range(1, 5));
    expect(proxy.passages.map(({ status }) => status)).toEqual([200, 204]);
  });

  test('reaches a second tab of the same user too, which does not hammer', async () => {
    const session = await newSession(stage.gateway, 5);
    await closeSession(stage.gateway, session);
    const proxy = await stage.proxyTo(stage.gateway);
    const first = await stage.newTab();
    await first.follow(streamOf(proxy, session));
    await gaveUp(first);
    const second = await stage.newTab();
    await second.follow(streamOf(proxy, session));
    const ends = async (): Promise<number> => (await second.named()).filter(({ name }) => name === 'end').length;
    // it cannot be told from a client that ignored the 204, and is sent away for an hour instead
    await eventually('the second tab is told twice', async () => (await ends()) === 2, 60_000);
    for (const tab of [first, second]) expect(await tab.sequences()).toEqual(range(1, 5));
    expect(proxy.passages.map(({ status }) => status)).toEqual([200, 204, 200, 200]);
  });
});

describe('what a browser reads is what was written', () => {
  test('an event of the largest size', async () => {
    const session = await newSession(stage.gateway);
    const proxy = await stage.proxyTo(stage.gateway);
    const tab = await stage.newTab();
    await tab.follow(streamOf(proxy, session));
    await hears(tab, 'connected');
    const text = 'é'.repeat(limits.payloadBytes / 2 - 1);
    expect((await append(stage.gateway, session, JSON.stringify(text))).status).toBe(201);
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
    const session = await newSession(stage.gateway);
    await append(stage.gateway, session, ...texts.map((text) => JSON.stringify(text)));
    const proxy = await stage.proxyTo(stage.gateway);
    const tab = await stage.newTab();
    await tab.follow(streamOf(proxy, session));
    await expectAll(tab, texts.length);
    // Live too; and the raw characters, as a producer that does not escape sends them.
    await append(stage.gateway, session, ...texts.slice(0, 1).map((text) => `"${text}"`));
    await expectAll(tab, texts.length + 1);
    const read = (await tab.seen()).map(({ data }) => (JSON.parse(data) as { data: string }).data);
    expect(read).toEqual([...texts, texts[0]]);
    expect((await tab.named()).map(({ name }) => name)).toEqual(['hello', 'connected']);
  });
});

test('a page of an origin that is not on the list reads nothing', async () => {
  const stranger = await startSite();
  onTestFinished(() => stranger.stop());
  const session = await newSession(stage.gateway, 5);
  const proxy = await stage.proxyTo(stage.gateway);
  const tab = await stage.newTab(stranger.origin);
  await tab.follow(streamOf(proxy, session));
  await gaveUp(tab);
  expect(proxy.passages).toMatchObject([{ status: 200 }]);
  expect([await tab.opened(), await tab.seen(), await tab.named()]).toEqual([0, [], []]);
});
