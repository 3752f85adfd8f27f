/** A Python program that uses the client, as a process of its own. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../../docs/clients/python', import.meta.url));

export interface PythonProgram {
  /** What it printed, when it has ended well; rejects with what it said when it has not. */
  readonly printed: Promise<string>;
  stdout(): string;
  kill(): void;
}

/** `from ledgerline import …` works in it, and what it is given stands in `given`. */
export function startPython(source: string, given: object = {}): PythonProgram {
  const prologue = 'import json, os, sys\ngiven = json.loads(os.environ["GIVEN"])\n';
  const child = spawn('python3', ['-W', 'error', '-c', prologue + source], {
    env: { PATH: process.env['PATH'], PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: '1', GIVEN: JSON.stringify(given) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const printed = new Promise<string>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve(stdout);
      else reject(new Error(`python3 ended with ${code}:\n${stderr}`));
    });
  });
  printed.catch(() => undefined);
  return { printed, stdout: () => stdout, kill: () => void child.kill('SIGKILL') };
}

export const runPython = (source: string, given: object = {}): Promise<string> => startPython(source, given).printed;
