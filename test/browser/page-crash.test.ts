/** The crash lab's page: one chooses where a process dies and without what, and sees what the books say of it. */
import type { BrowserContext, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { violations } from '../support/accessible.ts';
import { type Development, type PageStage, PATIENCE_MS, setPageStage } from '../support/page-stage.ts';
import { scriptCrashLab, scripts } from '../support/scripted-crash-lab.ts';
import type { ScriptedCrashLab } from '../support/scripted-crash-lab.ts';
import { newSession } from '../support/session-calls.ts';
import { eventually } from '../support/waits.ts';

const wide = { width: 1_280, height: 800 };
const narrow = { width: 390, height: 844 };
const narrowest = { width: 320, height: 640 };

let stage: PageStage;
let server: Development;
beforeAll(async () => {
  stage = await setPageStage();
  server = await stage.development();
});
afterAll(() => stage?.stop());

/** At an address without a session: the first load takes the token, the second one is the lab's. */
async function openCrash(context: BrowserContext): Promise<Page> {
  const page = await stage.openPage({ origin: server.publicUrl, session: '', token: server.token, context });
  await page.goto(`${server.publicUrl}/?view=crash`);
  await runButton(page).waitFor({ timeout: PATIENCE_MS });
  return page;
}

interface Scripted {
  readonly page: Page;
  readonly lab: ScriptedCrashLab;
}

async function openScripted(options: BrowserContextOptions = {}): Promise<Scripted> {
  const context = await stage.newContext(options);
  const lab = await scriptCrashLab(context);
  return { page: await openCrash(context), lab };
}

const runButton = (page: Page): Locator => page.getByRole('button', { name: /^Run/ });

const rows = (page: Page, book: string, moment: 'before' | 'after'): Locator =>
  page.locator(`[data-book="${book}"] [data-moment="${moment}"] li`);

const expectToSee = (page: Page, text: string | RegExp): Promise<void> =>
  page.getByText(text).first().waitFor({ timeout: PATIENCE_MS });

const found = (page: Page, tone: 'held' | 'broken'): Promise<void> =>
  page.locator(`[data-verdict="${tone}"]`).waitFor({ timeout: PATIENCE_MS });

/** What is read out. */
const spoken = (page: Page): Promise<string> => page.locator('.crash [aria-live]').innerText();

/** By how many pixels the page is wider than its screen. */
const overflow = (page: Page): Promise<number> =>
  page.locator('.stage').evaluate((element) => element.scrollWidth - element.clientWidth);

describe('the way to the crash lab', () => {
  test('is a link beside what needs attention, and one at the end of the lab', async () => {
    const context = await stage.newContext();
    await scriptCrashLab(context);
    const session = await newSession(server);
    const page = await stage.openPage({ origin: server.publicUrl, session, token: server.token, context });
    await page.getByRole('link', { name: 'Crash lab' }).click();
    await page.getByRole('heading', { name: 'Crash lab' }).waitFor({ timeout: PATIENCE_MS });
    expect(await page.title()).toBe('Crash lab – Ledgerline');
    await page.goBack();
    await page.getByRole('link', { name: 'Kill the agent amid a refund' }).click();
    await runButton(page).waitFor({ timeout: PATIENCE_MS });
    expect(await page.getByRole('link', { name: 'Crash lab' }).getAttribute('aria-current')).toBe('page');
  });

  test('is closed on a server without a lab, which is not asked for it', async () => {
    const { publicUrl: origin } = stage.writer;
    const context = await stage.newContext();
    const paths: string[] = [];
    context.on('request', (request) => paths.push(new URL(request.url()).pathname));
    const page = await stage.openPage({ origin, session: '', token: await stage.mint(), context });
    await page.goto(`${origin}/?view=crash`);
    await page.getByRole('heading', { name: 'Ledgerline' }).waitFor({ timeout: PATIENCE_MS });
    await eventually('the sessions are listed', () => paths.includes('/sessions'), PATIENCE_MS);
    expect(await page.getByText('Crash lab').count()).toBe(0);
    expect(paths.filter((path) => path.startsWith('/lab'))).toEqual([]);
  });
});

describe('a plan', () => {
  test('is to die behind the commit with every safeguard, unless something else is chosen', async () => {
    const { page, lab } = await openScripted();
    await expectToSee(page, 'Nothing was run yet.');
    await runButton(page).click();
    await expectToSee(page, 'A database is made');
    expect(lab.plans).toEqual([{ point: 'refund_committed', without: [] }]);
  });

  test('is made by pointer, and names the safeguards in one order', async () => {
    const { page, lab } = await openScripted();
    await page.getByText('The entry is posted', { exact: true }).click();
    await page.getByRole('switch', { name: 'Inbox' }).click();
    await page.getByRole('switch', { name: 'One transaction' }).click();
    await page.getByRole('switch', { name: 'Step key' }).click();
    await page.getByRole('switch', { name: 'Step key' }).click();
    await runButton(page).click();
    await expectToSee(page, 'died when the entry was posted, without the one transaction and the inbox');
    expect(lab.plans).toEqual([{ point: 'entry_committed', without: ['transaction', 'inbox'] }]);
  });

  test('is made by the keyboard alone, and the focus stays on the button', async () => {
    const { page, lab } = await openScripted();
    await page.getByRole('radio', { name: 'The refund is committed' }).focus();
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Space');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await expectToSee(page, 'A database is made');
    expect(lab.plans).toEqual([{ point: 'refund_written', without: ['transaction'] }]);
    expect(await runButton(page).evaluate((button) => button === document.activeElement)).toBe(true);
    await page.keyboard.press('Enter');
    lab.show(scripts.once);
    await found(page, 'held');
    expect(lab.plans).toHaveLength(1);
  });

  test('says what is true at a point, which is another thing without the one transaction', async () => {
    const { page } = await openScripted();
    await expectToSee(page, 'Refund, journal and delivery are there');
    await page.getByRole('switch', { name: 'One transaction' }).click();
    await expectToSee(page, 'the refund’s own commit is still to come');
  });

  test('that is refused says why', async () => {
    const { page, lab } = await openScripted();
    lab.refuse('the token may not write');
    await runButton(page).click();
    await page.getByRole('alert').getByText('the token may not write').waitFor({ timeout: PATIENCE_MS });
    expect(await runButton(page).getAttribute('aria-disabled')).toBe('false');
  });
});

describe('a run', () => {
  test('is shown as it goes, note by note, and spoken of once a state', async () => {
    const { page, lab } = await openScripted();
    await runButton(page).click();
    await expectToSee(page, 'Running…');
    lab.show(scripts.resuming);
    await expectToSee(page, 'died behind the commit');
    expect(await spoken(page)).toBe('The process is dead. Another one takes its turn over.');
    expect(await rows(page, 'refunds', 'before').count()).toBe(1);
    expect(await page.getByRole('list', { name: 'What happened' }).getByRole('listitem').count()).toBe(10);
    lab.show(scripts.once);
    await found(page, 'held');
    expect(await spoken(page)).toMatch(
      /^One refund, one entry\. The process died after the commit; the journal answered/,
    );
    expect(await runButton(page).innerText()).toBe('Run');
  });

  test('has its books side by side, with what is new in them', async () => {
    const { page, lab } = await openScripted();
    lab.show(scripts.once);
    await found(page, 'held');
    const marks = (book: string): Promise<(string | null)[]> =>
      rows(page, book, 'after').evaluateAll((listed) => listed.map((row) => row.getAttribute('data-mark')));
    expect(await marks('refunds')).toEqual([null]);
    expect(await marks('journal')).toEqual([null, null, null, null, 'new']);
    expect(await marks('outbox')).toEqual(['changed']);
    expect(await marks('entries')).toEqual(['new']);
    const tops = await page
      .locator('[data-moment="after"]')
      .evaluateAll((parts) => parts.map((part) => part.getBoundingClientRect().top));
    expect(new Set(tops).size).toBe(1);
    await expectToSee(page, '1 at the crash, 2 after the resume');
  });

  test('comes into sight where it was begun, however small the screen', async () => {
    const { page, lab } = await openScripted({ viewport: narrowest, reducedMotion: 'reduce' });
    const title = page.getByRole('heading', { name: /^(?:This|The last) run$/ });
    const isInSight = async (): Promise<boolean> => {
      const { top, bottom } = await title.evaluate((element) => element.getBoundingClientRect());
      return top > 0 && bottom < narrowest.height / 2;
    };
    lab.show(scripts.once);
    await title.waitFor({ timeout: PATIENCE_MS });
    expect(await isInSight()).toBe(false);
    await runButton(page).click();
    await eventually('the new run is in sight', isInSight, PATIENCE_MS);
  });

  test('that refunds twice says so, in words and by which safeguard it would not have', async () => {
    const { page, lab } = await openScripted();
    lab.show(scripts.twoRefunds);
    await found(page, 'broken');
    await expectToSee(page, 'Two refunds of order 7731.');
    await expectToSee(page, /^The step key would have held/);
    expect(await rows(page, 'refunds', 'after').getByText('twice', { exact: true }).count()).toBe(1);
  });

  test('that the lab could not carry out is no finding', async () => {
    const { page, lab } = await openScripted();
    lab.show(scripts.failed);
    await expectToSee(page, 'the process does not get on');
    expect(await page.locator('[data-verdict]').count()).toBe(0);
    expect(await runButton(page).innerText()).toBe('Run');
  });

  test('that another tab began is seen here, too', async () => {
    const { page, lab } = await openScripted();
    await expectToSee(page, 'Nothing was run yet.');
    lab.show(scripts.resuming);
    await expectToSee(page, 'Running…');
  });
});

describe('axe finds nothing', () => {
  test.each([
    ['dark', 'wide', { colorScheme: 'dark', viewport: wide }],
    ['light', 'wide', { colorScheme: 'light', viewport: wide }],
    ['dark', 'narrow', { colorScheme: 'dark', viewport: narrow }],
    ['light', 'narrow', { colorScheme: 'light', viewport: narrowest }],
  ] as const)('in the crash lab, %s and %s, whatever a run has come to', async (_, __, options) => {
    const { page, lab } = await openScripted({ ...options, reducedMotion: 'reduce' });
    const expectNothing = async (what: string): Promise<void> => {
      expect(await violations(page), what).toEqual([]);
      expect(await overflow(page), what).toBe(0);
    };
    await expectNothing('before the first run');
    await page.getByRole('switch', { name: 'One transaction' }).click();
    await expectNothing('under the pointer');
    await page.getByText('The journal is committed', { exact: true }).hover();
    for (const run of ['resuming', 'once', 'twoRefunds', 'failed'] as const) {
      lab.show(scripts[run]);
      await page.locator(`[data-run="${scripts[run].id}"]`).waitFor({ timeout: PATIENCE_MS });
      await expectNothing(run);
    }
  });
});

describe('in the lab of a development server', () => {
  interface Trial {
    readonly point: string;
    readonly off?: string;
    readonly tone: 'held' | 'broken';
    readonly finding: string;
    readonly refunds: number;
    readonly entries: number;
  }
  const committed = 'The refund is committed';
  const trials: readonly (readonly [string, Trial])[] = [
    [
      'a process that dies behind the commit refunds twice without the step key',
      {
        point: committed,
        off: 'Step key',
        tone: 'broken',
        finding: 'Two refunds of order 7731.',
        refunds: 2,
        entries: 2,
      },
    ],
    [
      'and once with every safeguard',
      { point: committed, tone: 'held', finding: 'One refund, one entry.', refunds: 1, entries: 1 },
    ],
    [
      'one that dies between two transactions loses the refund',
      {
        point: committed,
        off: 'One transaction',
        tone: 'broken',
        finding: 'No refund of order 7731.',
        refunds: 0,
        entries: 1,
      },
    ],
    [
      'one that dies before it acknowledges posts two entries without the inbox',
      {
        point: 'The entry is posted',
        off: 'Inbox',
        tone: 'broken',
        finding: 'Two entries of one refund.',
        refunds: 1,
        entries: 2,
      },
    ],
  ];

  test.each(trials)('%s', async (_, { point, off, tone, finding, refunds, entries }) => {
    const page = await openCrash(await stage.newContext());
    await page.getByText(point, { exact: true }).click();
    if (off !== undefined) await page.getByRole('switch', { name: off }).click();
    await runButton(page).click();
    await page.getByRole('button', { name: 'Running…' }).waitFor({ timeout: PATIENCE_MS });
    await page.getByRole('button', { name: 'Run', exact: true }).waitFor({ timeout: PATIENCE_MS });
    await found(page, tone);
    await expectToSee(page, finding);
    expect(await rows(page, 'refunds', 'after').count(), 'refunds').toBe(refunds);
    expect(await rows(page, 'entries', 'after').count(), 'entries').toBe(entries);
  });
});
