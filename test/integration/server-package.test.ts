/** The server’s package can be published as it is: installed in an empty folder, it runs, can be imported, and has its types. */
import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type PackedServer, packServer } from '../support/packed-server.ts';
import { eventually } from '../support/waits.ts';
import { importsOf } from '../tidy/imports.ts';
import { readSources, readText } from '../tidy/sources.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);
const { exports, version } = JSON.parse(readText('package.json')) as {
  exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>;
  version: string;
};
const entries = Object.entries(exports).flatMap(([name, target]) =>
  typeof target === 'string' ? [] : [{ name, ...target }],
);
const sourceOf = (path: string): string => path.replace(/^\.\/dist\/(.+)\.js$/, 'src/$1.ts');

let packed: PackedServer;
beforeAll(async () => {
  packed = await packServer({ beside: ['@types/node', 'undici-types'] });
}, 300_000);
afterAll(() => packed?.remove());

test('it holds what runs, its types, the page, the migrations and what a package says of itself, and nothing else', () => {
  const sources = readSources('src').map(({ path }) => path.replace(/^src\/|\.ts$/g, ''));
  const built = sources.flatMap((name) => [`dist/${name}.js`, `dist/${name}.d.ts`]);
  const migrations = readSources('sql', ['.sql']).map(({ path }) => path);
  const expected = [
    'LICENSE',
    'README.md',
    'package.json',
    ...built,
    ...migrations.filter((path) => /\/\d/.test(path)),
  ];
  const page = (path: string): boolean => path.startsWith('dist/page/');
  expect(packed.files.filter((path) => !page(path)).toSorted()).toEqual(expected.toSorted());
  const assets = packed.files.filter(page).map((path) => path.replace(/-[\w-]{8}\./, '.'));
  expect(assets).toEqual(expect.arrayContaining(['dist/page/index.html', 'dist/page/assets/index.js']));
  expect(assets.filter((path) => !/\.(?:html|js|css|svg|woff2)$/.test(path))).toEqual([]);
});

test('nothing in it points to a map that is not there', () => {
  const home = join(packed.folder, 'node_modules', 'ledgerline');
  const scripts = packed.files.filter((path) => path.endsWith('.js'));
  expect(scripts.filter((path) => readFileSync(join(home, path), 'utf8').includes('sourceMappingURL='))).toEqual([]);
});

test('publint finds nothing to say', async () => {
  const tarball = new Uint8Array(readFileSync(packed.tarball)).buffer;
  const { messages, pkg } = await publint({ pack: { tarball }, strict: true });
  expect(messages.map((message) => formatMessage(message, pkg as Record<string, unknown>))).toEqual([]);
});

test('attw finds the types of every entry right for whoever imports modules', () => {
  const command = fileURLToPath(import.meta.resolve('@arethetypeswrong/cli/package.json'));
  const words = [join(dirname(command), 'dist/index.js'), packed.tarball, '--profile', 'esm-only', '--format', 'json'];
  const { status, stdout } = spawnSync(process.execPath, words, { encoding: 'utf8' });
  const { analysis, problems } = JSON.parse(stdout) as {
    analysis: { entrypoints: Record<string, { hasTypes: boolean }> };
    problems?: Record<string, { resolutionKind: string }[]>;
  };
  const typed = Object.keys(analysis.entrypoints).filter((entry) => analysis.entrypoints[entry]?.hasTypes === true);
  expect(typed.toSorted()).toEqual(entries.map(({ name }) => name).toSorted());
  // those that cannot import modules are told so by its `type` and `exports`
  const kinds = Object.values(problems ?? {}).flatMap((all) => all.map(({ resolutionKind }) => resolutionKind));
  expect(kinds.filter((kind) => !['node10', 'node16-cjs'].includes(kind))).toEqual([]);
  expect(status).toBe(0);
});

test('Node imports every entry, and what it exports is what its source exports', async () => {
  const imports = entries.map(({ name }) => `Object.keys(await import('${name.replace('.', 'ledgerline')}'))`);
  const script = `console.log(JSON.stringify([${imports.join(', ')}]))`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script], { cwd: packed.folder });
  const exported = JSON.parse(stdout) as string[][];
  for (const [index, { default: path }] of entries.entries()) {
    const source: object = await import(posix.join(root, sourceOf(path)));
    expect(exported[index]?.toSorted()).toEqual(Object.keys(source).toSorted());
    expect(Object.keys(source)).not.toEqual([]);
  }
});

const programs = {
  'server.ts': `
import { LedgerlineError, createServer } from 'ledgerline/server';
const server = createServer({ databaseUrl: 'postgres://…', tokenSecret: '…', internalKey: '…', natsUrl: undefined });
await server.start();
export const address: string = server.publicUrl;
export const codeOf = (error: unknown): string | undefined => (error instanceof LedgerlineError ? error.code : undefined);
`,
  'agent.ts': `
import { createConsumer } from 'ledgerline/inbox';
import { createProducer } from 'ledgerline/producer';
import { appendUIMessageStream } from 'ledgerline/ui-message-stream';
import { defineAgent } from 'ledgerline/worker';
const producer = createProducer({ url: 'http://127.0.0.1:8081', key: 'k', session: 's' });
export const { last }: { last: number } = await producer.close();
export const all = [appendUIMessageStream, createConsumer];
export default defineAgent({ name: 'a', run: async (turn) => void (await turn.append('note', turn.turn)) });
`,
};

test.each(['nodenext', 'bundler'])('its types compile, resolved as by %s; the server’s need nobody else’s', (kind) => {
  for (const [name, types] of [
    ['server.ts', []],
    ['agent.ts', ['node']],
  ] as const) {
    const folder = join(packed.folder, `${name}-${kind}`);
    mkdirSync(folder);
    writeFileSync(join(folder, name), programs[name]);
    const compilerOptions = {
      target: 'es2023',
      module: kind === 'bundler' ? 'esnext' : kind,
      moduleResolution: kind,
      types,
      strict: true,
      exactOptionalPropertyTypes: true,
      skipLibCheck: false,
      noEmit: true,
    };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['.'] }));
    // what other packages' types say of each other is not ours to mend; the server's have none behind them
    const isOurs = (line: string) => name === 'server.ts' || !/^\S*node_modules\/(?!ledgerline\/)/.test(line);
    expect(diagnosticsOf(folder).filter(isOurs)).toEqual([]);
  }
});

function diagnosticsOf(folder: string): string[] {
  const words = [join(root, 'node_modules/typescript/bin/tsc'), '-p', folder, '--pretty', 'false'];
  const { stdout, stderr, status } = spawnSync(process.execPath, words, { encoding: 'utf8' });
  return status === 0 ? [] : `${stdout}${stderr}`.split('\n').filter((line) => line.includes(': error '));
}

test('npx ledgerline says how it is used, and which release it is', () => {
  const say = (command: string, ...words: string[]): string =>
    execFileSync(command, words, { cwd: packed.folder, encoding: 'utf8' });
  expect(say('npx', 'ledgerline', '--help')).toContain('dev [options]');
  expect(say(join(packed.folder, 'node_modules/.bin/ledgerline'), '--version')).toBe(`${version}\n`);
});

test('npx ledgerline dev serves the page and lets the demo speak, from a Postgres of its own', async () => {
  const child = spawn('npx', ['ledgerline', 'dev', '--port', '0', '--internal-port', '0', '--json'], {
    cwd: packed.folder,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
  let isOver = false;
  const over = new Promise<void>((resolve) => {
    child.once('close', () => resolve(void (isOver = true)));
  });
  onTestFinished(() => {
    if (!isOver) process.kill(-Number(child.pid), 'SIGKILL');
  });
  const server = await eventually(
    'it says where it is',
    () => {
      if (isOver) return { public: '', token: '' };
      return printed.endsWith('\n') && (JSON.parse(printed) as { public: string; token: string });
    },
    60_000,
  );
  expect(server.public, said).not.toBe('');
  const page = await fetch(server.public, { headers: { accept: 'text/html' } });
  const script = /<script[^>]+src="([^"]+)"/.exec(await page.text())?.[1] ?? '';
  expect((await fetch(`${server.public}${script}`)).headers.get('content-type')).toMatch(/javascript/);
  const headers = { authorization: `Bearer ${server.token}` };
  await eventually('the visitor is answered', async () => {
    const answer = await fetch(`${server.public}/sessions/demo/events`, { headers });
    return answer.ok && /"type":"message\.created"[^]+"type":"[a-z]+\.delta"/.test(await answer.text());
  });
  const told = join(packed.folder, '.ledgerline', 'dev.json');
  expect(existsSync(told)).toBe(true);
  // as a terminal does for Ctrl-C; npx ends by the signal, and what it has started in its own order
  process.kill(-Number(child.pid), 'SIGINT');
  await over;
  expect(existsSync(told)).toBe(false);
}, 120_000);

test('an agent’s file can be imported without a connection: what stands behind it needs no client of one', () => {
  const packages = new Set<string>();
  const seen = new Set<string>();
  const walk = (path: string): void => {
    if (seen.has(path)) return;
    seen.add(path);
    // What a transactional tool is given has a type of the client's, which is gone when the file is run.
    const code = readText(path).replaceAll(/^import type\b[^;]*;$/gm, '');
    for (const name of importsOf(code)) {
      if (name.startsWith('.')) walk(posix.join(posix.dirname(path), name));
      else packages.add(name);
    }
  };
  walk('src/worker/define-agent.ts');
  expect([...packages].filter((name) => !name.startsWith('node:'))).toEqual(['zod']);
});
