/** The command line as a person runs it: the built program in a process of its own, with nothing in its environment. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, chmodSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

export interface CliOptions {
  readonly folder: string;
  readonly environment?: Readonly<Record<string, string>>;
}

export interface Cli {
  readonly pid: number;
  /** 128 + n when signal n ended it. */
  readonly exit: Promise<number>;
  stdout(): string;
  stderr(): string;
  write(text: string | Buffer): void;
  endInput(): void;
  /** As the next command of a pipe does when it has enough. */
  closeOutput(): void;
  /** What it prints stays in the pipe until it is resumed. */
  pauseOutput(): void;
  resumeOutput(): void;
  signal(name: NodeJS.Signals): void;
}

const running = new Set<Cli>();

/** Ends what a failed test left running. */
export async function endAll(): Promise<void> {
  const left = [...running];
  for (const cli of left) cli.signal('SIGKILL');
  await Promise.all(left.map((cli) => cli.exit));
}

export function startCli(commandLine: readonly string[], { folder, environment = {} }: CliOptions): Cli {
  const child = spawn(process.execPath, [program, ...commandLine], {
    cwd: folder,
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  // A command that ends before it has read everything.
  child.stdin.on('error', () => undefined);
  const exit = new Promise<number>((resolve) => {
    child.once('close', (code, signal) => {
      running.delete(cli);
      resolve(code ?? 128 + (signal === 'SIGKILL' ? 9 : signal === 'SIGINT' ? 2 : 15));
    });
  });
  const cli: Cli = {
    pid: child.pid ?? 0,
    exit,
    stdout: () => stdout,
    stderr: () => stderr,
    write: (text) => void child.stdin.write(text),
    endInput: () => void child.stdin.end(),
    closeOutput: () => void child.stdout.destroy(),
    pauseOutput: () => void child.stdout.pause(),
    resumeOutput: () => void child.stdout.resume(),
    signal: (name) => void child.kill(name),
  };
  running.add(cli);
  return cli;
}

export interface CliResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export async function runCli(
  commandLine: readonly string[],
  options: CliOptions & { input?: string | Buffer },
): Promise<CliResult> {
  const cli = startCli(commandLine, options);
  if (options.input !== undefined) cli.write(options.input);
  cli.endInput();
  const code = await cli.exit;
  return { code, stdout: cli.stdout(), stderr: cli.stderr() };
}

/** A working folder that Postgres's own user may pass through, and its removal. */
export function makeWorkingFolder(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), 'ledgerline-cli-'));
  chmodSync(path, 0o755);
  return { path, remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 5 }) };
}
