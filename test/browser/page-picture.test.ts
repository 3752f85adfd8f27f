/** The picture of the page for the README: an agent in the middle of its answer, and on the ledger a loss and its repair. */
import { copyFileSync, mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type PageStage, PATIENCE_MS, setPageStage } from '../support/page-stage.ts';
import { eventually } from '../support/waits.ts';

const pathTo = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const FOLDER = pathTo('test/browser/screenshots');

let stage: PageStage;
beforeAll(async () => {
  stage = await setPageStage();
});
afterAll(() => stage?.stop());

/** `LEDGERLINE_TEST_PICTURE=docs/page.png` keeps it. */
test('a live demo in the dark, with the ledger', { timeout: 300_000 }, async () => {
  const server = await stage.development({ isPlaying: true });
  const context = await stage.newContext({ colorScheme: 'dark', viewport: { width: 1_440, height: 900 } });
  const page = await stage.openPage({ origin: server.publicUrl, session: 'demo', token: server.token, context });
  await eventually(
    'the agent speaks of the courier',
    async () => (await page.locator('[data-role="assistant"] [data-text]').last().textContent())?.includes('refunded'),
    240_000,
  );
  await page.getByRole('button', { name: 'Drop the next broadcast' }).click();
  await page.locator('[data-mark="repaired"]').first().waitFor({ timeout: PATIENCE_MS });
  const sequences = await page.locator('[aria-label="Ledger"] [data-sequence]').count();
  expect(sequences).toBeGreaterThan(5);
  expect(await page.locator('.status-pill').getAttribute('data-state', { timeout: PATIENCE_MS })).toBe('live');
  mkdirSync(FOLDER, { recursive: true });
  await page.screenshot({ path: `${FOLDER}/page.png` });
  const kept = process.env['LEDGERLINE_TEST_PICTURE'];
  if (kept !== undefined && kept !== '') copyFileSync(`${FOLDER}/page.png`, pathTo(kept));
});
