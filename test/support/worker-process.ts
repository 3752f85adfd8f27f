/** Workers in processes of their own, to be killed and frozen: `ledgerline worker`, and one that minds no lease. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { spawnGuarded } from '../../src/db/guarded-process.ts';
import type { GuardedProcess } from '../../src/db/guarded-process.ts';
import type { AgentDefinition } from '../../src/worker/define-agent.ts';
import { deafWorker } from './deaf-worker.ts';
import type { DeafWorkerOptions } from './deaf-worker.ts';
import { START_MS } from './gateway.ts';
import { quickModule, quickProgram } from './quick-program.ts';
import { eventually } from './waits.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

export interface WorkerProcess {
  /** By which a running turn's head names it. */
  readonly name: string;
  readonly pid: number;
  readonly isRunning: boolean;
  /** 128 + n when signal n ended it. */
  readonly exit: Promise<number>;
  lines(): readonly string[];
  kill(): Promise<void>;
  /** Asks it to drain and end; resolves with its exit code. */
  terminate(): Promise<number>;
  freeze(): void;
  thaw(): void;
}

/** Its `run` travels as text, so it must not use anything from around it. */
export type AgentInProcess = Pick<AgentDefinition, 'run' | 'concurrency' | 'maxAttempts'>;

export interface WorkerProcessOptions {
  readonly folder: string;
  readonly name: string;
  readonly environment: Readonly<Record<string, string>>;
}

export async function startWorkerProcess(
  { run, ...numbers }: AgentInProcess,
  { folder, name, environment }: WorkerProcessOptions,
): Promise<WorkerProcess> {
  const file = join(folder, `agent-${name}.mjs`);
  const definition = `{ name: 'agent', ...${JSON.stringify(numbers)}, run: ${run.toString()} }`;
  const library = await quickModule('agent');
  writeFileSync(file, `import { defineAgent } from '${library}';\nexport default defineAgent(${definition});\n`);
  const worker = await startProgram(name, ['worker', '--name', name, file], environment);
  const works = (): boolean => worker.lines().some((line) => line.includes('"msg":"working"'));
  await eventually(`the worker ${name} works`, () => !worker.isRunning || works(), START_MS);
  // one that has worked may be dead by now: that is what these are for
  if (!works()) throw new Error(`the worker ${name} ended at once:\n${worker.lines().join('\n')}`);
  return worker;
}

export function startDeafWorker(
  options: Omit<DeafWorkerOptions, 'name'>,
  { folder, name }: Omit<WorkerProcessOptions, 'environment'>,
): Promise<WorkerProcess> {
  const file = join(folder, `deaf-${name}.mjs`);
  writeFileSync(file, `await (${deafWorker.toString()})(${JSON.stringify({ ...options, name })});\n`);
  return startProcess(name, [file], {});
}

/** `ledgerline`, as it was built. */
export const startProgram = async (
  name: string,
  commandLine: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<WorkerProcess> => startProcess(name, [await quickProgram('main'), ...commandLine], environment);

/** Of a file. */
export async function startProcess(
  name: string,
  commandLine: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<WorkerProcess> {
  const lines: string[] = [];
  const child: GuardedProcess = await spawnGuarded({
    command: process.execPath,
    arguments: commandLine,
    stopSignal: 'TERM',
    workingFolder: root,
    environment,
    onLine: (line) => lines.push(line),
  });
  return {
    name,
    pid: child.pid,
    get isRunning() {
      return child.isRunning;
    },
    exit: child.ended,
    lines: () => lines,
    async kill() {
      child.signal('SIGKILL');
      await child.ended;
    },
    terminate() {
      child.signal('SIGTERM');
      return child.ended;
    },
    freeze: () => child.signal('SIGSTOP'),
    thaw: () => child.signal('SIGCONT'),
  };
}
