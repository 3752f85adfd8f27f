/** Does one measurement in a process and a folder of its own, and sees to it that nothing of it is left, however it ends. */
import { execFileSync, fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sleep } from '../src/base/clock.ts';
import { sendSignal } from '../src/db/guarded-process.ts';
import { processInfo } from '../src/db/process-table.ts';
import type { Pace } from './benches.ts';
import type { Report } from './report.ts';

/** A database's orderly shutdown takes seconds; its guard kills it after ten. */
const END_MS = 30_000;

export type Told = { readonly report: Report } | { readonly failure: string };

export interface CaseOptions {
  readonly name: string;
  readonly pace: Pace;
  readonly deadlineMs: number;
  /** Where its folder is made. */
  readonly within: string;
  /** Ends it before it is done. */
  readonly signal: AbortSignal;
}

/** Resolves when all that it started has ended: undefined when `signal` was quicker. */
export async function runCase(options: CaseOptions): Promise<Told | undefined> {
  const { name, pace, deadlineMs, within, signal } = options;
  const folder = await mkdtemp(join(within, `ledgerline-bench-${name}-`));
  // Root's Postgres runs as somebody else, who must get through.
  await chmod(folder, 0o755);
  const child = fork(fileURLToPath(new URL('case-process.ts', import.meta.url)), [name, pace], {
    // Every server's folder is in this one, by which it is found.
    env: { ...process.env, TMPDIR: folder },
    serialization: 'advanced',
    execArgv: ['--import', 'tsx'],
    // A group of its own with all that it forks: a Ctrl-C reaches us alone, and we end the group.
    detached: true,
  });
  try {
    return await told(child, deadlineMs, signal);
  } finally {
    await end(child);
    await endServers(folder);
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function told(child: ChildProcess, deadlineMs: number, signal: AbortSignal): Promise<Told | undefined> {
  const over = new AbortController();
  const abort = AbortSignal.any([signal, over.signal]);
  const failure = (what: string): Told => ({ failure: what });
  try {
    return await Promise.race([
      once(child, 'message', { signal: abort }).then(([message]) => message as Told),
      once(child, 'exit', { signal: abort }).then(([code, by]) => failure(`its process ended with ${code ?? by}`)),
      sleep(deadlineMs, over.signal).then(() => failure(`it was not done within ${deadlineMs / 1_000} s`)),
    ]);
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  } finally {
    over.abort();
  }
}

async function end(child: ChildProcess): Promise<void> {
  const { pid } = child;
  const hasEnded = child.exitCode !== null || child.signalCode !== null;
  const ended = hasEnded ? undefined : once(child, 'exit');
  // What it forked may outlive it for a moment.
  if (pid !== undefined) sendSignal(-pid, 'SIGKILL');
  await ended;
}

/** Its servers have guards that end them when it is gone; waited for, since a folder in use cannot be removed. */
async function endServers(folder: string): Promise<void> {
  for (const deadline = performance.now() + END_MS; performance.now() < deadline; await sleep(100)) {
    if (pidsIn(folder).length === 0) return;
  }
  for (const pid of pidsIn(folder)) sendSignal(pid, 'SIGKILL');
}

/** Whoever was started with a path in `folder`. */
export const pidsIn = (folder: string): number[] =>
  allPids().filter((pid) => processInfo(pid)?.commandLine.includes(folder) === true);

/** From `/proc` where there is one: a slim image has no `ps`. */
function allPids(): number[] {
  const names = existsSync('/proc/self/stat')
    ? readdirSync('/proc')
    : execFileSync('ps', ['-A', '-o', 'pid='], { encoding: 'utf8' }).split('\n');
  return names.map(Number).filter((pid) => pid > 0);
}
