/** The page for whoever reads HTML, with what a browser and the proxies before it need to be told; a few words for others. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { readPageFiles } from '../../src/http/page-files.ts';
import { createLab } from '../../src/lab/lab.ts';
import { exchange, head } from '../support/raw-http.ts';
import { startStubGateway } from '../support/stub-gateway.ts';
import type { StubGateway } from '../support/stub-gateway.ts';

const html =
  '<!doctype html>\n<html lang="en">\n  <head>\n    <title>Ledgerline</title>\n  </head>\n  <body></body>\n</html>\n';
const script = `/* ${'an event of a session, '.repeat(200)} */`;
const browserAccept = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8';

let folder: string;
let gateway: StubGateway;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'ledgerline-page-'));
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'index.html'), html);
  writeFileSync(join(folder, 'assets', 'index-D2E7D7Yv.js'), script);
  writeFileSync(join(folder, 'assets', 'index-CmW_puyd.css'), 'body { color: red }');
  writeFileSync(join(folder, 'assets', 'dot-Aa11bb22.png'), Buffer.alloc(4_096));
  writeFileSync(join(folder, 'secret.txt'), 'not for readers');
});
afterEach(() => gateway.stop());
afterAll(() => rmSync(folder, { recursive: true }));

const files = (hasLab = false) => readPageFiles(pathToFileURL(`${folder}/`), { hasLab })!;

/** Not `fetch`, which has an Accept-Encoding of its own and undoes what it asked for. */
async function ask(
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<{ status: number; header: (name: string) => string | undefined; body: Buffer }> {
  const received = await exchange(gateway.publicUrl, head(method, path, { Connection: 'close', ...headers }));
  const end = received.indexOf('\r\n\r\n');
  const lines = received.slice(0, end).split('\r\n');
  const named = new Map(
    lines.slice(1).map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]),
  );
  return {
    status: Number(lines[0]?.split(' ')[1]),
    header: (name) => named.get(name),
    body: Buffer.from(received.slice(end + 4), 'latin1'),
  };
}

describe('the way in', () => {
  it('is the page for a browser, and a few words for everybody else', async () => {
    gateway = await startStubGateway({ page: files() });
    const page = await ask('/?session=demo', { Accept: browserAccept });
    expect([page.status, page.header('content-type'), page.body.toString()]).toEqual([
      200,
      'text/html; charset=utf-8',
      html,
    ]);
    for (const accept of ['*/*', 'text/plain', 'text/html;q=0, */*', '']) {
      const words = await ask('/', { Accept: accept });
      expect(words.header('content-type'), accept).toMatch(/^text\/plain/);
      expect(words.body.toString()).toMatch(/^Ledgerline: every event/);
      expect(words.header('vary')).toBe('Accept, Origin');
    }
    expect(page.header('vary')).toBe('Accept, Accept-Encoding, Origin');
  });

  it('is words alone on the internal listener', async () => {
    gateway = await startStubGateway({ page: files() });
    const answer = await fetch(gateway.internalUrl, { headers: { accept: browserAccept } });
    expect(await answer.text()).toMatch(/^Ledgerline: every event/);
    expect((await fetch(`${gateway.internalUrl}/assets/index-D2E7D7Yv.js`)).status).toBe(404);
  });

  it('says how the page is built where it is not', async () => {
    gateway = await startStubGateway();
    const answer = await ask('/', { Accept: browserAccept });
    expect([answer.status, answer.header('content-type')]).toEqual([200, 'text/plain; charset=UTF-8']);
    expect(answer.body.toString()).toMatch(/^Ledgerline: every event[^]+npm run build:page/);
    expect((await ask('/assets/index-D2E7D7Yv.js')).status).toBe(404);
  });

  it('lets the page run its own files alone, and be framed by nobody', async () => {
    gateway = await startStubGateway({ page: files() });
    const page = await ask('/', { Accept: browserAccept });
    expect(page.header('content-security-policy')?.split('; ')).toEqual([
      `default-src 'none'`,
      `script-src 'self'`,
      `style-src 'self'`,
      `img-src 'self' data:`,
      `connect-src 'self'`,
      `font-src 'self'`,
      `base-uri 'none'`,
      `form-action 'none'`,
      `frame-ancestors 'none'`,
    ]);
    expect(page.header('referrer-policy')).toBe('no-referrer');
    expect(page.header('cross-origin-opener-policy')).toBe('same-origin');
    expect(page.header('x-content-type-options')).toBe('nosniff');
    expect(page.header('cache-control')).toBe('no-cache');
    expect(page.header('ledgerline-protocol')).toBe('1');
  });

  it('is not sent again to whoever has it', async () => {
    gateway = await startStubGateway({ page: files() });
    const first = await ask('/', { Accept: browserAccept });
    const etag = first.header('etag')!;
    for (const known of [etag, `"other", ${etag}`, etag.replace('W/', ''), '*']) {
      const again = await ask('/', { Accept: browserAccept, 'If-None-Match': known });
      expect([again.status, again.body.length, again.header('etag')], known).toEqual([304, 0, etag]);
      expect(again.header('cache-control')).toBe('no-cache');
      expect(again.header('vary')).toBe('Accept, Accept-Encoding, Origin');
    }
    expect((await ask('/', { Accept: browserAccept, 'If-None-Match': 'W/"older"' })).status).toBe(200);
  });

  it('answers HEAD as GET without a body, and nothing else', async () => {
    gateway = await startStubGateway({ page: files() });
    for (const path of ['/', '/assets/index-D2E7D7Yv.js']) {
      const headers = { Accept: browserAccept, 'Accept-Encoding': 'br' };
      const [got, headed] = [await ask(path, headers), await ask(path, headers, 'HEAD')];
      expect([headed.status, headed.body.length]).toEqual([200, 0]);
      for (const name of ['content-type', 'content-length', 'content-encoding', 'etag', 'cache-control', 'vary']) {
        expect(headed.header(name), name).toBe(got.header(name));
      }
      expect((await ask(path, headers, 'POST')).status).toBe(405);
    }
  });
});

describe('a file of the page', () => {
  const path = '/assets/index-D2E7D7Yv.js';

  it('is kept by caches for good, since its name changes with it', async () => {
    gateway = await startStubGateway({ page: files() });
    const answer = await ask(path);
    expect([answer.status, answer.header('content-type'), answer.header('cache-control')]).toEqual([
      200,
      'text/javascript; charset=utf-8',
      'public, max-age=31536000, immutable',
    ]);
    expect(answer.body.toString()).toBe(script);
    expect((await ask('/assets/index-CmW_puyd.css')).header('content-type')).toBe('text/css; charset=utf-8');
    expect((await ask('/assets/dot-Aa11bb22.png')).header('content-type')).toBe('image/png');
  });

  it.each([
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip', 'gzip'],
    ['GZIP;q=0.5', 'gzip'],
    ['br;q=0, gzip', 'gzip'],
    ['br;q=0, gzip;q=0', undefined],
    ['zstd', undefined],
    ['', undefined],
  ])('leaves for %j as %s, and is the same file', async (accepted, encoding) => {
    gateway = await startStubGateway({ page: files() });
    const answer = await ask(path, { 'Accept-Encoding': accepted });
    expect([answer.status, answer.header('content-encoding'), answer.header('vary')]).toEqual([
      200,
      encoding,
      'Accept-Encoding, Origin',
    ]);
    expect(answer.header('content-length')).toBe(String(answer.body.length));
    const undo = { br: brotliDecompressSync, gzip: gunzipSync, none: (bytes: Buffer) => bytes };
    expect(undo[(encoding ?? 'none') as keyof typeof undo](answer.body).toString()).toBe(script);
    if (encoding !== undefined) expect(answer.body.length).toBeLessThan(script.length / 4);
  });

  it('is not compressed where that saves nothing', async () => {
    gateway = await startStubGateway({ page: files() });
    for (const name of ['index-CmW_puyd.css', 'dot-Aa11bb22.png']) {
      const answer = await ask(`/assets/${name}`, { 'Accept-Encoding': 'gzip, br' });
      expect([answer.status, answer.header('content-encoding')]).toEqual([200, undefined]);
    }
  });

  it.each([
    '/assets/index-00000000.js',
    '/assets/',
    '/assets',
    '/assets/../secret.txt',
    '/assets/%2e%2e/secret.txt',
    '/assets/..%2fsecret.txt',
    '/assets/%2e%2e%2fsecret.txt',
    '/assets/..%5csecret.txt',
    '/assets//secret.txt',
    '/assets/%00',
    '/assets/__proto__',
    '/index.html',
    '/secret.txt',
  ])('is not %s', async (other) => {
    gateway = await startStubGateway({ page: files() });
    const answer = await ask(other, { Accept: browserAccept });
    expect([answer.status, answer.header('content-type'), answer.header('cache-control')]).toEqual([
      404,
      'application/problem+json',
      'no-store',
    ]);
    expect(JSON.parse(answer.body.toString())).toMatchObject({ type: 'urn:ledgerline:problem:not_found' });
  });
});

describe('a lab', () => {
  const meta = '<meta name="ledgerline-lab" content="on" />';

  it('is told to the page by its index, which then is another', async () => {
    expect(files().index.bytes.toString()).toBe(html);
    expect(files(true).index.bytes.toString()).toBe(html.replace('<head>', `<head>\n    ${meta}`));
    expect(files(true).index.etag).not.toBe(files().index.etag);
  });

  it.each([
    ['GET', '/lab'],
    ['POST', '/lab/faults'],
    ['POST', '/lab/head-check'],
    ['GET', '/lab/sessions/s1/marks'],
  ])('that is not there has no route %s %s', async (method, path) => {
    gateway = await startStubGateway({ page: files() });
    const headers = { Authorization: `Bearer ${await gateway.token()}` };
    expect((await ask(path, headers, method)).status).toBe(404);
    await gateway.stop();
    gateway = await startStubGateway({ lab: createLab({ clock: systemClock, restartGateway: () => undefined }) });
    expect((await ask(path, headers, method)).status).not.toBe(404);
    expect((await fetch(gateway.internalUrl + path, { method })).status).toBe(404);
  });
});
