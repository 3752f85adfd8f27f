/** Which user of this machine runs the embedded Postgres: ourselves, unless we are root, whom Postgres refuses. */
import { spawnSync } from 'node:child_process';
import { chownSync, lchownSync, lstatSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { LedgerlineError } from '../base/errors.ts';

/** A user of this machine to run as. */
export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** In this order: Postgres's own user, the one of Node's images, then those that every system has. */
const UNPRIVILEGED = ['postgres', 'node', 'nobody', 'daemon'];

export const isRoot = (): boolean => process.getuid?.() === 0;

/**
 * Undefined: as ourselves. As root, the owner of `folder` comes first: under `sudo` in a user's project the data stays
 * the user's, and data that is there keeps its owner. Only accounts with a passwd entry count, since Postgres looks its
 * own name up.
 */
export function accountFor(folder: string, passwd = '/etc/passwd'): Account | undefined {
  if (!isRoot()) return undefined;
  const accounts = readAccounts(passwd);
  const owner = statSync(folder).uid;
  const found =
    accounts.find((account) => account.uid === owner) ??
    UNPRIVILEGED.map((name) => accounts.find((account) => account.name === name)).find(
      (account) => account !== undefined,
    );
  if (found !== undefined) return found;
  throw new LedgerlineError(
    'configuration',
    `Postgres refuses to run as root, and ${passwd} has none of ${UNPRIVILEGED.join(', ')}. ` +
      'Start as an ordinary user, or set DATABASE_URL.',
  );
}

function readAccounts(passwd: string): Account[] {
  return readFileSync(passwd, 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .filter((fields) => fields.length >= 4)
    .map(([name, , uid, gid]) => ({ name: String(name), uid: Number(uid), gid: Number(gid) }))
    .filter((account) => account.uid !== 0);
}

/** Asks the kernel by trying: modes, groups, access lists and mounts all have a say. */
export function canEnter(folder: string, account: Account): boolean {
  return spawnSync('/bin/sh', ['-c', 'cd "$1"', 'sh', folder], { cwd: '/', ...identity(account) }).status === 0;
}

/** For `spawn`: who a child is. */
export const identity = (account: Account | undefined): { uid?: number; gid?: number } =>
  account === undefined ? {} : { uid: account.uid, gid: account.gid };

/** Makes a file, or a folder and all in it, the account's: Postgres refuses data of another's. */
export function give(path: string, account: Account): void {
  if (lstatSync(path).isSymbolicLink()) return lchownSync(path, account.uid, account.gid);
  chownSync(path, account.uid, account.gid);
  if (!statSync(path).isDirectory()) return;
  for (const name of readdirSync(path)) give(join(path, name), account);
}
