/** Makes a Postgres data folder and runs a Postgres on it, on the loopback only. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { sleep, systemClock } from '../base/clock.ts';
import { LedgerlineError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Account } from './account.ts';
import { type GuardedProcess, spawnGuarded } from './guarded-process.ts';

/** Recovery of a development database after a power cut, at the longest. */
const START_DEADLINE_MS = 60_000;
/** A fast shutdown writes a checkpoint; past this the data is left to recovery. */
const STOP_DEADLINE_MS = 5_000;
/** How long a predecessor may take to be gone. */
const RETRY_DEADLINE_MS = 10_000;
const RETRY_MS = 20;
const POLL_MS = 5;
/** What a failed start shows of what Postgres said. */
const LINES_KEPT = 20;

export const DATABASE_USER = 'ledgerline';

export interface Binaries {
  /** The folder that holds `initdb` and `postgres`. */
  readonly folder: string;
  readonly account: Account | undefined;
}

export interface PostgresProcess {
  readonly pid: number;
  readonly port: number;
  /** Its exit code, however it came to end. */
  readonly ended: Promise<number>;
  stop(): Promise<void>;
}

/** What Postgres wrote in `postmaster.pid`. */
export interface PostmasterFile {
  readonly pid: number;
  readonly port: number;
  readonly status: string;
}

export function readPostmasterFile(data: string): PostmasterFile | undefined {
  let text: string;
  try {
    text = readFileSync(join(data, 'postmaster.pid'), 'utf8');
  } catch {
    return undefined;
  }
  // one line each: pid, data folder, start time, port, socket folder, address, shared memory, status
  const lines = text.split('\n');
  return { pid: Number(lines[0]), port: Number(lines[3]), status: (lines[7] ?? '').trim() };
}

/**
 * The C collation, because ids sort by their bytes and an upgrade of the system's locales must not change an index.
 * A password even on the loopback, because every user of the machine can reach it; a socket's path would be too long
 * in a deep project.
 */
export async function initializeData(
  binaries: Binaries,
  data: string,
  options: { passwordFile: string; isThrowaway?: boolean },
): Promise<void> {
  const said: string[] = [];
  const initdb = await spawnGuarded({
    command: join(binaries.folder, 'initdb'),
    arguments: [
      `--pgdata=${data}`,
      `--username=${DATABASE_USER}`,
      `--pwfile=${options.passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale=C',
      '--no-instructions',
      ...(options.isThrowaway === true ? ['--no-sync'] : []),
    ],
    stopSignal: 'TERM',
    workingFolder: dirname(data),
    account: binaries.account,
    onLine: (line) => said.push(line),
  });
  const code = await initdb.ended;
  if (code !== 0) {
    throw new LedgerlineError(
      'configuration',
      `initdb could not prepare ${data}:\n${said.slice(-LINES_KEPT).join('\n')}`,
    );
  }
}

export interface RunOptions {
  readonly binaries: Binaries;
  readonly data: string;
  /** Undefined: a free one. */
  readonly port?: number | undefined;
  readonly settings?: Readonly<Record<string, string>>;
  readonly log: Log;
}

/**
 * Resolves when it accepts connections. A predecessor that was killed a moment ago may still hold the data or the
 * port, and between our look for a free port and Postgres's own another process may take it: both pass by themselves.
 */
export async function runPostgres(options: RunOptions): Promise<PostgresProcess> {
  const deadline = systemClock.now() + RETRY_DEADLINE_MS;
  for (;;) {
    try {
      return await tryPostgres(options, options.port ?? (await freePort()));
    } catch (error) {
      const isPassing = error instanceof PostgresStartFailed && error.reason !== 'other';
      if (!isPassing || systemClock.now() > deadline) throw error;
      await sleep(RETRY_MS);
    }
  }
}

async function tryPostgres(options: RunOptions, port: number): Promise<PostgresProcess> {
  const { data, log } = options;
  const settings = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    logging_collector: 'off',
    log_destination: 'stderr',
    ...options.settings,
  };
  const said: string[] = [];
  const postgres = await spawnGuarded({
    command: join(options.binaries.folder, 'postgres'),
    arguments: ['-D', data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    // a fast shutdown: TERM would wait for every client to leave
    stopSignal: 'INT',
    workingFolder: dirname(data),
    account: options.binaries.account,
    onLine(line) {
      log.debug({ postgres: line }, 'postgres said');
      said.push(line);
      if (said.length > LINES_KEPT) said.shift();
    },
  });
  const deadline = systemClock.now() + START_DEADLINE_MS;
  for (;;) {
    const file = readPostmasterFile(data);
    if (file?.pid === postgres.pid && file.status === 'ready') break;
    if (!postgres.isRunning) throw new PostgresStartFailed(data, said);
    if (systemClock.now() > deadline) {
      await stop(postgres);
      throw new PostgresStartFailed(data, [...said, `not ready after ${START_DEADLINE_MS} ms`]);
    }
    await sleep(POLL_MS);
  }
  return { pid: postgres.pid, port, ended: postgres.ended, stop: () => stop(postgres) };
}

/** Postgres ended before it was ready; `reason` is the one part of it that another try may cure. */
export class PostgresStartFailed extends LedgerlineError {
  readonly reason: 'held' | 'port_taken' | 'other';

  constructor(data: string, said: readonly string[]) {
    const text = said.join('\n');
    super('configuration', `Postgres did not start on ${data}:\n${text}`);
    this.reason = /already exists|pre-existing shared memory/.test(text)
      ? 'held'
      : /Address already in use|could not create any TCP\/IP sockets/.test(text)
        ? 'port_taken'
        : 'other';
  }
}

/** Fast, then immediate, then by force: each with its deadline, so that our own exit is never held up for long. */
async function stop(postgres: GuardedProcess): Promise<void> {
  postgres.release();
  for (const signal of ['SIGQUIT', 'SIGKILL'] as const) {
    if (await endsWithin(postgres, STOP_DEADLINE_MS)) return;
    postgres.signal(signal);
  }
  await postgres.ended;
}

async function endsWithin(postgres: GuardedProcess, deadlineMs: number): Promise<boolean> {
  const abort = new AbortController();
  const isEnded = await Promise.race([
    postgres.ended.then(() => true),
    sleep(deadlineMs, abort.signal).then(() => false),
  ]);
  abort.abort();
  return isEnded;
}

/** Below the ports that systems give to outgoing connections, so that a server finds its own again after a restart. */
const PORTS = { first: 20_000, count: 12_000 };

/** A port that nobody listened on a moment ago. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const port = PORTS.first + Math.floor(systemClock.random() * PORTS.count);
    if (givenPorts.has(port) || !(await isFree(port))) continue;
    givenPorts.add(port);
    return port;
  }
  throw new LedgerlineError('configuration', 'found no free port on 127.0.0.1');
}

/** Whoever got one may come back to it after a fall: it is nobody else's meanwhile. */
const givenPorts = new Set<number>();

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
