/** Runs of the crash lab, each on a database of its own, with the built program as the process that dies. */
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { createCrashLab } from '../../src/crash/crash-lab.ts';
import type { CrashPlan, CrashRun } from '../../src/lab/crash-lab.ts';
import { withSql } from './ledger.ts';
import { quickProgram } from './quick-program.ts';
import { database } from './stage.ts';
import { eventually } from './waits.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

export type StartedLab = ReturnType<typeof createCrashLab>;

/** Another program may stand in for the built one. */
export async function crashLab(given: { readonly program?: string } = {}): Promise<StartedLab> {
  const program = given.program ?? (await quickProgram('main'));
  const { url } = await database({ isEmpty: true });
  const lab = createCrashLab({
    databaseUrl: url,
    databasePrepare: true,
    program,
    folder: root,
    log: silentLog,
    clock: systemClock,
  });
  onTestFinished(async () => {
    await lab.stop();
    const name = decodeURIComponent(new URL(url).pathname.slice(1));
    await withSql(url, (sql) => sql`drop database if exists ${sql(`${name}_crash_lab`)} with (force)`);
  });
  return lab;
}

/** To its end, whichever that is. */
export async function runOf(lab: StartedLab, plan: CrashPlan): Promise<CrashRun> {
  const { id } = lab.begin(plan);
  return eventually(
    'the run is over',
    () => {
      const run = lab.newest();
      return run?.id === id && (run.state === 'over' || run.state === 'failed') && run;
    },
    100_000,
  );
}
