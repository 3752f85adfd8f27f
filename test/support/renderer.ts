/** The process that draws a page: stopped, the page is frozen with all that it holds, and nobody is told. */
import type { Browser, CDPSession, Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { eventually } from './waits.ts';

export interface Renderer {
  freeze(): void;
  thaw(): void;
}

interface ProcessInfo {
  readonly type: string;
  readonly id: number;
  /** Seconds. */
  readonly cpuTime: number;
}

const BURN_MS = 300;
const ROUNDS = 3;

/** Found by its work, for the browser does not tell which process is whose. It is thawed with the end of the test. */
export async function rendererOf(browser: Browser, page: Page): Promise<Renderer> {
  const session = await browser.newBrowserCDPSession();
  const pid = await eventually('one renderer stands out', async () => {
    const founds = new Set<number | undefined>();
    // another one that happens to be busy is not so each time
    for (let round = 0; round < ROUNDS; round += 1) founds.add(await busiest(session, page));
    const [found, ...others] = founds;
    return others.length === 0 && found;
  });
  await session.detach();
  const thaw = (): void => void process.kill(pid, 'SIGCONT');
  onTestFinished(thaw);
  return { freeze: () => void process.kill(pid, 'SIGSTOP'), thaw };
}

/** Which renderer works while the page does; undefined when it is not one alone. */
async function busiest(session: CDPSession, page: Page): Promise<number | undefined> {
  const before = await cpuTimes(session);
  await page.evaluate((forMs) => {
    const from = performance.now();
    while (performance.now() - from < forMs);
  }, BURN_MS);
  const [first, second] = [...(await cpuTimes(session))]
    .map(([id, seconds]) => ({ id, ms: (seconds - (before.get(id) ?? 0)) * 1_000 }))
    .toSorted((one, other) => other.ms - one.ms);
  return first !== undefined && first.ms > 3 * (second?.ms ?? 0) ? first.id : undefined;
}

async function cpuTimes(session: CDPSession): Promise<Map<number, number>> {
  const { processInfo } = (await session.send('SystemInfo.getProcessInfo')) as { processInfo: readonly ProcessInfo[] };
  return new Map(processInfo.filter(({ type }) => type === 'renderer').map(({ id, cpuTime }) => [id, cpuTime]));
}
