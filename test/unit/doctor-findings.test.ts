/** Every finding of the doctor's is described as bad as it is, and its credentials go where they belong. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { Context } from '../../src/cli/context.ts';
import { findDeployment } from '../../src/cli/doctor/deployment.ts';
import { severities } from '../../src/cli/doctor/finding.ts';

const folder = mkdtempSync(join(tmpdir(), 'ledgerline-doctor-'));
afterAll(() => rmSync(folder, { recursive: true }));

const dev = { public: 'http://127.0.0.1:1', internal: 'http://127.0.0.1:2', token: 'dev-token', key: 'dev-key' };
mkdirSync(join(folder, '.ledgerline'));
writeFileSync(join(folder, '.ledgerline', 'dev.json'), JSON.stringify(dev));

const context = (env: Record<string, string>): Context => ({
  env,
  folder,
  input: Readable.from([]),
  output: { print: () => Promise.resolve(), note: () => undefined, isClosed: false },
  stop: new AbortController().signal,
  clock: systemClock,
});

test('the document has every finding, with its severity, and no other', () => {
  const document = readFileSync(new URL('../../docs/DOCTOR.md', import.meta.url), 'utf8');
  const described = [...document.matchAll(/^\| `([a-z0-9_]+)` \| (ok|hint|fault|skipped) \|/gm)];
  expect(described.map(([, name, severity]) => [name, severity])).toEqual(
    expect.arrayContaining(Object.entries(severities)),
  );
  expect(described).toHaveLength(Object.keys(severities).length);
});

test('a development server’s credentials are used for it and for proxies on this machine', async () => {
  const { token, key } = dev;
  expect(await findDeployment(context({}), undefined)).toMatchObject({ url: dev.public, token, key });
  expect(await findDeployment(context({}), 'http://localhost:9')).toMatchObject({
    url: 'http://localhost:9',
    token,
    key,
  });
});

test.each([
  'https://events.example.com',
  'http://127.0.0.1.example.com',
  'http://localhost.example.com',
  'http://my-localhost',
])('and never sent to %s', async (url) => {
  expect(await findDeployment(context({}), url)).toMatchObject({ url, token: undefined, key: undefined });
});

test('nor mixed with what the environment names', async () => {
  const env = { LEDGERLINE_TOKEN: 'a-token' };
  expect(await findDeployment(context(env), 'http://localhost:9')).toMatchObject({ token: 'a-token', key: undefined });
  await expect(findDeployment(context(env), undefined)).rejects.toThrow('no address to look at');
});
