/** The web client's package can be published as it is: whole, typed, importable, and nothing in it that does not belong. */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readSources } from '../tidy/sources.ts';
import { type PackedClient, packClient } from '../support/packed-client.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

interface Manifest {
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly [field: string]: unknown;
}

const manifest = JSON.parse(readFileSync(join(root, 'web-client/package.json'), 'utf8')) as Manifest;
const entries = Object.keys(manifest.exports).filter((entry) => entry !== './package.json');

let packed: PackedClient;
let files: string[];
beforeAll(() => {
  packed = packClient();
  files = execFileSync('tar', ['-tzf', packed.tarball], { encoding: 'utf8' })
    .split('\n')
    .filter((path) => path !== '' && !path.endsWith('/'))
    .map((path) => path.replace(/^package\//, ''));
});
afterAll(() => packed?.remove());

test('it holds the library, its types, its sources and what a package says of itself, and nothing stale', () => {
  const sources = readSources('web-client/src').map(({ path }) => path.replace(/^web-client\/src\/|\.tsx?$/g, ''));
  const built = sources.flatMap((name) => [`dist/${name}.js`, `dist/${name}.js.map`, `dist/${name}.d.ts`]);
  const expected = ['LICENSE', 'README.md', 'package.json', ...built, ...sources.map((name) => `src/${name}.ts`)];
  expect(files.toSorted()).toEqual(expected.toSorted());
});

test('its licence is the house’s, to the letter', () => {
  const texts = ['LICENSE', 'web-client/LICENSE'].map((path) => readFileSync(join(root, path), 'utf8'));
  expect(texts[1]).toBe(texts[0]);
});

test('every entry is there, code and types', () => {
  expect(entries).toEqual([
    '.',
    './history',
    './send',
    './sessions',
    './timeline',
    './session-view',
    './react',
    './ai',
  ]);
  for (const entry of entries) {
    const conditions = manifest.exports[entry];
    expect(conditions).toEqual({ types: expect.any(String), default: expect.any(String) });
    for (const path of Object.values(conditions as Record<string, string>)) expect(files).toContain(path.slice(2));
  }
});

test('publint finds nothing to say', async () => {
  const { messages, pkg } = await publint({
    pack: { tarball: new Uint8Array(readFileSync(packed.tarball)).buffer },
    strict: true,
  });
  expect(messages.map((message) => formatMessage(message, pkg as Record<string, unknown>))).toEqual([]);
});

test('attw finds the types right for whoever imports modules', () => {
  const command = join(
    dirname(fileURLToPath(import.meta.resolve('@arethetypeswrong/cli/package.json'))),
    'dist/index.js',
  );
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [command, packed.tarball, '--profile', 'esm-only', '--format', 'json'],
    { encoding: 'utf8' },
  );
  expect(stderr).toBe('');
  const { analysis, problems } = JSON.parse(stdout) as {
    analysis: { entrypoints: Record<string, { hasTypes: boolean }> };
    problems?: Record<string, { resolutionKind: string }[]>;
  };
  expect(Object.keys(analysis.entrypoints).filter((entry) => analysis.entrypoints[entry]?.hasTypes === true)).toEqual(
    entries,
  );
  // those that cannot import modules are told so by its `type` and `exports`
  const ofModules = Object.values(problems ?? {})
    .flat()
    .filter(({ resolutionKind }) => !['node10', 'node16-cjs'].includes(resolutionKind));
  expect(ofModules).toEqual([]);
  expect(status).toBe(0);
});

test.each(entries)('Node imports %s, and what it exports is what its source exports', async (entry) => {
  const name = entry.replace('.', '@ledgerline/web-client');
  const script = `console.log(JSON.stringify(Object.keys(await import(${JSON.stringify(name)}))))`;
  const exported = execFileSync(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: packed.folder,
    encoding: 'utf8',
  });
  const source = (manifest.exports[entry] as { default: string }).default.replace(/^\.\/dist\/(.+)\.js$/, '$1.ts');
  const module: object = await import(join(root, 'web-client/src', source));
  expect((JSON.parse(exported) as string[]).toSorted()).toEqual(Object.keys(module).toSorted());
  expect(Object.keys(module)).not.toEqual([]);
});
