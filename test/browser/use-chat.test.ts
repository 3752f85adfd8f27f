/** The AI SDK's real `useChat` in a real browser, over the transport: refreshed in mid-answer, each part once. */
import type { UIMessageChunk } from 'ai';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startAgent, takeChatTurn, textChunks } from '../support/ai-chat.ts';
import type { ChatPlace } from '../support/ai-chat.ts';
import { launchBrowser } from '../support/browser.ts';
import { startChatSite } from '../support/chat-site.ts';
import type { ChatSite } from '../support/chat-site.ts';
import { startInProcessGateway } from '../support/in-process-gateway.ts';
import type { InProcessGateway } from '../support/in-process-gateway.ts';
import { modelAnswer, toolInput, toolOutput } from '../support/model-answer.ts';
import { answerDeltas } from '../support/provider-text.ts';
import { newSession, noSubscribers, subscribersOf } from '../support/session-calls.ts';
import { eventually } from '../support/waits.ts';

let browser: Browser;
let site: ChatSite;
let gateway: InProcessGateway;
let place: ChatPlace;
beforeAll(async () => {
  site = await startChatSite();
  gateway = await startInProcessGateway({ config: { allowedOrigins: [site.origin] } });
  place = { ...gateway, token: await gateway.token() };
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await gateway?.stop();
  await site?.stop();
});

const question = 'How is the weather in Zürich?';
const reasoning = ['The user wants ', 'the weather. ', 'Look it up.'];
const deltas = answerDeltas();
const middle = Math.floor(deltas.length / 2);
const before = deltas.slice(0, middle);
const after = deltas.slice(middle);

/** What the screen shows of the whole conversation, part by part. */
const whole = [
  ['user', 'text', question],
  ['assistant', 'step-start', ''],
  ['assistant', 'reasoning', reasoning.join('')],
  ['assistant', 'text', before.join('')],
  ['assistant', 'tool-weather', JSON.stringify({ state: 'output-available', input: toolInput, output: toolOutput })],
  ['assistant', 'step-start', ''],
  ['assistant', 'text', after.join('')],
];

async function scene(messageId?: string) {
  const session = await newSession(place);
  const agent = startAgent(place, session);
  await agent.say('u1', question);
  const chunks = await modelAnswer({ reasoning, before, after }, messageId);
  const context = await browser.newContext();
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const address = site.page({ url: place.publicUrl, session, token: place.token });
  return { session, agent, chunks, page, address };
}

const shown = (page: Page): Promise<string[][]> =>
  page.evaluate(() =>
    Array.from(document.querySelectorAll('[data-part]'), (part) => [
      part.closest('article')?.dataset['role'] ?? '',
      part.getAttribute('data-part') ?? '',
      part.textContent,
    ]),
  );

const statusOf = (page: Page): Promise<string | null> =>
  page.evaluate(() => document.querySelector('main')?.dataset['status'] ?? null);

const streams = (page: Page): Promise<unknown> =>
  eventually('the chat streams', async () => (await statusOf(page)) === 'streaming', 60_000);

const isReady = (page: Page): Promise<unknown> =>
  eventually('the chat is ready', async () => (await statusOf(page)) === 'ready', 60_000);

const showsText = (page: Page, text: string): Promise<unknown> =>
  eventually(
    'the page shows it',
    async () => (await shown(page)).some(([, , content]) => content?.includes(text) === true),
    60_000,
  );

describe('a refreshed page', () => {
  test.each([
    ['with an id of its own', 'a1'],
    ['without an id', undefined],
  ])(
    'has each part of the answer once, %s, however often it was refreshed [vercel/ai#18457] [vercel/ai#18107]',
    async (_, messageId) => {
      const { session, agent, chunks, page, address } = await scene(messageId);
      const { pace, done } = agent.answer(chunks);
      await page.goto(address);
      const rounds = 5;
      for (let round = 0; round < rounds; round += 1) {
        // a burst that is still on its way when the page goes, twice
        pace.release(Math.floor(chunks.length / rounds / 2));
        await page.reload({ waitUntil: 'domcontentloaded' });
        pace.release(Math.floor(chunks.length / rounds / 2) - 1);
        await page.reload();
        await streams(page);
      }
      pace.release();
      await done;
      await isReady(page);
      expect(await shown(page)).toEqual(whole);
      await page.reload();
      await showsText(page, after.join(''));
      await isReady(page);
      expect(await shown(page)).toEqual(whole);
      expect(await page.textContent('[role=alert]')).toBe('');
      await page.close();
      await noSubscribers(place, session);
    },
  );

  test('has the answer that ended while it was away', async () => {
    const { agent, chunks, page, address } = await scene('a1');
    const { pace, done } = agent.answer(chunks);
    await page.goto(address);
    pace.release(Math.floor(chunks.length / 2));
    await streams(page);
    await page.goto('about:blank');
    pace.release();
    await done;
    await page.goto(address);
    await showsText(page, after.join(''));
    expect(await shown(page)).toEqual(whole);
  });
});

test('a closed page does not stop the agent', async () => {
  const { session, agent, chunks, page, address } = await scene('a1');
  const { pace, done } = agent.answer(chunks);
  await page.goto(address);
  pace.release(Math.floor(chunks.length / 2));
  await streams(page);
  await eventually('it follows', async () => (await subscribersOf(place, session)) > 0);
  await page.close();
  await noSubscribers(place, session);
  pace.release();
  expect(await done).toEqual({ last: chunks.length + 1 });
});

test('two tabs of one chat show the same, live', async () => {
  const { session, agent, chunks, page, address } = await scene('a1');
  const other = await page.context().newPage();
  const { pace, done } = agent.answer(chunks);
  await Promise.all([page.goto(address), other.goto(address)]);
  pace.release(Math.floor(chunks.length / 2));
  await Promise.all([streams(page), streams(other)]);
  await page.reload();
  pace.release();
  await done;
  // a page that was just loaded is ready too, before it resumes
  await Promise.all([page, other].map((tab) => showsText(tab, after.join(''))));
  await Promise.all([isReady(page), isReady(other)]);
  expect(await shown(other)).toEqual(whole);
  expect(await shown(page)).toEqual(whole);
  await noSubscribers(place, session);
});

test('what an abandoned attempt said leaves the screen', async () => {
  const { agent, chunks, page, address } = await scene();
  await agent.tell('turn.started', { turn: 't1', attempt: 1 });
  await page.goto(address);
  const lost: UIMessageChunk[] = chunks.slice(0, Math.floor(chunks.length * 0.8));
  await agent.chunks(...lost);
  await showsText(page, 'output-available');
  await agent.tell('turn.started', { turn: 't1', attempt: 2 });
  const { pace, done } = agent.answer(chunks);
  pace.release();
  await done;
  await isReady(page);
  expect(await shown(page)).toEqual(whole);
});

test('what a page says is answered, and its stop stops the agent on every page [vercel/ai#5459] [vercel/ai#18458]', async () => {
  const session = await newSession(place);
  const context = await browser.newContext();
  onTestFinished(() => context.close());
  const [page, other] = [await context.newPage(), await context.newPage()];
  const errors: Error[] = [];
  page.on('pageerror', (error) => errors.push(error));
  const address = site.page({ url: place.publicUrl, session, token: place.token });
  await page.goto(address);
  await page.click('text=Send');
  const turn = await takeChatTurn(place, session);
  await turn.chunks({ type: 'start', messageId: 'a1' }, ...textChunks('t', 'so far').slice(0, 2));
  await other.goto(address);
  await Promise.all([showsText(page, 'so far'), showsText(other, 'so far')]);
  await page.click('text=Stop');
  await eventually('the stop is heard', async () => (await turn.stopAsked()) === 'stop');
  await turn.finish('cancelled');
  await Promise.all([isReady(page), isReady(other)]);
  const said = [
    ['user', 'text', 'Go on.'],
    ['assistant', 'text', 'so far'],
  ];
  for (const one of [page, other]) expect(await shown(one)).toEqual(said);
  await page.reload();
  await showsText(page, 'so far');
  expect(await shown(page)).toEqual(said);
  expect(errors).toEqual([]);
});
