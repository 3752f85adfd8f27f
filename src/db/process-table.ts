/** What the system knows of a process: from `/proc` where there is one (slim images have no `ps`), else from `ps`. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readlinkSync } from 'node:fs';

export interface ProcessInfo {
  readonly parent: number;
  readonly commandLine: string;
  /** Undefined where it cannot be told. */
  readonly workingFolder: string | undefined;
}

/** Undefined when there is no such process. */
export function processInfo(pid: number): ProcessInfo | undefined {
  return existsSync('/proc/self/stat') ? fromProc(pid) : fromPs(pid);
}

function fromProc(pid: number): ProcessInfo | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // the name before the bracket may hold anything
    const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (state === 'Z') return undefined;
    const commandLine = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
    return { parent: Number(parent), commandLine, workingFolder: workingFolder(pid) };
  } catch {
    // gone, or going
    return undefined;
  }
}

function workingFolder(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    // another user's
    return undefined;
  }
}

function fromPs(pid: number): ProcessInfo | undefined {
  const { stdout } = spawnSync('ps', ['-ww', '-o', 'ppid=,stat=,args=', '-p', String(pid)], { encoding: 'utf8' });
  const fields = /^\s*(\d+)\s+(\S+)\s+(.*)$/m.exec(stdout);
  if (fields === null || fields[2]?.startsWith('Z') === true) return undefined;
  return { parent: Number(fields[1]), commandLine: String(fields[3]), workingFolder: undefined };
}

export const isAlive = (pid: number): boolean => processInfo(pid) !== undefined;
