/** The page and what the agent does: each step and who is told of it, live; and a doubt, which a person resolves there. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { overflow, violations } from '../support/accessible.ts';
import { local, outboxStage } from '../support/outbox-stage.ts';
import { type PageStage, PATIENCE_MS, setPageStage } from '../support/page-stage.ts';
import { takeTurn } from '../support/scripted-agent.ts';
import {
  ask,
  charge,
  deliveryRow,
  lookup,
  openWork,
  putInDoubt,
  resolveAs,
  stepRow,
  toolItem,
  work,
} from '../support/work-scene.ts';

let stage: PageStage;
beforeAll(async () => {
  stage = await setPageStage();
});
afterAll(() => stage?.stop());

const bar = (page: Page, tone: string) => page.locator(`.agent-bar.is-${tone}`);
const patient = { timeout: PATIENCE_MS };

describe('what the agent does', () => {
  test('is shown step by step, with who is told of it and who has applied it', async () => {
    const opened = await openWork(stage);
    const { page } = opened;
    await work(stage, opened);
    for (const words of ['Done', 'read', 'Step 1'])
      await toolItem(page, 'lookup_order').getByText(words).waitFor(patient);
    const refund = toolItem(page, 'issue_refund');
    for (const words of ['Done', 'transactional', 'Step 2', 'refund.issued'])
      await refund.getByText(words).waitFor(patient);
    expect(await refund.getByText('transactional').getAttribute('title')).toContain('it happens once');
    await stepRow(page, 0).getByText('the model').waitFor(patient);
    for (const step of [0, 1, 2]) await stepRow(page, step).getByText('Done').waitFor(patient);
    await stepRow(page, 2).getByText('attempt 1').waitFor(patient);

    await deliveryRow(page, 1).getByText('Waits for a relay').waitFor(patient);
    const outbox = await outboxStage(stage.databaseUrl);
    const channel = await local();
    await outbox.relay(channel);
    await deliveryRow(page, 1).getByText('Published').waitFor(patient);
    await outbox.consumer(channel, { name: 'entries', topics: ['refund.issued'] });
    await deliveryRow(page, 1).getByText('applied by entries').waitFor(patient);
  });

  test('at another attempt is what the journal has, and says whose it was', async () => {
    const opened = await openWork(stage);
    const { page, session } = opened;
    const turn = await work(stage, opened);
    await turn.release();
    const again = await takeTurn(stage.writer, session);
    expect(await again.start(1, lookup)).toMatchObject({ do: 'use' });
    await toolItem(page, 'lookup_order').getByText('From the journal').waitFor(patient);
    await stepRow(page, 1).getByText(`found by attempt ${again.attempt}`).waitFor(patient);
    expect(await stepRow(page, 1).getByText(`attempt ${turn.attempt}`, { exact: true }).count()).toBe(1);
    await stepRow(page, 1).getByRole('button', { name: 'Go to step 1' }).click();
    await page.waitForURL(/at=\d+/, patient);
  });

  test('has no part on the rail where there is none, and nothing is asked for then', async () => {
    const opened = await openWork(stage);
    const { page } = opened;
    let asked = 0;
    await page.route('**/deliveries?*', (route) => {
      asked += 1;
      return route.continue();
    });
    const turn = await ask(stage, opened, 'Only talk.');
    await turn.say('Very well.');
    await turn.finish();
    await page.locator('[data-agent="idle"]').waitFor(patient);
    expect([await page.locator('.work').count(), asked]).toEqual([0, 0]);
  });

  test('shows why its deliveries cannot be read, and reads them when they can', async () => {
    const context = await stage.newContext();
    let isAway = true;
    await context.route('**/deliveries?*', (route) =>
      isAway ? route.fulfill({ status: 503, contentType: 'application/json', body: '{}' }) : route.continue(),
    );
    const opened = await openWork(stage, { context });
    await work(stage, opened);
    await opened.page.getByText('The deliveries cannot be read: The gateway answered 503.').waitFor(patient);
    isAway = false;
    await deliveryRow(opened.page, 1).waitFor(patient);
    expect(await opened.page.getByText('The deliveries cannot be read').count()).toBe(0);
  });
});

describe('a call in doubt', () => {
  test('that happened is resolved with its result, and the turn goes on with it', async () => {
    const opened = await openWork(stage);
    const { page, session } = opened;
    await putInDoubt(stage, opened);
    await bar(page, 'waiting').getByText('In doubt', { exact: true }).waitFor(patient);
    const item = toolItem(page, 'charge_card');
    await item.getByText('Nobody but a person can tell whether this happened.').waitFor();
    await page.getByRole('button', { name: 'Show the step' }).click();

    await item.getByRole('button', { name: 'It happened' }).click();
    const result = item.getByRole('textbox', { name: 'Its result' });
    await result.fill('{"receipt":');
    await item.getByText('That is not JSON').waitFor();
    const confirm = item.getByRole('button', { name: 'Confirm' });
    await confirm.click({ force: true });
    expect(await result.getAttribute('aria-invalid')).toBe('true');
    await result.fill('{"receipt":"r1"}');
    await item.getByText('it is not called again').waitFor();
    await confirm.click();
    await stepRow(page, 3).getByText('resolved by reader-').waitFor(patient);
    const again = await takeTurn(stage.writer, session);
    expect(await again.start(3, charge)).toEqual({ do: 'use', result: { receipt: 'r1' } });
    for (const words of ['From the journal', 'Resolved by reader-']) await item.getByText(words).waitFor(patient);
    await again.finish();
    await page.locator('[data-agent="idle"]').getByText('Idle', { exact: true }).waitFor(patient);
  });

  test('that did not happen is resolved where it is listed, and is made when the turn is asked to go on', async () => {
    const opened = await openWork(stage);
    const { page, session } = opened;
    await putInDoubt(stage, opened);
    await page.getByRole('link', { name: /Needs attention/ }).click();
    const row = page.locator('[data-status="in_doubt"]');
    await row.locator('[data-doubt="3"]').getByText('charge_card', { exact: true }).waitFor(patient);
    expect(await row.getByRole('button', { name: 'Retry' }).count()).toBe(0);
    await resolveAs(row, 'It did not happen', { isResumed: false });
    await row.getByRole('button', { name: 'Retry' }).waitFor(patient);
    expect(await row.locator('[data-doubt]').count()).toBe(0);

    await row.getByRole('link', { name: session }).click();
    await toolItem(page, 'charge_card').getByText('Did not happen').waitFor(patient);
    const state = stepRow(page, 3).locator('.work-state');
    await state.getByText('Did not happen').waitFor(patient);
    expect(await state.evaluate((cell) => cell.scrollWidth - cell.clientWidth)).toBe(0);
    await bar(page, 'quiet').getByText('Resolved', { exact: true }).waitFor(patient);
    await page.getByRole('button', { name: 'Go on' }).click();
    const again = await takeTurn(stage.writer, session);
    expect(await again.start(3, charge)).toMatchObject({ do: 'run' });
    await toolItem(page, 'charge_card').getByText('Running').waitFor(patient);
  });

  test('is not gone on with while the agent is at another turn, and is resolved all the same', async () => {
    const opened = await openWork(stage);
    const { page } = opened;
    await putInDoubt(stage, opened);
    const other = await ask(stage, opened, 'And now?');
    const item = toolItem(page, 'charge_card');
    await resolveAs(item, 'It happened');
    await item.getByText('The agent is at another turn').waitFor(patient);
    await item.getByRole('checkbox', { name: 'Go on with the turn' }).uncheck();
    await item.getByRole('button', { name: 'Confirm' }).click();
    await item.getByText('Resolved by reader-').waitFor(patient);
    expect(await item.getByText('The agent is at another turn').count()).toBe(0);
    await other.finish();
  });

  test('that somebody resolved before says so', async () => {
    const opened = await openWork(stage);
    const { page, context } = opened;
    await putInDoubt(stage, opened);
    const refusal = { type: 'urn:ledgerline:problem:step_settled', detail: 'it is done', state: 'done' };
    await context.route('**/resolve', (route) =>
      route.fulfill({ status: 409, contentType: 'application/problem+json', body: JSON.stringify(refusal) }),
    );
    const item = toolItem(page, 'charge_card');
    await resolveAs(item, 'It did not happen');
    await item.getByText('It was told before what became of this step').waitFor(patient);
    expect(await item.getByRole('alert').count()).toBe(1);
  });

  test('is nothing to resolve for who may only send', async () => {
    const opened = await openWork(stage);
    const { session } = opened;
    await putInDoubt(stage, opened);
    const { page } = await openWork(stage, { session, scope: 'read send' });
    await toolItem(page, 'charge_card').getByText('Nobody but a person can tell').waitFor(patient);
    expect(await page.getByRole('button', { name: 'It happened' }).count()).toBe(0);
  });

  test('is resolved by the keyboard alone, which comes back to where it left', async () => {
    const opened = await openWork(stage);
    const { page } = opened;
    await putInDoubt(stage, opened);
    const happened = page.getByRole('button', { name: 'It happened' });
    await happened.focus();
    await page.keyboard.press('Enter');
    await page.keyboard.type('"r1"');
    await page.keyboard.press('Escape');
    expect(await happened.evaluate((button) => button === document.activeElement)).toBe(true);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('form', { name: 'It did not happen: charge_card, step 3' }).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Space');
    await page.getByText('stays as it is').waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await toolItem(page, 'charge_card').getByText('Did not happen').waitFor(patient);
  });
});

describe('axe finds nothing', () => {
  test.each([
    ['dark', 'wide', { colorScheme: 'dark', viewport: { width: 1_280, height: 800 } }],
    ['light', 'wide', { colorScheme: 'light', viewport: { width: 1_280, height: 800 } }],
    ['dark', 'narrow', { colorScheme: 'dark', viewport: { width: 320, height: 640 } }],
    ['light', 'narrow', { colorScheme: 'light', viewport: { width: 320, height: 640 } }],
  ] as const)('in a doubt and on its way out of it, %s and %s', async (_, width, options) => {
    const context = await stage.newContext(options);
    const opened = await openWork(stage, { context });
    const { page } = opened;
    const expectFine = async (state: string): Promise<void> => {
      expect(await violations(page), state).toEqual([]);
      expect(await overflow(page), state).toBe(0);
    };
    await putInDoubt(stage, opened);
    await bar(page, 'waiting').waitFor(patient);
    await deliveryRow(page, 1).waitFor({ state: 'attached', ...patient });
    await expectFine('a doubt');
    await page.getByRole('button', { name: 'It happened' }).click();
    await page.getByRole('textbox', { name: 'Its result' }).fill('{');
    await expectFine('a result that is no JSON');
    if (width === 'narrow') {
      await page.getByRole('button', { name: 'Ledger', exact: true }).click();
      await deliveryRow(page, 1).waitFor();
      await expectFine('the rail');
      await page.getByRole('button', { name: 'Sessions', exact: true }).click();
    }
    await page.getByRole('link', { name: /Needs attention/ }).click();
    await page.locator('[data-doubt="3"]').waitFor(patient);
    await expectFine('the list');
    await resolveAs(page.locator('[data-doubt="3"]'), 'It did not happen', { isResumed: false });
    await page.getByRole('button', { name: 'Retry' }).waitFor(patient);
    await expectFine('the list without a doubt');
    await page.goBack();
    await bar(page, 'quiet').waitFor(patient);
    await expectFine('what did not happen');
  });
});
