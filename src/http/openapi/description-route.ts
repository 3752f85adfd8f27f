/** GET /openapi.json and GET /api: what a listener serves, for machines and for people. */
import type { Clock } from '../../base/clock.ts';
import type { App } from '../context.ts';
import { declarationsOf, mountApart } from '../dispatch.ts';
import { pageFile } from '../page-files.ts';
import type { PageFile } from '../page-files.ts';
import { answerFile } from '../page-route.ts';
import type { Declaration, ListenerName } from './declaration.ts';
import { describeListener } from './document.ts';
import type { Pause } from './document.ts';
import { contentSecurityPolicy, renderPage } from './page.ts';

const documentHeaders = { 'Cache-Control': 'no-cache', Vary: 'Accept-Encoding, Origin' };
const pageHeaders = {
  ...documentHeaders,
  'Content-Security-Policy': contentSecurityPolicy,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
};

/** Without a credential: it tells what this program's source does. Made when it is first asked for. */
export function mountDescription(app: App, listener: ListenerName, clock: Pick<Clock, 'soon'>): void {
  const pause: Pause = () => new Promise((resolve) => void clock.soon(resolve));
  let made: Promise<Files> | undefined;
  const files = (): Promise<Files> => (made ??= describe(declarationsOf(app), listener, pause));
  mountApart(app, '/openapi.json', { GET: async (c) => answerFile(c, (await files()).document, documentHeaders) });
  mountApart(app, '/api', { GET: async (c) => answerFile(c, (await files()).page, pageHeaders) });
}

interface Files {
  readonly document: PageFile;
  readonly page: PageFile;
}

async function describe(declarations: readonly Declaration[], listener: ListenerName, pause: Pause): Promise<Files> {
  const document = await describeListener(declarations, listener, pause);
  return {
    document: pageFile('openapi.json', Buffer.from(JSON.stringify(document))),
    page: pageFile('api.html', Buffer.from(await renderPage(document, pause))),
  };
}
