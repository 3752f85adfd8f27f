/** A gateway as an operator runs it: the built program in a process of its own, on ports of its own. */
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../src/db/postgres-process.ts';
import { type GuardedProcess, spawnGuarded } from '../../src/db/guarded-process.ts';
import { quickProgram } from './quick-program.ts';
import { mintTestToken, type TokenOptions } from './token.ts';
import { eventually } from './waits.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const SECRET = 'a secret of the tests, long enough for HS256';
const KEY = 'a-key-of-the-tests-that-is-long-enough';
/** A busy machine may start many processes at once. */
export const START_MS = 60_000;

export interface GatewayOptions {
  readonly databaseUrl: string;
  /** Without one: the in-process bus. */
  readonly natsUrl?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

export interface RunningGateway {
  readonly publicUrl: string;
  readonly internalUrl: string;
  readonly key: string;
  readonly secret: string;
  /** Good for every session and scope. */
  readonly token: string;
  mint(options: TokenOptions): Promise<string>;
  readonly pid: number;
  /** The exit code of the process that runs now; 128 + n when signal n ended it. */
  readonly exit: Promise<number>;
  /** What it wrote so far, restarts included. */
  output(): string;
  kill(): Promise<void>;
  /** Asks it to drain and end; resolves with its exit code. */
  terminate(): Promise<number>;
  freeze(): void;
  thaw(): void;
  /** On the same ports; kills it first if it runs. */
  restart(): Promise<void>;
}

export async function startGateway(options: GatewayOptions): Promise<RunningGateway> {
  const lines: string[] = [];
  const publicPort = await freePort();
  const internalPort = await freePort();
  const internalUrl = `http://127.0.0.1:${internalPort}`;
  const environment = {
    DATABASE_URL: options.databaseUrl,
    ...(options.natsUrl === undefined ? {} : { NATS_URL: options.natsUrl }),
    LEDGERLINE_PUBLIC_HOST: '127.0.0.1',
    LEDGERLINE_PUBLIC_PORT: String(publicPort),
    LEDGERLINE_INTERNAL_HOST: '127.0.0.1',
    LEDGERLINE_INTERNAL_PORT: String(internalPort),
    LEDGERLINE_TOKEN_SECRET: SECRET,
    LEDGERLINE_INTERNAL_KEY: KEY,
    ...options.environment,
  };

  const start = async (): Promise<GuardedProcess> => {
    const gateway = await spawnGuarded({
      command: process.execPath,
      arguments: [await quickProgram('main'), 'serve'],
      stopSignal: 'TERM',
      workingFolder: root,
      environment,
      onLine: (line) => lines.push(line),
    });
    const listens = async (): Promise<boolean> =>
      !gateway.isRunning || ((await answers(`${internalUrl}/healthz`)) && (await accepts(publicPort)));
    await eventually('the gateway listens', listens, START_MS);
    if (!gateway.isRunning) throw new Error(`the gateway ended at once:\n${lines.slice(-20).join('\n')}`);
    return gateway;
  };

  let gateway = await start();
  const kill = async (): Promise<void> => {
    gateway.signal('SIGKILL');
    await gateway.ended;
  };
  return {
    publicUrl: `http://127.0.0.1:${publicPort}`,
    internalUrl,
    key: KEY,
    secret: SECRET,
    token: await mintTestToken(SECRET),
    mint: (token) => mintTestToken(SECRET, token),
    get pid() {
      return gateway.pid;
    },
    get exit() {
      return gateway.ended;
    },
    output: () => lines.join('\n'),
    kill,
    terminate() {
      gateway.signal('SIGTERM');
      return gateway.ended;
    },
    freeze: () => gateway.signal('SIGSTOP'),
    thaw: () => gateway.signal('SIGCONT'),
    async restart() {
      await kill();
      gateway = await start();
    },
  };
}

async function answers(url: string): Promise<boolean> {
  const response = await fetch(url);
  await response.body?.cancel();
  return response.ok;
}

/** The public listener may speak HTTP/2 alone, which `fetch` does not. */
function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
