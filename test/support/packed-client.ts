/** The web client as npm packs it, and a project in which it is installed as from a registry. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';
import { remove } from './run-folder.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** What it needs at run time, what it may be used with and what may be used beside it. */
const COMPANIONS = [
  'eventsource-parser',
  'react',
  'react-dom',
  '@types/react',
  '@types/react-dom',
  'ai',
  '@ai-sdk/react',
  'eventsource',
  'zod',
];

export interface PackedClient {
  readonly tarball: string;
  /** A project of ESM: the package unpacked, the packages that go with it linked. */
  readonly folder: string;
  remove(): void;
}

/** Packs a copy, since packing begins with an empty `dist` and other tests run the one that is here. */
export function packClient(): PackedClient {
  const home = mkdtempSync(join(inject('runFolder'), 'packed-'));
  const copy = join(home, 'copy');
  for (const name of ['package.json', 'tsconfig.json', 'LICENSE', 'web-client']) {
    cpSync(join(root, name), join(copy, name), {
      recursive: true,
      filter: (path) => !['node_modules', 'dist'].includes(basename(path)),
    });
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  mkdirSync(join(copy, 'web-client', 'dist'));
  writeFileSync(join(copy, 'web-client', 'dist', 'stale.js'), '// of a file that is not there any more\n');
  pack(copy, home);
  const name = readdirSync(home).find((entry) => entry.endsWith('.tgz'));
  if (name === undefined) throw new Error('npm packed nothing');
  const tarball = join(home, name);
  return { tarball, folder: install(tarball, join(home, 'project')), remove: () => remove(home) };
}

function pack(folder: string, destination: string): void {
  try {
    const words = ['pack', '--foreground-scripts', '--workspace', 'web-client', '--pack-destination', destination];
    execFileSync('npm', words, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'], encoding: 'utf8' });
  } catch (error) {
    const output = error instanceof Error && 'stdout' in error ? String(error.stdout) : '';
    throw new Error(`npm could not pack the web client:\n${output}`, { cause: error });
  }
}

function install(tarball: string, folder: string): string {
  const target = join(folder, 'node_modules', '@ledgerline', 'web-client');
  mkdirSync(target, { recursive: true });
  execFileSync('tar', ['-xzf', tarball, '-C', target, '--strip-components=1']);
  const link = (name: string, path: string): void => {
    mkdirSync(dirname(join(folder, 'node_modules', name)), { recursive: true });
    symlinkSync(path, join(folder, 'node_modules', name));
  };
  for (const name of COMPANIONS) link(name, join(root, 'node_modules', name));
  link('ledgerline', root);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'project', private: true, type: 'module' }));
  return folder;
}
