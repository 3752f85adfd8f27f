/** The page for everybody: axe finds nothing in any of its states, and the keyboard reaches all of it. */
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { overflow, violations } from '../support/accessible.ts';
import { appendDemo } from '../support/demo-conversation.ts';
import { type PageStage, PATIENCE_MS, scrollToBeginning, setPageStage } from '../support/page-stage.ts';
import { takeTurn } from '../support/scripted-agent.ts';
import { newSession } from '../support/session-calls.ts';
import { eventually } from '../support/waits.ts';

const wide = { width: 1_280, height: 800 };
const narrow = { width: 390, height: 844 };
const narrowest = { width: 320, height: 640 };

let stage: PageStage;
beforeAll(async () => {
  stage = await setPageStage();
});
afterAll(() => stage?.stop());

async function openDemo(options: BrowserContextOptions = {}): Promise<Page> {
  const session = await newSession(stage.writer);
  const last = await appendDemo(stage.writer, session);
  const context = await stage.newContext(options);
  const page = await stage.openPage({ origin: stage.writer.publicUrl, session, token: await stage.mint(), context });
  await page.locator(`[role="feed"] [data-last="${last}"]`).waitFor({ timeout: PATIENCE_MS });
  return page;
}

/** Of a token that sees this session alone. */
async function openQuestion(
  options: BrowserContextOptions,
): Promise<{ page: Page; context: BrowserContext; session: string }> {
  const session = await newSession(stage.writer);
  const context = await stage.newContext(options);
  const token = await stage.mint({ sessions: [session] });
  const page = await stage.openPage({ origin: stage.writer.publicUrl, session, token, context });
  await page.getByRole('textbox', { name: 'Message', exact: true }).fill('Refund it, please.');
  await page.keyboard.press('Enter');
  const turn = await takeTurn(stage.writer, session);
  await turn.ask(`refund-${session}`, { tool: 'refunds.create', args: { order: 7_731 }, reason: 'It is cracked.' });
  await page.getByRole('button', { name: 'Approve' }).waitFor({ timeout: PATIENCE_MS });
  return { page, context, session };
}

describe('axe finds nothing', () => {
  test.each([
    ['dark', 'wide', { colorScheme: 'dark', viewport: wide }],
    ['light', 'wide', { colorScheme: 'light', viewport: wide }],
    ['dark', 'narrow', { colorScheme: 'dark', viewport: narrow }],
    ['light', 'narrow', { colorScheme: 'light', viewport: narrow }],
  ] as const)('in a conversation, %s and %s, from its end to its beginning', async (_, width, options) => {
    const page = await openDemo(options);
    expect(await violations(page)).toEqual([]);
    await scrollToBeginning(page);
    expect(await violations(page)).toEqual([]);
    if (width !== 'narrow') return;
    for (const name of ['Sessions', 'Ledger']) {
      await page.getByRole('button', { name }).click();
      expect(await violations(page), name).toEqual([]);
    }
  });

  test.each([
    ['dark', 'wide', { colorScheme: 'dark', viewport: wide }],
    ['light', 'wide', { colorScheme: 'light', viewport: wide }],
    ['dark', 'narrow', { colorScheme: 'dark', viewport: narrowest }],
    ['light', 'narrow', { colorScheme: 'light', viewport: narrowest }],
  ] as const)('while one writes, decides and sees what failed, %s and %s', async (_, width, options) => {
    const { page, context, session } = await openQuestion(options);
    expect(await violations(page), 'a question').toEqual([]);
    expect(await overflow(page), 'a question').toBe(0);
    await context.route(`**/sessions/${session}/messages`, (route) => route.fulfill({ status: 400, body: '{}' }));
    await page.getByRole('textbox', { name: 'Message', exact: true }).fill('A message that is refused');
    await page.keyboard.press('Enter');
    await page.locator('[data-outgoing="refused"]').waitFor({ timeout: PATIENCE_MS });
    expect(await violations(page), 'a message that was refused').toEqual([]);
    expect(await overflow(page), 'a message that was refused').toBe(0);
    await page.getByRole('button', { name: 'Approve' }).click();
    const turn = await takeTurn(stage.writer, session);
    await page.locator('.session-row.is-selected .is-busy').waitFor({ state: 'attached', timeout: PATIENCE_MS });
    expect(await violations(page), 'an agent at work').toEqual([]);
    await turn.fail({ code: 'model', message: 'the model is overloaded' });
    await page.locator('.agent-bar.is-failed').waitFor({ timeout: PATIENCE_MS });
    expect(await violations(page), 'a failure').toEqual([]);
    expect(await overflow(page), 'a failure').toBe(0);
    if (width === 'narrow') {
      await page.getByRole('button', { name: 'Sessions' }).click();
      expect(await violations(page), 'the list').toEqual([]);
    }
    await page.getByRole('link', { name: /Needs attention/ }).click();
    await page.locator('[data-status="failed"]').waitFor({ timeout: PATIENCE_MS });
    expect(await violations(page), 'what needs attention').toEqual([]);
    expect(await overflow(page), 'what needs attention').toBe(0);
  });

  test.each(['dark', 'light'] as const)('where there is no conversation, %s', async (colorScheme) => {
    const context = await stage.newContext({ colorScheme });
    const origin = stage.writer.publicUrl;
    const page = await stage.openPage({ origin, session: 'nobody-made-it', context });
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await violations(page), 'signing in').toEqual([]);
    const token = await stage.mint();
    const states = [
      ['unknown', 'nobody-made-it'],
      ['empty', await newSession(stage.writer)],
      ['malformed', '%20'],
    ] as const;
    for (const [state, session] of states) {
      const other = await stage.openPage({ origin, session, token, context });
      await other.locator(`[data-panel-state="${state}"]`).waitFor({ timeout: PATIENCE_MS });
      expect(await violations(other), state).toEqual([]);
    }
  });

  test('in the dialog of the shortcuts, and in a search', async () => {
    const page = await openDemo();
    await page.keyboard.press('?');
    await page.getByRole('dialog').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    await page.keyboard.press('/');
    await page.keyboard.type('tank');
    await page.locator('mark').first().waitFor();
    expect(await violations(page)).toEqual([]);
  });
});

/** Put on what the keyboard must reach, and taken off what it has; on elements, because a name may tell the time. */
const WANTED = 'data-wanted';

/** What has the focus: its element and the name that it is announced by. Undefined: the browser's own controls. */
const focused = (page: Page): Promise<{ tag: string; name: string } | undefined> =>
  page.evaluate((wanted) => {
    const element = document.activeElement;
    if (element === null || element === document.body) return undefined;
    element.removeAttribute(wanted);
    const label = (element as HTMLInputElement).labels?.[0]?.textContent;
    const name = element.getAttribute('aria-label') ?? label ?? element.textContent;
    return { tag: element.tagName.toLowerCase(), name: name.trim() };
  }, WANTED);

describe('the keyboard', () => {
  test('reaches the conversation first, and then everything that can be used, each by a name', async () => {
    const page = await openDemo();
    await page.keyboard.press('Tab');
    expect(await focused(page)).toMatchObject({ tag: 'a', name: 'Skip to the conversation' });
    const wanted = await page
      .getByRole('button')
      .or(page.getByRole('textbox'))
      .or(page.getByRole('feed'))
      .or(page.getByRole('link'))
      .evaluateAll((elements, attribute) => {
        const lasting = elements.filter(
          (element) => !(element as HTMLButtonElement).disabled && element.closest('[role="feed"] *') === null,
        );
        for (const element of lasting) element.setAttribute(attribute, '');
        return lasting.length;
      }, WANTED);
    expect(wanted).toBeGreaterThan(8);
    // Once around: what comes behind the page's last element is the browser's own.
    const nameless: string[] = [];
    for (let step = 0; step < 400; step += 1) {
      const stop = await focused(page);
      if (stop === undefined) break;
      if (stop.name === '') nameless.push(stop.tag);
      await page.keyboard.press('Tab');
    }
    expect(nameless).toEqual([]);
    const missing = await page
      .locator(`[${WANTED}]`)
      .evaluateAll((elements) => elements.map((element) => element.outerHTML.slice(0, 200)));
    expect(missing).toEqual([]);
    expect(await focused(page), 'the way around has an end').toBeUndefined();
  });

  test('searches, goes to a sequence, goes back to the end, and helps', async () => {
    const page = await openDemo();
    await page.keyboard.press('/');
    await page.keyboard.type('Utrecht-Noord');
    await page.keyboard.press('Enter');
    await page.locator('mark').first().waitFor();
    await page.keyboard.press('Escape');
    expect(await page.locator('mark').count()).toBe(0);
    await page.keyboard.press('g');
    await page.keyboard.type('1');
    await page.keyboard.press('Enter');
    const beginning = page.locator('[role="feed"] [data-first="1"]');
    await eventually('the beginning is in sight', () => beginning.isVisible(), PATIENCE_MS);
    await page.keyboard.press('e');
    await page.getByText('Be brief.', { exact: true }).waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
  });
});
