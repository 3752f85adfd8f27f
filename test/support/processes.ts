/** Signals for a whole server: Postgres is a family of processes, and each is its own process group. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { isAlive } from '../../src/db/process-table.ts';

export function childrenOf(pid: number): number[] {
  const path = `/proc/${pid}/task/${pid}/children`;
  if (existsSync(path)) return readFileSync(path, 'latin1').split(' ').filter(Boolean).map(Number);
  const pairs = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n');
  return pairs
    .map((pair) => pair.trim().split(/\s+/).map(Number))
    .filter(([, parent]) => parent === pid)
    .map(([child]) => Number(child));
}

/** The parent first, so that it starts no child that we miss. */
export function signalFamily(pid: number, signal: NodeJS.Signals): void {
  const family = [pid, ...childrenOf(pid)];
  for (const member of family) {
    try {
      process.kill(member, signal);
    } catch (error) {
      if (isAlive(member)) throw error;
    }
  }
}
