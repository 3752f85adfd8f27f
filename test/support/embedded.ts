/** An embedded Postgres for a test: in this process, or in one that the test may kill. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import postgres from 'postgres';
import { inject, onTestFinished } from 'vitest';
import { silentLog } from '../../src/base/log.ts';
import { type EmbeddedOptions, type EmbeddedPostgres, embeddedPostgres } from '../../src/db/embedded.ts';
import { readPostmasterFile } from '../../src/db/postgres-process.ts';

const childProgram = fileURLToPath(new URL('embedded-child.ts', import.meta.url));

/** A user's project, empty. */
export function makeProject(): string {
  const project = mkdtempSync(join(inject('runFolder'), 'project-'));
  chmodSync(project, 0o755);
  return project;
}

let prepared: Promise<string> | undefined;

/** A `.ledgerline` whose Postgres has run before, which saves its test a second of preparing one. */
export async function preparedFolder(): Promise<string> {
  prepared ??= prepare();
  const folder = join(makeProject(), '.ledgerline');
  execFileSync('cp', ['-Rp', await prepared, folder]);
  return folder;
}

async function prepare(): Promise<string> {
  const folder = newFolder();
  const embedded = embeddedPostgres({ folder, log: silentLog });
  await embedded.start();
  await embedded.stop();
  return folder;
}

/** A `.ledgerline` that is not there yet. */
export const newFolder = (): string => join(makeProject(), '.ledgerline');

export const dataOf = (folder: string): string => join(folder, 'postgres', 'cluster', 'data');

export function pidOf(folder: string): number {
  const file = readPostmasterFile(dataOf(folder));
  if (file === undefined) throw new Error(`no Postgres runs in ${folder}`);
  return file.pid;
}

export async function startEmbedded(folder: string, options: Partial<EmbeddedOptions> = {}): Promise<EmbeddedPostgres> {
  const embedded = embeddedPostgres({ folder, log: silentLog, ...options });
  onTestFinished(() => embedded.stop());
  await embedded.start();
  return embedded;
}

export interface Child {
  readonly process: ChildProcess;
  readonly url: string;
}

/** The same in a process of its own, and a process group of its own. */
export async function startChild(
  options: Partial<EmbeddedOptions> & { folder: string; become?: number },
): Promise<Child> {
  const running = spawn(process.execPath, ['--import', 'tsx', childProgram, JSON.stringify(options)], {
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const said: string[] = [];
  createInterface({ input: running.stderr }).on('line', (line) => said.push(line));
  onTestFinished(async () => {
    if (running.exitCode !== null || running.signalCode !== null) return;
    running.stdin.end();
    await once(running, 'close');
  });
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: running.stdout }).once('line', resolve);
    running.once('close', () => reject(new Error(`the child ended:\n${said.join('\n')}`)));
  });
  return { process: running, url };
}

export async function ask(url: string, query: string): Promise<unknown> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  try {
    const [row] = await sql.unsafe(query).values();
    return row?.[0];
  } finally {
    await sql.end();
  }
}
