/** The files of docs/examples, run as they are: what they print, and how they end. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const examplesFolder = join(root, 'docs', 'examples');

export const exampleFiles = (): string[] => readdirSync(examplesFolder).toSorted();
export const readExample = (name: string): string => readFileSync(join(examplesFolder, name), 'utf8');

export interface RunningExample {
  /** What it printed when it has ended well; rejects with what it said when it has not. */
  readonly printed: Promise<string>;
  stdout(): string;
  signal(name: NodeJS.Signals): void;
}

/** Ends with the calling test. Nothing is inherited but the path, and `node` is the one that runs the test. */
export function startExample(
  words: readonly string[],
  environment: Readonly<Record<string, string>>,
  folder = root,
): RunningExample {
  const [command = '', ...rest] = words;
  const child: ChildProcess = spawn(command === 'node' ? process.execPath : command, rest, {
    cwd: folder,
    env: { PATH: process.env['PATH'], PYTHONDONTWRITEBYTECODE: '1', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const printed = new Promise<string>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === 0) resolve(stdout);
      else reject(new Error(`${words.join(' ')} ended with ${code ?? signal}:\n${stdout}${stderr}`));
    });
  });
  printed.catch(() => undefined); // whoever wants to know asks for it
  onTestFinished(() => void child.kill('SIGKILL'));
  return { printed, stdout: () => stdout, signal: (name) => void child.kill(name) };
}
