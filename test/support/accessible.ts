/** What is wrong with a page for those who do not look at it, or look at it on a small screen. */
import axe from 'axe-core';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

/** What axe finds. */
export async function violations(page: Page): Promise<string[]> {
  // not as a script tag, which the page's own policy forbids
  await page.evaluate(axe.source);
  const { violations: found } = await page.evaluate<AxeResults>(`axe.run(document, { resultTypes: ['violations'] })`);
  return found.flatMap(({ id, help, nodes }) => nodes.map(({ html }) => `${id}: ${help}: ${html.slice(0, 200)}`));
}

/** By how many pixels something that does not scroll by itself sticks out on the right. */
export const overflow = (page: Page): Promise<number> =>
  page.evaluate(() => {
    const inSight = Array.from(document.querySelectorAll<HTMLElement>('.page *')).filter(
      (element) =>
        element.closest('.visually-hidden, .skip-link, pre, .ledger-rail') === null && element.offsetParent !== null,
    );
    const right = Math.max(...inSight.map((element) => element.getBoundingClientRect().right));
    return Math.max(0, Math.round(right - innerWidth));
  });
