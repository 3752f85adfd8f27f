/** The page of the API in a browser: legible for everybody, within its own policy, without a script. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { violations } from '../support/accessible.ts';
import { launchBrowser } from '../support/browser.ts';
import { startStubGateway } from '../support/stub-gateway.ts';
import type { StubGateway } from '../support/stub-gateway.ts';

let browser: Browser;
let gateway: StubGateway;
beforeAll(async () => {
  [browser, gateway] = await Promise.all([launchBrowser(), startStubGateway()]);
});
afterAll(() => Promise.all([browser?.close(), gateway?.stop()]));

test.each(['light', 'dark'] as const)('it has its looks, and axe finds nothing, %s', async (colorScheme) => {
  const page = await browser.newPage({ colorScheme, viewport: { width: 1_280, height: 800 } });
  const said: string[] = [];
  page.on('console', (message) => said.push(message.text()));
  await page.goto(`${gateway.publicUrl}/api`);
  expect(said).toEqual([]);
  expect(await page.locator('nav').evaluate((nav) => getComputedStyle(nav).position)).toBe('sticky');
  expect(await violations(page)).toEqual([]);
});

test('on a small screen nothing sticks out, and an address leads to its operation', async () => {
  const page = await browser.newPage({ viewport: { width: 360, height: 640 } });
  await page.goto(`${gateway.publicUrl}/api#sendMessage`);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
  await page.getByRole('heading', { name: 'Send a message' }).waitFor();
  const top = await page.locator('#sendMessage').evaluate((article) => article.getBoundingClientRect().top);
  expect(top).toBeGreaterThanOrEqual(0);
  expect(top).toBeLessThan(200);
});
