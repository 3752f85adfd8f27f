/** What lies beside a session: the list of the others, live and with what was not read, and the turns that need a person. */
import { randomUUID } from 'node:crypto';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call } from '../support/gateway-calls.ts';
import { type PageStage, PATIENCE_MS, setPageStage } from '../support/page-stage.ts';
import { takeTurn } from '../support/scripted-agent.ts';
import type { HeldTurn } from '../support/scripted-agent.ts';
import { newSession } from '../support/session-calls.ts';
import { eventually } from '../support/waits.ts';

let stage: PageStage;
beforeAll(async () => {
  stage = await setPageStage();
});
afterAll(() => stage?.stop());

const row = (page: Page, session: string): Locator => page.locator(`[data-listed="${session}"]`);

const rowSays = (page: Page, session: string, words: string): Promise<void> =>
  row(page, session).getByText(words).first().waitFor({ timeout: PATIENCE_MS });

async function openAt(session: string, token: string): Promise<Page> {
  const page = await stage.openPage({ origin: stage.writer.publicUrl, session, token });
  await row(page, session).waitFor({ timeout: PATIENCE_MS });
  return page;
}

/** A message by somebody else, and the agent that takes it. */
async function work(session: string): Promise<HeldTurn> {
  const { status } = await call(
    stage.writer,
    'POST',
    `/sessions/${session}/messages`,
    JSON.stringify({ key: `key-${session}-${counter++}`, content: 'Work, please.' }),
  );
  expect(status).toBe(201);
  return takeTurn(stage.writer, session);
}
let counter = 0;

/** Sessions that only this test's token may see. */
async function sessionsOf(count: number): Promise<{ sessions: string[]; token: string }> {
  const sessions = await Promise.all(Array.from({ length: count }, () => newSession(stage.writer)));
  return { sessions, token: await stage.mint({ sessions }) };
}

interface Standing {
  readonly session: string;
  readonly notable: number;
  readonly read: number;
  readonly unread: boolean;
}

/** What the server says of a session to the token's holder. */
async function standing(token: string, session: string): Promise<Standing> {
  const { text } = await call({ internalUrl: stage.writer.publicUrl, key: token }, 'GET', '/sessions');
  const { sessions } = JSON.parse(text) as { sessions: Standing[] };
  const listed = sessions.find((one) => one.session === session);
  if (listed === undefined) throw new Error(`${session} is not listed`);
  return listed;
}

const failure = { code: 'model', message: 'the model is overloaded' };

describe('the list of sessions', () => {
  test('is of what the token may see, and shows live what each agent does', async () => {
    const { sessions, token } = await sessionsOf(2);
    const [open = '', other = ''] = sessions;
    await newSession(stage.writer);
    const page = await openAt(open, token);
    await row(page, other).waitFor({ timeout: PATIENCE_MS });
    expect(await page.locator('[data-listed]').count()).toBe(2);
    const turn = await work(other);
    await rowSays(page, other, 'working');
    await turn.ask(`ask-${other}`, { tool: 'refunds.create', reason: 'May I?' });
    await rowSays(page, other, 'waits for you');
  });

  test('has the session with the latest activity on top', async () => {
    const { sessions, token } = await sessionsOf(3);
    const [open = '', , last = ''] = sessions;
    const page = await openAt(open, token);
    await (await work(last)).finish();
    await eventually(
      'the active one is on top',
      async () => (await page.locator('[data-listed]').first().getAttribute('data-listed')) === last,
      PATIENCE_MS,
    );
  });

  test('marks what was not read, until its end was on the screen; then on every device', async () => {
    const { sessions, token } = await sessionsOf(2);
    const [open = '', other = ''] = sessions;
    const page = await openAt(open, token);
    const turn = await work(other);
    await turn.say('Done.');
    await turn.finish();
    await row(page, other).locator('.unread-dot').waitFor({ timeout: PATIENCE_MS });
    await row(page, other).getByRole('link').click();
    await page.getByRole('feed').getByText('Done.', { exact: true }).waitFor({ timeout: PATIENCE_MS });
    const elsewhere = await openAt(open, token);
    await row(elsewhere, other).waitFor({ timeout: PATIENCE_MS });
    await row(elsewhere, other).locator('.unread-dot').waitFor({ state: 'detached', timeout: PATIENCE_MS });
    expect((await standing(token, other)).unread).toBe(false);
  });

  test('marks the session whose reader is further up, until the reader comes to its end', async () => {
    const session = await newSession(stage.writer, 200);
    const token = await stage.mint({ sessions: [session] });
    const page = await openAt(session, token);
    await page.locator('[role="feed"] [data-last="200"]').waitFor({ timeout: PATIENCE_MS });
    await page.getByRole('feed').hover();
    await page.mouse.wheel(0, -2_000);
    await page.getByRole('button', { name: 'Jump to latest' }).waitFor({ timeout: PATIENCE_MS });
    await (await work(session)).finish();
    await page.locator('[data-agent="idle"]').waitFor({ timeout: PATIENCE_MS });
    const { notable, read } = await eventually('the end is there', async () => {
      const now = await standing(token, session);
      return now.notable > 200 && now;
    });
    expect(read).toBeLessThan(notable);
    await page.getByRole('button', { name: 'Jump to latest' }).click();
    await eventually('it is read', async () => !(await standing(token, session)).unread, PATIENCE_MS);
  });

  test('does not mark the session whose end is on the screen', async () => {
    const { sessions, token } = await sessionsOf(1);
    const [open = ''] = sessions;
    const page = await openAt(open, token);
    const turn = await work(open);
    await turn.say('You see it.');
    await turn.finish();
    await page.locator('[data-agent="idle"]').waitFor({ timeout: PATIENCE_MS });
    const { notable, read } = await eventually('the server knows', async () => {
      const now = await standing(token, open);
      return now.notable > 0 && !now.unread && now;
    });
    expect(read).toBeGreaterThanOrEqual(notable);
  });

  test('is found in by the words of a title, and goes by the id to one that it does not hold', async () => {
    const open = await newSession(stage.writer);
    const titled = `${open}-titled`;
    await call(
      stage.writer,
      'POST',
      '/sessions',
      JSON.stringify({ session: titled, metadata: { title: 'Utrecht refunds' } }),
    );
    const both = await stage.mint({ sessions: [`${open}*`] });
    const page = await openAt(open, both);
    await rowSays(page, titled, 'Utrecht refunds');
    const field = page.getByRole('textbox', { name: 'Find a session' });
    await field.fill('utrecht');
    await row(page, open).waitFor({ state: 'detached' });
    await row(page, titled).waitFor();
    await field.fill(titled);
    await field.press('Enter');
    await page.getByRole('heading', { name: titled }).waitFor();
    expect(await row(page, titled).locator('[aria-current="page"]').count()).toBe(1);
  });

  test('is read page by page', async () => {
    const prefix = `many-${randomUUID()}`;
    for (let first = 0; first < 60; first += 20) {
      await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          call(stage.writer, 'POST', '/sessions', JSON.stringify({ session: `${prefix}-${first + index}` })),
        ),
      );
    }
    const page = await openAt(`${prefix}-0`, await stage.mint({ sessions: [`${prefix}*`] }));
    await page.getByRole('button', { name: 'More sessions' }).click();
    await eventually(
      'all of them are there',
      async () => (await page.locator('[data-listed]').count()) === 60,
      PATIENCE_MS,
    );
    expect(await page.getByRole('button', { name: 'More sessions' }).count()).toBe(0);
  });
});

describe('what needs attention', () => {
  test('is counted, shown with its reason, and acknowledged', async () => {
    const { sessions, token } = await sessionsOf(2);
    const [open = '', other = ''] = sessions;
    const page = await openAt(open, token);
    await (await work(other)).fail(failure);
    await rowSays(page, other, 'failed');
    const link = page.getByRole('link', { name: /Needs attention/ });
    await link.getByText('1', { exact: true }).waitFor({ timeout: PATIENCE_MS });
    await page.keyboard.press('a');
    const listed = page.locator('[data-status="failed"]');
    await listed.getByText('model: the model is overloaded').waitFor({ timeout: PATIENCE_MS });
    await listed.getByText('1 of 3 tries').waitFor();
    await listed.getByRole('button', { name: 'Acknowledge' }).click();
    await page.getByText('Nothing needs a person').waitFor({ timeout: PATIENCE_MS });
    await rowSays(page, other, 'head');
    expect(await link.locator('.badge').count()).toBe(0);
  });

  test('is retried with the same messages, or run anew', async () => {
    const { sessions, token } = await sessionsOf(1);
    const [open = ''] = sessions;
    const failed = await work(open);
    await failed.fail(failure);
    const page = await openAt(open, token);
    await page.keyboard.press('a');
    await page.getByRole('button', { name: `Retry: ${open}` }).click();
    const retried = await takeTurn(stage.writer, open);
    expect(retried.turn).toBe(failed.turn);
    await retried.fail(failure);
    await page.getByRole('button', { name: `Rerun: ${open}` }).click();
    const rerun = await takeTurn(stage.writer, open);
    expect(rerun.turn).not.toBe(failed.turn);
    expect(rerun.inputs).toEqual(failed.inputs);
  });

  test('leads to the session where a decision is taken', async () => {
    const { sessions, token } = await sessionsOf(1);
    const [open = ''] = sessions;
    await (await work(open)).ask(`ask-${open}`, { tool: 'refunds.create', reason: 'May I?' });
    const page = await openAt(open, token);
    await page.keyboard.press('a');
    await page.getByRole('link', { name: `Decide in ${open}` }).click();
    await page.getByRole('button', { name: 'Approve' }).waitFor({ timeout: PATIENCE_MS });
    await page.goBack();
    await page.getByText('Waits for a decision').waitFor({ timeout: PATIENCE_MS });
    expect(await page.getByRole('button', { name: `Retry: ${open}` }).count()).toBe(0);
  });

  test('shows what is under way, and stops it', async () => {
    const { sessions, token } = await sessionsOf(1);
    const [open = ''] = sessions;
    const turn = await work(open);
    const page = await openAt(open, token);
    await page.keyboard.press('a');
    await page.getByRole('button', { name: 'Under way' }).click();
    await page.getByText('by scripted').waitFor({ timeout: PATIENCE_MS });
    await page.getByRole('button', { name: `Stop: ${open}` }).click();
    await eventually('the agent is asked to stop', async () => (await turn.stopAsked()) === 'stop');
    await turn.finish('cancelled');
    await page.getByText('No agent has anything to do.').waitFor({ timeout: PATIENCE_MS });
  });

  test('is nothing to whoever may not do anything about it', async () => {
    const session = await newSession(stage.writer);
    const page = await openAt(session, await stage.mint({ scope: 'read send', sessions: [session] }));
    expect(await page.getByRole('link', { name: /Needs attention/ }).count()).toBe(0);
  });
});
