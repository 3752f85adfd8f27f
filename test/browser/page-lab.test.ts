/** The buttons that try the promise: each shows its loss and its repair on the rail; where there is no lab, nothing of it. */
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { appendEvent } from '../support/answer.ts';
import { call } from '../support/gateway-calls.ts';
import type { Place } from '../support/gateway-calls.ts';
import { type Development, type PageStage, PATIENCE_MS, setPageStage } from '../support/page-stage.ts';
import { newSession } from '../support/session-calls.ts';
import { eventually } from '../support/waits.ts';

let stage: PageStage;
beforeAll(async () => {
  stage = await setPageStage();
});
afterAll(() => stage?.stop());

/** The side for readers, as a place to call. */
const publicSide = (server: { readonly publicUrl: string; readonly key: string }): Place => ({
  internalUrl: server.publicUrl,
  key: server.key,
});

const note = (server: Development, session: string, text: string): Promise<void> =>
  appendEvent(server, session, 'note', { text });

const figure = async (page: Page, of: 'head' | 'watermark' | 'cursor'): Promise<number> =>
  Number(((await page.locator(`[data-figure="${of}"] .figure-value`).textContent()) ?? '').replaceAll(/\D/g, ''));

const mark = (page: Page, kind: 'lost' | 'repaired' | 'rejoined', words: string | RegExp): Locator =>
  page.locator(`[data-mark="${kind}"]`).filter({ hasText: words });

const press = async (page: Page, name: string): Promise<void> => {
  const button = page.getByRole('button', { name, exact: true });
  await eventually(
    `"${name}" can be pressed`,
    async () => (await button.getAttribute('aria-disabled')) !== 'true',
    PATIENCE_MS,
  );
  await button.click();
};

async function switchHeadCheck(page: Page, isOn: boolean): Promise<void> {
  const headCheck = page.getByRole('switch', { name: 'Head check' });
  const isThere = async (): Promise<boolean> => (await headCheck.getAttribute('aria-checked')) === String(isOn);
  await eventually('the switch is known', async () => (await headCheck.getAttribute('aria-disabled')) !== 'true');
  if (!(await isThere())) await headCheck.click();
  await eventually(`the head check is ${isOn ? 'on' : 'paused'}`, isThere, PATIENCE_MS);
}

const isLive = (page: Page): Promise<unknown> =>
  eventually(
    'the page is live',
    async () => (await page.locator('.status-pill').getAttribute('data-state')) === 'live',
    PATIENCE_MS,
  );

const expectAll = (page: Page, last: number): Promise<unknown> =>
  eventually(`the page has ${last}`, async () => (await figure(page, 'cursor')) === last, PATIENCE_MS);

describe('in the lab', () => {
  let server: Development;
  let session: string;
  let page: Page;
  beforeAll(async () => {
    server = await stage.development();
  });
  beforeEach(async () => {
    await call(publicSide(server), 'POST', '/lab/head-check', '{"isPaused":false}', {
      authorization: `Bearer ${server.token}`,
    });
    session = await newSession(server);
    await note(server, session, 'the first');
    page = await stage.openPage({ origin: server.publicUrl, session, token: server.token });
    await expectAll(page, 1);
    await isLive(page);
  });

  const expectMark = (kind: 'lost' | 'repaired' | 'rejoined', words: string | RegExp): Promise<void> =>
    mark(page, kind, words).first().waitFor({ timeout: PATIENCE_MS });

  test('the next broadcast is dropped, and the event after it shows the gap', async () => {
    await switchHeadCheck(page, false);
    await press(page, 'Drop the next broadcast');
    await page.getByText('Armed:').waitFor();
    await note(server, session, 'the lost one');
    await expectMark('lost', 'Lost 2');
    expect(await figure(page, 'cursor')).toBe(1);
    await note(server, session, 'the one that tells');
    await expectMark('repaired', /Repaired 2.*by the next event/);
    await expectAll(page, 3);
  });

  test('the last of a burst is dropped, and the head check finds it', async () => {
    await press(page, 'Drop the last of a burst');
    await expectMark('lost', 'Lost 6');
    await expectMark('repaired', 'Repaired 6 by the head check');
    await expectAll(page, 6);
    await page.getByText('burst 5 of 5').first().waitFor();
  });

  test('with the head check paused the blind spot stays, and is gone when it goes on', async () => {
    await switchHeadCheck(page, false);
    await press(page, 'Drop the last of a burst');
    await expectMark('lost', 'Lost 6');
    await eventually('the head is ahead', async () => (await figure(page, 'head')) === 6, PATIENCE_MS);
    expect([await figure(page, 'watermark'), await figure(page, 'cursor')]).toEqual([5, 5]);
    expect(await mark(page, 'repaired', '').count()).toBe(0);
    await switchHeadCheck(page, true);
    await expectMark('repaired', 'Repaired 6 by the head check');
    await expectAll(page, 6);
  });

  test('the connection is severed, and comes back without loss', async () => {
    await press(page, 'Sever my connection');
    await expectMark('rejoined', 'Reconnected');
    await note(server, session, 'after it');
    await expectAll(page, 2);
    await isLive(page);
  });

  test('the bus is stopped, and everything comes all the same', async () => {
    await press(page, 'Stop the bus for 5 s');
    await page.getByText('The bus is stopped').first().waitFor();
    for (const text of ['one', 'two', 'three']) await note(server, session, text);
    await expectMark('lost', 'Lost');
    await expectMark('repaired', /by the head check/);
    await expectAll(page, 4);
  });

  test('the gateway is restarted, and its readers come back', async () => {
    await press(page, 'Restart the gateway');
    await mark(page, 'rejoined', '')
      .or(mark(page, 'repaired', 'by a reconnect'))
      .first()
      .waitFor({ timeout: PATIENCE_MS });
    await isLive(page);
    await eventually('it serves again', () => call(server, 'GET', '/healthz'), PATIENCE_MS);
    await note(server, session, 'after it');
    await expectAll(page, 2);
  });
});

test('a gateway that is no development server has no lab, and its page asks for none', async () => {
  const session = await newSession(stage.writer, 3);
  const paths: string[] = [];
  const context = await stage.newContext();
  context.on('request', (request) => paths.push(new URL(request.url()).pathname));
  const page = await stage.openPage({
    origin: stage.writer.publicUrl,
    session,
    token: await stage.mint(),
    context,
  });
  await expectAll(page, 3);
  await isLive(page);
  await eventually('the facts were asked for twice', () => {
    return paths.filter((path) => path === `/sessions/${session}`).length >= 2;
  });
  expect(await page.getByText('Try the promise').count()).toBe(0);
  expect(await page.locator('meta[name="ledgerline-lab"]').count()).toBe(0);
  expect(paths.filter((path) => path.startsWith('/lab'))).toEqual([]);
  for (const [method, path] of [
    ['GET', '/lab'],
    ['POST', '/lab/faults'],
    ['POST', '/lab/head-check'],
    ['GET', `/lab/sessions/${session}/marks`],
  ] as const) {
    const authorization = `Bearer ${await stage.mint()}`;
    expect((await call(publicSide(stage.writer), method, path, undefined, { authorization })).status, path).toBe(404);
  }
});
