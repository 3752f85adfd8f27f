/** The folder of the embedded Postgres: proves that it is ours, and finds it a place that Postgres can reach. */
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { randomSecret } from '../base/clock.ts';
import { LedgerlineError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { type Account, accountFor, canEnter, give, isRoot } from './account.ts';
import { isAlive } from './process-table.ts';

const MARKER = 'made-by-ledgerline';
const MARKER_TEXT = 'The embedded Postgres of `ledgerline dev`. Remove this folder to start anew.\n';
/** Where data goes that its user could not reach in place: the file system's standard place for state. */
const STATE_FOLDER = '/var/lib/ledgerline';

/** A place for one database cluster, its password and, where they are needed, copies of the binaries. */
export interface DataFolder {
  readonly path: string;
  readonly account: Account | undefined;
  /** Password and data come into being together, by one rename: a start that was killed leaves neither. */
  readonly cluster: string;
  readonly data: string;
  readonly copies: string;
}

/** Opens `folder`/postgres, or makes it. */
export function openDataFolder(folder: string, log: Log, stateFolder = STATE_FOLDER): DataFolder {
  const wanted = join(resolve(folder), 'postgres');
  const isNew = !existsSync(wanted);
  makeFolders(dirname(wanted));
  refuseForeign(wanted);
  const account = accountFor(isNew ? dirname(resolve(folder)) : wanted);
  const path = account === undefined ? wanted : reachable(wanted, account, log, stateFolder);
  makeFolders(path);
  if (!existsSync(join(path, MARKER))) writeFileSync(join(path, MARKER), MARKER_TEXT);
  // only what is not the account's yet: root must not follow the links of a folder that another user writes
  if (account !== undefined && statSync(path).uid !== account.uid) give(path, account);
  removeUnfinished(path);
  const cluster = join(path, 'cluster');
  return { path, account, cluster, data: join(cluster, 'data'), copies: join(path, 'binaries') };
}

export const readPassword = (folder: DataFolder): string => readFileSync(join(folder.cluster, 'password'), 'utf8');

/** Runs `initialize` in a folder beside the cluster's, which then takes its name. */
export async function makeCluster(
  folder: DataFolder,
  initialize: (data: string, passwordFile: string) => Promise<void>,
): Promise<void> {
  const unfinished = join(folder.path, `unfinished-${process.pid}`);
  const passwordFile = join(unfinished, 'password');
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { mode: 0o700 });
  writeFileSync(passwordFile, randomSecret(), { mode: 0o600 });
  if (folder.account !== undefined) give(unfinished, folder.account);
  await initialize(join(unfinished, 'data'), passwordFile);
  try {
    renameSync(unfinished, folder.cluster);
  } catch (error) {
    // another start finished first: its cluster is as good
    rmSync(unfinished, { recursive: true, force: true });
    if (!existsSync(folder.cluster)) throw error;
  }
}

function removeUnfinished(path: string): void {
  for (const name of readdirSync(path)) {
    const maker = /^unfinished-(\d+)$/.exec(name)?.[1];
    if (maker !== undefined && !isAlive(Number(maker))) rmSync(join(path, name), { recursive: true, force: true });
  }
}

/** Nothing is ever written into a folder that somebody else filled. */
function refuseForeign(path: string): void {
  if (!existsSync(path)) return;
  const owner = statSync(path).uid;
  if (!isRoot() && owner !== process.getuid?.()) {
    throw new LedgerlineError(
      'configuration',
      `${path} belongs to user ${owner}, who ran Ledgerline here before. Start as that user or as root, or remove it.`,
    );
  }
  const names = statSync(path).isDirectory() ? readdirSync(path) : ['not a folder'];
  if (names.length > 0 && !names.includes(MARKER)) {
    throw new LedgerlineError(
      'configuration',
      `${path} was not made by Ledgerline. Move it away, or choose another data folder.`,
    );
  }
}

/** A project below a closed folder, such as root's home, keeps a link to where its data had to go. */
function reachable(wanted: string, account: Account, log: Log, stateFolder: string): string {
  if (isLink(wanted)) return existsSync(wanted) ? realpathSync(wanted) : elsewhere(wanted, stateFolder);
  if (canEnter(dirname(wanted), account)) return wanted;
  if (existsSync(wanted)) {
    throw new LedgerlineError('configuration', `user ${account.name} runs Postgres and can no longer enter ${wanted}`);
  }
  const path = elsewhere(wanted, stateFolder);
  makeFolders(path);
  if (!canEnter(path, account)) {
    throw new LedgerlineError(
      'configuration',
      `user ${account.name}, who runs Postgres because root may not, can enter neither ${dirname(wanted)} nor ${path}. ` +
        'Open one of them to others (chmod o+x), or set DATABASE_URL.',
    );
  }
  symlinkSync(path, wanted);
  log.info(
    { folder: path },
    `user ${account.name} runs Postgres and cannot enter ${dirname(wanted)}: the data goes elsewhere`,
  );
  return path;
}

function elsewhere(wanted: string, stateFolder: string): string {
  const digest = createHash('sha256').update(wanted).digest('hex').slice(0, 12);
  return join(stateFolder, `${basename(dirname(dirname(wanted)))}-${digest}`);
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}

/** Open to passers-by whatever the umask, since Postgres may run as another user; what is secret closes itself. */
function makeFolders(path: string): void {
  if (existsSync(path)) return;
  makeFolders(dirname(path));
  mkdirSync(path);
  chmodSync(path, 0o755);
}
