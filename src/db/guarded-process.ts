/** Starts a server that cannot outlive this process: a small shell stands between the two and stops it when we are gone. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { assert } from '../base/assert.ts';
import { LedgerlineError } from '../base/errors.ts';
import { type Account, identity } from './account.ts';

export interface GuardedOptions {
  readonly command: string;
  readonly arguments: readonly string[];
  /** What asks the server to stop when nobody is left to want it. */
  readonly stopSignal: 'INT' | 'TERM';
  readonly workingFolder: string;
  /** Beside a bare minimum; nothing is inherited, so that a `PGPORT` or a `LANG` of ours changes nothing. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Undefined: as ourselves. */
  readonly account?: Account | undefined;
  /** Each line of the server's output. */
  readonly onLine: (line: string) => void;
}

export interface GuardedProcess {
  /** The server's own, not the shell's. */
  readonly pid: number;
  readonly isRunning: boolean;
  /** The server's exit code; 128 + n when signal n ended it. */
  readonly ended: Promise<number>;
  signal(signal: NodeJS.Signals): void;
  /** Sends the stop signal, the way it would be sent if this process died. */
  release(): void;
}

/**
 * The shell's standard input is a pipe whose other end only this process holds, so `read` returns when this process
 * ends, however it ends; a teardown of ours would not run after kill -9. A frozen server hears nothing until CONT, and
 * one that does not listen is killed. The watcher naps a second at a time: a nap that was told to end before it was quite
 * there never heard of it, and a short one is over by itself. The server gets neither the pipe nor the terminal.
 */
const GUARD = `
signal=$1; shift
exec 3<&0
"$@" 3<&- </dev/null >&2 &
server=$!
echo "$server"
{
  read -r line <&3
  kill -s "$signal" "$server"; kill -s CONT "$server"
  for second in 1 2 3 4 5 6 7 8 9 10; do
    sleep 1
    kill -0 "$server" || exit
  done
  kill -s KILL "$server"
} >/dev/null 2>&1 &
watcher=$!
exec 3<&- >&-
wait "$server"
status=$?
kill "$watcher"
exit "$status"
`;

/** How the shell shows in the table of processes. */
export const GUARD_NAME = 'ledgerline-guard';

export async function spawnGuarded(options: GuardedOptions): Promise<GuardedProcess> {
  const shell = spawn('/bin/sh', ['-c', GUARD, GUARD_NAME, options.stopSignal, options.command, ...options.arguments], {
    cwd: options.workingFolder,
    // a process group of its own: Ctrl-C reaches us first, and the server when we have finished with it
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', ...options.environment },
    ...identity(options.account),
  });
  let isRunning = true;
  const ended = new Promise<number>((resolve) => {
    shell.once('close', (code) => {
      isRunning = false;
      resolve(code ?? 1);
    });
  });
  // the shell may be gone when we write the end of file
  shell.stdin.on('error', () => undefined);
  createInterface({ input: shell.stderr }).on('line', options.onLine);
  const pid = await new Promise<number>((resolve, reject) => {
    shell.once('error', (cause) => {
      reject(new LedgerlineError('configuration', `cannot run ${options.command}: ${cause.message}`, {}, cause));
    });
    shell.once('close', (code) => {
      reject(new LedgerlineError('configuration', `cannot run ${options.command}: its shell ended with ${code}`));
    });
    createInterface({ input: shell.stdout }).once('line', (line) => resolve(Number(line)));
  });
  assert(Number.isSafeInteger(pid) && pid > 1, 'the guard tells the pid of its server');
  return {
    pid,
    get isRunning() {
      return isRunning;
    },
    ended,
    signal(signal) {
      if (isRunning) sendSignal(pid, signal);
    },
    release: () => void shell.stdin.end(),
  };
}

/** A process that ended between our look and our signal has nothing left to be told. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
