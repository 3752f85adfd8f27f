/** Who runs on a data folder: waits for a predecessor that is going, ends an orphan, and names anybody else. */
import { realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { sleep, systemClock } from '../base/clock.ts';
import { LedgerlineError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { GUARD_NAME, sendSignal } from './guarded-process.ts';
import { readPostmasterFile } from './postgres-process.ts';
import { processInfo } from './process-table.ts';
import type { ProcessInfo } from './process-table.ts';

/** A guard notices its parent's death in milliseconds. */
const GRACE_MS = 1_000;
/** A checkpoint on a slow disk. */
const STOPPING_MS = 30_000;
const POLL_MS = 10;

interface Holder {
  readonly pid: number;
  readonly port: number;
  readonly isStopping: boolean;
  /** The process that its guard serves; undefined for an orphan, whose guard was killed too. */
  readonly owner: number | undefined;
}

/** Resolves when nobody runs on `data`. */
export async function waitUntilFree(data: string, log: Log): Promise<void> {
  const startMs = systemClock.now();
  let isOrphanAsked = false;
  for (;;) {
    const holder = findHolder(data);
    if (holder === undefined) return;
    const waitedMs = systemClock.now() - startMs;
    const isGoing = holder.isStopping || isOrphanAsked;
    if (!isGoing && waitedMs > GRACE_MS && holder.owner === undefined) {
      log.warn({ pid: holder.pid }, 'a Postgres of a former run is still there, although nobody needs it: stopping it');
      sendSignal(holder.pid, 'SIGINT');
      isOrphanAsked = true;
    } else if (waitedMs > (isGoing ? STOPPING_MS : GRACE_MS)) {
      throw new LedgerlineError(
        'configuration',
        `${data} is in use by process ${holder.owner ?? holder.pid} (its Postgres is process ${holder.pid} at ` +
          `127.0.0.1:${holder.port}). Stop that one first, or choose another data folder.`,
      );
    }
    await sleep(POLL_MS);
  }
}

/**
 * The file's process id alone proves nothing: after a reboot, or in the next container, it may be anybody's. Postgres
 * would refuse to start if that is a process of the same user, so a stale file goes. Were we wrong, Postgres still
 * finds its predecessor by the shared memory of the folder.
 */
function findHolder(data: string): Holder | undefined {
  const file = readPostmasterFile(data);
  if (file === undefined) return undefined;
  const info = processInfo(file.pid);
  if (info === undefined || !runsOn(info, data)) {
    rmSync(join(data, 'postmaster.pid'), { force: true });
    return undefined;
  }
  const guard = processInfo(info.parent);
  const isGuarded = guard?.commandLine.includes(GUARD_NAME) === true;
  return {
    pid: file.pid,
    port: file.port,
    isStopping: file.status === 'stopping',
    owner: isGuarded ? guard.parent : undefined,
  };
}

/**
 * Whether a process is a Postgres on `data`, and not one of the user's other ones, which we would end. Where its folder
 * cannot be told (there is no `/proc`), its command line names it, as we start it.
 */
export function runsOn({ commandLine, workingFolder }: ProcessInfo, data: string): boolean {
  if (!commandLine.includes('postgres')) return false;
  return workingFolder === undefined ? commandLine.includes(data) : workingFolder === realpathSync(data);
}
