/** A Postgres of this test run, from the same binaries and launcher that `npm start` uses. */
import { execFileSync } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { silentLog } from '../../src/base/log.ts';
import { accountFor, identity } from '../../src/db/account.ts';
import { findBinaries, installedBinaries } from '../../src/db/postgres-binaries.ts';
import {
  type Binaries,
  DATABASE_USER,
  type PostgresProcess,
  initializeData,
  runPostgres,
} from '../../src/db/postgres-process.ts';
import { signalFamily } from './processes.ts';
import { remove } from './run-folder.ts';
import type { TestServer } from './test-server.ts';

/** Lives no longer than the run, and a process that dies loses nothing that the kernel already has. */
const PASSWORD = 'test';
const settings = { fsync: 'off', max_connections: '300', max_prepared_transactions: '10' };

export const hasLocalPostgres = (): boolean => installedBinaries() !== undefined;

function localBinaries(runFolder: string): Binaries {
  return findBinaries({ account: accountFor(runFolder), copies: join(runFolder, 'binaries'), log: silentLog });
}

/** An initialized data folder, made once in a run; every server starts on a copy. */
async function makeTemplate(runFolder: string): Promise<void> {
  const binaries = localBinaries(runFolder);
  const home = makeHome(runFolder, binaries);
  const passwordFile = join(home, 'password');
  writeFileSync(passwordFile, PASSWORD);
  await initializeData(binaries, join(home, 'data'), { passwordFile, isThrowaway: true });
  const template = join(runFolder, 'template');
  try {
    renameSync(home, template);
  } catch (error) {
    // another worker made it meanwhile
    if (!existsSync(template)) throw error;
    remove(home);
  }
}

function makeHome(runFolder: string, { account }: Binaries): string {
  const home = mkdtempSync(join(runFolder, 'postgres-'));
  if (account !== undefined) chownSync(home, account.uid, account.gid);
  return home;
}

export async function startLocalPostgres(runFolder: string): Promise<TestServer> {
  const template = join(runFolder, 'template');
  if (!existsSync(template)) await makeTemplate(runFolder);
  const binaries = localBinaries(runFolder);
  const home = makeHome(runFolder, binaries);
  const data = join(home, 'data');
  execFileSync('cp', ['-R', join(template, 'data'), data], { cwd: '/', ...identity(binaries.account) });
  let postgres: PostgresProcess = await runPostgres({ binaries, data, settings, log: silentLog });
  const { port } = postgres;
  let isRunning = true;

  const kill = async (): Promise<void> => {
    if (!isRunning) return;
    isRunning = false;
    signalFamily(postgres.pid, 'SIGKILL');
    await postgres.ended;
  };
  return {
    url: `postgres://${DATABASE_USER}:${PASSWORD}@127.0.0.1:${port}/postgres`,
    kill,
    freeze: () => signalFamily(postgres.pid, 'SIGSTOP'),
    thaw: () => signalFamily(postgres.pid, 'SIGCONT'),
    async stop() {
      await kill();
      remove(home);
    },
    async restart() {
      await kill();
      postgres = await runPostgres({ binaries, data, port, settings, log: silentLog });
      isRunning = true;
    },
  };
}
