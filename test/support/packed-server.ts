/** The server's package as npm packs it, and an empty folder into which npm has installed it as a stranger does. */
import { execFile } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { inject } from 'vitest';
import { remove } from './run-folder.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

export interface PackedServer {
  readonly tarball: string;
  /** Of the package, below its own folder. */
  readonly files: readonly string[];
  /** A project of ESM whose one dependency it is. */
  readonly folder: string;
  remove(): void;
}

/** `beside` are packages of this repository that a user's project has, too. */
export async function packServer({ beside }: { readonly beside: readonly string[] }): Promise<PackedServer> {
  const home = mkdtempSync(join(inject('runFolder'), 'packed-'));
  chmodSync(home, 0o755); // the embedded Postgres runs as another user when the tests run as root
  const tarball = await pack(join(home, 'copy'), home);
  const folder = join(home, 'project');
  await install(tarball, folder);
  for (const name of beside) link(join(root, 'node_modules', name), join(folder, 'node_modules', name));
  return {
    tarball,
    files: await list(tarball),
    folder,
    remove: () => remove(home),
  };
}

/** Packs a copy with a `dist` of its own: the one that is here may hold what an older build left. */
async function pack(copy: string, destination: string): Promise<string> {
  mkdirSync(copy);
  for (const name of ['package.json', 'tsconfig.json', 'tsconfig.build.json', 'LICENSE', 'README.md', 'src', 'sql']) {
    cpSync(join(root, name), join(copy, name), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  await run('npm', ['run', '--silent', 'build:server'], copy);
  cpSync(join(root, 'dist', 'page'), join(copy, 'dist', 'page'), { recursive: true });
  // without the scripts that build the page anew and the web client
  const words = ['pack', '--ignore-scripts', '--json', '--pack-destination', destination];
  const [{ filename }] = JSON.parse(await run('npm', words, copy)) as [{ filename: string }];
  return join(destination, filename);
}

/** From npm's cache where it can, else from the registry that `npm ci` has used. */
async function install(tarball: string, folder: string): Promise<void> {
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'project', private: true, type: 'module' }));
  await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', tarball], folder);
}

async function list(tarball: string): Promise<string[]> {
  const paths = (await run('tar', ['-tzf', tarball], root)).split('\n');
  return paths.filter((path) => path !== '' && !path.endsWith('/')).map((path) => path.replace(/^package\//, ''));
}

function link(target: string, path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(target, path);
}

async function run(command: string, words: readonly string[], folder: string): Promise<string> {
  try {
    return (await promisify(execFile)(command, words, { cwd: folder, maxBuffer: 64 * 1024 * 1024 })).stdout;
  } catch (error) {
    const said = error instanceof Error && 'stdout' in error ? String(error.stdout) : '';
    throw new Error(`${command} ${words.join(' ')} failed:\n${said}`, { cause: error });
  }
}
