/** `npm run newcomer [-- REPOSITORY]`: the clock of somebody new, from `git clone` to the first event on a terminal, step by step. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What a newcomer is promised. */
const PROMISED_SECONDS = 60;
/** A step that takes longer has hung. */
const HANG_MS = 600_000;

const root = fileURLToPath(new URL('..', import.meta.url));
const [repository = root] = process.argv.slice(2);

/** Nothing is configured: neither by us nor by the npm that runs this. */
const environment = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !/^(?:LEDGERLINE_|DATABASE_URL$|NATS_URL$|NODE_ENV$|INIT_CWD$|npm_(?:package|lifecycle)_)/.test(name),
  ),
);

interface Step {
  readonly command: string;
  readonly folder: string;
  /** The step is over when this has been printed; undefined: when the command has ended. */
  readonly until?: RegExp;
}

const seconds: { readonly command: string; readonly took: number }[] = [];
const running: ChildProcess[] = [];

async function step({ command, folder, until }: Step): Promise<void> {
  const began = performance.now();
  // In a group of its own, as a shell runs it: it is ended with all of its children.
  const child = spawn('sh', ['-c', command], { cwd: folder, env: environment, detached: true });
  running.push(child);
  const said = await outcome(child, until);
  if (said !== undefined) throw new Error(`${command}: ${said}`);
  const took = (performance.now() - began) / 1_000;
  seconds.push({ command, took });
  console.log(`${took.toFixed(1).padStart(7)} s  ${command}`);
}

/** Undefined when it went well, else what it said. */
function outcome(child: ChildProcess, until: RegExp | undefined): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    let printed = '';
    let said = '';
    const hang = setTimeout(() => resolve(`nothing came of it within ${HANG_MS} ms\n${said}`), HANG_MS);
    const settle = (failure: string | undefined): void => {
      clearTimeout(hang);
      resolve(failure);
    };
    child.stderr?.on('data', (text: Buffer) => (said += text.toString()));
    child.stdout?.on('data', (text: Buffer) => {
      printed += text.toString();
      if (until?.test(printed) === true) settle(undefined);
    });
    child.on('error', reject);
    child.on('close', (code) => settle(code === 0 && until === undefined ? undefined : `exit code ${code}\n${said}`));
  });
}

/** The newest first: whoever reads ends before whoever serves. */
async function endAll(): Promise<void> {
  for (const child of running.toReversed()) {
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) continue;
    const ended = once(child, 'close');
    process.kill(-child.pid, 'SIGINT');
    await ended;
  }
}

const parent = mkdtempSync(join(tmpdir(), 'ledgerline-newcomer-'));
// An embedded Postgres that root starts runs as another user, who must get through.
chmodSync(parent, 0o755);
const folder = join(parent, 'ledgerline');
try {
  await step({ command: `git clone --quiet '${repository}' ledgerline`, folder: parent });
  await step({ command: 'npm ci', folder });
  await step({ command: 'npm start -- --port 0 --internal-port 0', folder, until: /http:\/\/\S+/ });
  await step({ command: 'npx ledgerline tail demo', folder, until: /^\{"sequence":.*\}\n/m });
  const sum = seconds.reduce((total, { took }) => total + took, 0);
  console.log(`${sum.toFixed(1).padStart(7)} s  in all, of ${PROMISED_SECONDS} s`);
} finally {
  await endAll();
  rmSync(parent, { recursive: true, force: true, maxRetries: 5 });
}
