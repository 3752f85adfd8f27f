/** A tab of one origin with a deployment, in which many streams of a session are open: half by the library, half EventSources. */
import type { Browser } from 'playwright-core';
import { bundleLibrary } from './bundle.ts';

/** By Bearer token, each on a request of its own. */
const followByLibrary = `(options, count) => {
  for (let index = 0; index < count; index += 1) {
    const sequences = [];
    window.streams.push({ sequences });
    ledgerline.followSession({
      ...options,
      url: location.origin,
      share: false,
      onEvents: (events) => sequences.push(...events.map(({ sequence }) => sequence)),
    });
  }
}`;

/** By ticket, and by the cookie that its redeeming leaves. */
const followByEventSource = `async ({ session, token }, count) => {
  for (let index = 0; index < count; index += 1) {
    const headers = { authorization: 'Bearer ' + token };
    const answer = await fetch('/sessions/' + session + '/tickets', { method: 'POST', headers });
    const { ticket } = await answer.json();
    const sequences = [];
    const source = new EventSource('/sessions/' + session + '/stream?ticket=' + ticket);
    source.onmessage = ({ lastEventId }) => sequences.push(Number(lastEventId));
    window.streams.push({ sequences, source });
  }
}`;

export interface DeploymentTab {
  /** So many streams of each make. */
  follow(options: { readonly session: string; readonly token: string }, each: number): Promise<void>;
  /** What each stream has had so far, in its order. */
  sequences(): Promise<readonly (readonly number[])[]>;
  /** The EventSources that will never try again. */
  ended(): Promise<number>;
  /** By which protocol the page came, as the browser tells it. */
  protocol(): Promise<string>;
  close(): Promise<void>;
}

export async function openDeploymentTab(browser: Browser, origin: string): Promise<DeploymentTab> {
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  const page = await context.newPage();
  // a page of the origin without rules of its own about scripts
  await page.goto(`${origin}/healthz`);
  await page.addScriptTag({ content: await bundleLibrary(['follow-session'], 'ledgerline') });
  await page.evaluate('window.streams = []');
  const words = (options: object, each: number): string => `${JSON.stringify(options)}, ${each}`;
  return {
    async follow(options, each) {
      await page.evaluate(`(${followByLibrary})(${words(options, each)})`);
      await page.evaluate(`(${followByEventSource})(${words(options, each)})`);
    },
    sequences: () => page.evaluate('streams.map(({ sequences }) => sequences)'),
    ended: () => page.evaluate('streams.filter(({ source }) => source?.readyState === EventSource.CLOSED).length'),
    protocol: () => page.evaluate(`performance.getEntriesByType('navigation')[0].nextHopProtocol`),
    close: () => context.close(),
  };
}
