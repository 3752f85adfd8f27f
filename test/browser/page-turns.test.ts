/** The page and the agent: one writes, whatever the agent does and the network is; one sees what it does, decides, and stops it. */
import { randomUUID } from 'node:crypto';
import type { BrowserContext, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call } from '../support/gateway-calls.ts';
import { type PageStage, PATIENCE_MS, addressOf, originOf, setPageStage, shows } from '../support/page-stage.ts';
import { takeTurn } from '../support/scripted-agent.ts';
import { newSession } from '../support/session-calls.ts';
import type { TcpProxy } from '../support/tcp-proxy.ts';
import { eventually } from '../support/waits.ts';

let stage: PageStage;
beforeAll(async () => {
  stage = await setPageStage();
});
afterAll(() => stage?.stop());

interface Opened {
  readonly page: Page;
  readonly session: string;
  readonly wire: TcpProxy;
  readonly token: string;
}

interface OpenedOptions {
  readonly token?: string;
  readonly session?: string;
  readonly context?: BrowserContext;
}

async function open(options: OpenedOptions = {}): Promise<Opened> {
  const session = options.session ?? (await newSession(stage.writer));
  const token = options.token ?? (await stage.mint());
  const context = options.context ?? (await stage.newContext());
  const wire = await stage.wireTo(stage.writer.publicUrl);
  const page = await stage.openPage({ origin: originOf(wire), session, token, context });
  await isInState(page, 'live');
  return { page, session, wire, token };
}

const isInState = (page: Page, state: string): Promise<unknown> =>
  eventually(
    `the page is ${state}`,
    async () => (await page.locator('.status-pill').getAttribute('data-state')) === state,
    PATIENCE_MS,
  );

const composer = (page: Page): Locator => page.getByRole('textbox', { name: 'Message', exact: true });

async function write(page: Page, text: string): Promise<void> {
  await composer(page).fill(text);
  await composer(page).press('Enter');
}

const agentIs = (page: Page, state: string): Promise<void> =>
  page.locator(`[data-agent="${state}"]`).waitFor({ timeout: PATIENCE_MS });

const said = (page: Page, text: string): Locator => page.getByRole('feed').getByText(text, { exact: true });

/** Once, as an event of the session, and nothing of it on its way. */
async function expectStoredOnce(page: Page, session: string, text: string): Promise<void> {
  await page.locator('[role="feed"] [data-kind="message"]').filter({ hasText: text }).waitFor({ timeout: PATIENCE_MS });
  await eventually('nothing is on its way', async () => (await page.locator('[data-outgoing]').count()) === 0);
  expect(await said(page, text).count()).toBe(1);
  const { text: history } = await call(stage.writer, 'GET', `/sessions/${session}/events?limit=1000`);
  const { events } = JSON.parse(history) as { events: { type: string; data: { content?: unknown } }[] };
  expect(events.filter(({ data }) => data.content === text)).toHaveLength(1);
}

describe('a message', () => {
  test('that one left unsent is not sent by who signs in in another tab of the browser', async () => {
    const context = await stage.newContext();
    const { page, session, wire } = await open({ context, token: await stage.mint({ subject: 'ann' }) });
    const messages = `**/sessions/${session}/messages`;
    await context.route(messages, (route) => route.abort());
    await write(page, 'From Ann');
    await page.locator('[data-outgoing="unsent"]').waitFor({ timeout: PATIENCE_MS });
    const token = await stage.mint({ subject: 'bob' });
    const other = await stage.openPage({ origin: originOf(wire), session, token, context });
    await isInState(other, 'live');
    await page.locator('[data-outgoing]').waitFor({ state: 'detached', timeout: PATIENCE_MS });
    await context.unroute(messages);
    await write(page, 'From Bob');
    await said(page, 'From Bob').waitFor({ timeout: PATIENCE_MS });
    const { text } = await call(stage.writer, 'GET', `/sessions/${session}/events`);
    const { events } = JSON.parse(text) as { events: { data: { content?: string; by?: string } }[] };
    expect(events.map(({ data }) => [data.content, data.by])).toEqual([['From Bob', 'bob']]);
  });

  test('is shown at once, queued until an agent takes it, and answered as it streams', async () => {
    const { page, session } = await open();
    await page.getByText('Nothing has been said yet').waitFor();
    await write(page, 'Where is order 7731?');
    await said(page, 'Where is order 7731?').waitFor();
    await agentIs(page, 'queued');
    expect(await composer(page).inputValue()).toBe('');
    const turn = await takeTurn(stage.writer, session);
    expect(turn.inputs).toEqual(['Where is order 7731?']);
    await agentIs(page, 'running');
    await turn.say('On its ');
    await shows(page, 'On its ');
    await turn.say('way.');
    await shows(page, 'On its way.');
    await turn.finish();
    await agentIs(page, 'idle');
    await expectStoredOnce(page, session, 'Where is order 7731?');
  });

  test('breaks its lines with Shift+Enter, and is not sent by the Enter that ends a composition', async () => {
    const { page, session } = await open();
    await composer(page).fill('one');
    await composer(page).press('Shift+Enter');
    await page.keyboard.type('two');
    await composer(page).dispatchEvent('keydown', { key: 'Enter', isComposing: true });
    expect(await composer(page).inputValue()).toBe('one\ntwo');
    await composer(page).press('Enter');
    const turn = await takeTurn(stage.writer, session);
    expect(turn.inputs).toEqual(['one\ntwo']);
  });

  test('that is sent while the agent works waits for the next turn', async () => {
    const { page, session } = await open();
    await write(page, 'first');
    const first = await takeTurn(stage.writer, session);
    await agentIs(page, 'running');
    expect(await page.getByRole('radio', { name: 'Queue' }).isChecked()).toBe(true);
    await write(page, 'second');
    await expectStoredOnce(page, session, 'second');
    await agentIs(page, 'running');
    await first.finish();
    await agentIs(page, 'queued');
    expect((await takeTurn(stage.writer, session)).inputs).toEqual(['second']);
  });

  test('that is to interrupt stops the turn, whose text stays', async () => {
    const { page, session } = await open();
    await write(page, 'first');
    const first = await takeTurn(stage.writer, session);
    await first.say('A long ans');
    await shows(page, 'A long ans');
    await page.getByText('Interrupt', { exact: true }).click();
    await write(page, 'no, this');
    await agentIs(page, 'stopping');
    await eventually('the agent is asked to make room', async () => (await first.stopAsked()) === 'interrupt');
    await first.finish('cancelled');
    expect((await takeTurn(stage.writer, session)).inputs).toEqual(['no, this']);
    await shows(page, 'A long ans');
    expect(await page.getByRole('radio', { name: 'Queue' }).isChecked()).toBe(true);
  });

  test('that is written offline is marked as not yet sent, and goes out once when the network is back', async () => {
    const { page, session, wire } = await open();
    await wire.cut();
    await isInState(page, 'waiting');
    await write(page, 'from the tunnel');
    await page.locator('[data-outgoing="unsent"]').getByText('Not yet sent').waitFor({ timeout: PATIENCE_MS });
    await wire.restore();
    await expectStoredOnce(page, session, 'from the tunnel');
  });

  test('that was not sent is there again after a reload, and goes out once', async () => {
    const { page, session, wire } = await open();
    await wire.cut();
    await write(page, 'before the reload');
    await page.locator('[data-outgoing="unsent"]').waitFor({ timeout: PATIENCE_MS });
    // The page itself cannot be read without the network: it is left, and opened when that is back.
    await page.goto('about:blank');
    await wire.restore();
    await page.goto(addressOf({ origin: originOf(wire), session }));
    await expectStoredOnce(page, session, 'before the reload');
  });

  test('whose answer is lost on the way is sent again, and stored once [TanStack AI, anthropic-sdk-java#370]', async () => {
    const { page, session } = await open();
    let isLost = false;
    await page.route(`**/sessions/${session}/messages`, async (route) => {
      if (isLost) return route.continue();
      isLost = true;
      await route.fetch();
      return route.abort('connectionreset');
    });
    await write(page, 'twice on the wire');
    await expectStoredOnce(page, session, 'twice on the wire');
    expect(isLost).toBe(true);
  });

  test('that is refused says why, and is sent again or discarded by its writer', async () => {
    const { page, session } = await open();
    let isRefusing = true;
    await page.route(`**/sessions/${session}/messages`, (route) =>
      isRefusing
        ? route.fulfill({
            status: 413,
            contentType: 'application/problem+json',
            body: JSON.stringify({ type: 'urn:ledgerline:problem:too_large', detail: 'too large by half' }),
          })
        : route.continue(),
    );
    await write(page, 'too much');
    const refused = page.locator('[data-outgoing="refused"]');
    await refused.getByText('Refused: too large by half').waitFor({ timeout: PATIENCE_MS });
    await refused.getByRole('button', { name: 'Discard' }).click();
    await refused.waitFor({ state: 'detached' });
    await write(page, 'still too much');
    await refused.waitFor({ timeout: PATIENCE_MS });
    isRefusing = false;
    await refused.getByRole('button', { name: 'Retry' }).click();
    await expectStoredOnce(page, session, 'still too much');
    expect(await said(page, 'too much').count()).toBe(0);
  });

  test('that is being written is kept for each session, through a reload', async () => {
    const { page, session } = await open();
    const other = await newSession(stage.writer);
    await composer(page).fill('half a thou');
    const field = page.getByRole('textbox', { name: 'Find a session, or open one by its id' });
    await field.fill(other);
    await field.press('Enter');
    await page.getByRole('heading', { name: other }).waitFor();
    expect(await composer(page).inputValue()).toBe('');
    await page.goBack();
    await page.getByRole('heading', { name: session }).waitFor();
    expect(await composer(page).inputValue()).toBe('half a thou');
    await page.reload();
    expect(await composer(page).inputValue()).toBe('half a thou');
  });
});

describe('nobody writes', () => {
  test('with a token that may only read', async () => {
    const { page } = await open({ token: await stage.mint({ scope: 'read' }) });
    await page.getByText('This token may not write').waitFor();
    expect(await composer(page).count()).toBe(0);
  });

  test('to a session that is closed', async () => {
    const session = await newSession(stage.writer, 3);
    await call(stage.writer, 'POST', `/sessions/${session}/close`);
    const token = await stage.mint();
    const page = await stage.openPage({ origin: stage.writer.publicUrl, session, token });
    await page.getByText('The session is over').waitFor({ timeout: PATIENCE_MS });
    expect(await composer(page).count()).toBe(0);
  });
});

describe('a question', () => {
  const question = { tool: 'refunds.create', args: { order: 7_731, cents: 4_000 }, reason: 'The tank is cracked.' };

  async function asked(): Promise<Opened & { readonly approval: string }> {
    const opened = await open();
    const approval = `refund-${randomUUID()}`;
    await write(opened.page, 'Refund it, please.');
    const turn = await takeTurn(stage.writer, opened.session);
    await turn.ask(approval, question);
    await agentIs(opened.page, 'waiting');
    return { ...opened, approval };
  }

  test('shows what is asked for, and is approved with a comment that the agent gets', async () => {
    const { page, session, approval } = await asked();
    const card = page.locator('[data-decision="open"]');
    for (const words of ['refunds.create', '4000', 'The tank is cracked.']) await card.getByText(words).waitFor();
    await card.getByRole('textbox', { name: 'Comment' }).fill('fine');
    await card.getByRole('button', { name: 'Approve' }).click();
    await page.locator('[data-decision="approved"]').getByText('Approved by reader-').waitFor({ timeout: PATIENCE_MS });
    await agentIs(page, 'queued');
    const turn = await takeTurn(stage.writer, session);
    expect(turn.decisions).toMatchObject([{ approval, decision: 'approved', comment: 'fine' }]);
  });

  test('that is denied in one tab is decided in the other, and by whom', async () => {
    const { page, session } = await asked();
    const { page: other } = await open({ session, context: page.context() });
    await other.getByRole('button', { name: 'Deny' }).click();
    for (const tab of [page, other]) {
      await tab.locator('[data-decision="denied"]').getByText('Denied by reader-').waitFor({ timeout: PATIENCE_MS });
      expect(await tab.getByRole('button', { name: 'Approve' }).count()).toBe(0);
    }
  });

  test('that somebody else decided first shows the first decision to whoever comes second', async () => {
    const { page, session, approval } = await asked();
    const first = await stage.mint({ subject: 'maya' });
    await page.route(`**/sessions/${session}/decisions`, async (route) => {
      const { status } = await call(
        { internalUrl: stage.writer.publicUrl, key: first },
        'POST',
        `/sessions/${session}/decisions`,
        JSON.stringify({ approval, decision: 'denied' }),
      );
      expect(status).toBe(201);
      await route.continue();
    });
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.locator('[data-decision="denied"]').getByText('Denied by maya').waitFor({ timeout: PATIENCE_MS });
  });

  test('is void when its turn is stopped', async () => {
    const { page } = await asked();
    await page.getByRole('button', { name: 'Stop', exact: true }).click();
    await page.locator('[data-decision="void"]').getByText('Nobody decided').waitFor({ timeout: PATIENCE_MS });
    await agentIs(page, 'idle');
    expect(await page.getByRole('button', { name: 'Approve' }).count()).toBe(0);
  });
});

describe('the agent', () => {
  test('is stopped by a key, which in the composer is a letter; what it said stays', async () => {
    const { page, session } = await open();
    await write(page, 'Tell me everything.');
    const turn = await takeTurn(stage.writer, session);
    await turn.say('In the beginning');
    await shows(page, 'In the beginning');
    await composer(page).fill('');
    await composer(page).press('s');
    expect(await composer(page).inputValue()).toBe('s');
    expect(await turn.stopAsked()).toBeNull();
    await composer(page).press('Escape');
    await page.keyboard.press('s');
    await agentIs(page, 'stopping');
    await eventually('the agent is asked to stop', async () => (await turn.stopAsked()) === 'stop');
    await turn.finish('cancelled');
    await agentIs(page, 'idle');
    await page.locator('[data-agent="idle"]').getByText('Cancelled', { exact: true }).waitFor();
    await shows(page, 'In the beginning');
  });

  test('is stopped before any worker has come, and the message is not answered', async () => {
    const { page, session } = await open();
    await write(page, 'Never mind');
    await agentIs(page, 'queued');
    await page.getByRole('button', { name: 'Stop', exact: true }).click();
    await agentIs(page, 'idle');
    await write(page, 'This, rather');
    expect((await takeTurn(stage.writer, session)).inputs).toEqual(['This, rather']);
  });

  test('that failed says why, and is tried again by who may', async () => {
    const { page, session } = await open();
    await write(page, 'Do it');
    const turn = await takeTurn(stage.writer, session);
    await turn.fail({ code: 'model', message: 'the model is overloaded' });
    const bar = page.locator('[data-agent="idle"]');
    await bar.getByText('model: the model is overloaded', { exact: true }).waitFor({ timeout: PATIENCE_MS });
    const { page: reader } = await open({ session, token: await stage.mint({ scope: 'read send' }) });
    await reader.locator('[data-agent="idle"]').getByText('model: the model is overloaded', { exact: true }).waitFor();
    expect(await reader.getByRole('button', { name: 'Retry' }).count()).toBe(0);
    await bar.getByRole('button', { name: 'Retry' }).click();
    const again = await takeTurn(stage.writer, session);
    expect([again.turn, again.inputs]).toEqual([turn.turn, ['Do it']]);
    await agentIs(page, 'running');
    await again.say('Done.');
    await again.finish();
    await agentIs(page, 'idle');
    await shows(page, 'Done.');
  });

  test('that is to try again counts down, and says which try it is', async () => {
    const { page, session } = await open();
    await write(page, 'Do it');
    const turn = await takeTurn(stage.writer, session);
    await turn.fail({ code: 'model', message: 'overloaded' }, true);
    await page.locator('[data-agent="retrying"]').getByText('model: overloaded', { exact: true }).waitFor();
    const again = await takeTurn(stage.writer, session);
    expect(again.try).toBe(2);
    await page.locator('[data-agent="running"]').getByText('Try 2.', { exact: true }).waitFor({ timeout: PATIENCE_MS });
  });

  test('takes no hour because this browser’s clock is an hour ahead', async () => {
    const context = await stage.newContext();
    await context.addInitScript(() => {
      const now = Date.now;
      Date.now = () => now() + 3_600_000;
    });
    const { page, session } = await open({ context });
    await write(page, 'Do it');
    const turn = await takeTurn(stage.writer, session);
    await agentIs(page, 'running');
    const time = await eventually('it is counted in seconds', async () => {
      const text = await page.locator('.agent-time').textContent();
      return text?.includes('h') === false && text;
    });
    expect(time).toMatch(/^ \d+ s$/);
    await turn.finish();
  });
});
