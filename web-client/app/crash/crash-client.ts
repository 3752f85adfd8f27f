/** Asks the development server's crash lab for its newest run, and for another one. */
import { FollowError } from '../../src/follow-error.ts';
import { request } from '../base/request.ts';
import { readRun } from './crash-run.ts';
import type { CrashPlan, CrashRun } from './crash-run.ts';

/** Null: there was none yet. Rejects with a `FollowError`, as everything here. */
export const readNewestRun = async (signal: AbortSignal): Promise<CrashRun | null> =>
  understood(await request('GET', '/lab/crash', { signal }));

/** While a run is under way, that one is the answer. */
export const beginRun = async (plan: CrashPlan): Promise<CrashRun | null> =>
  understood(await request('POST', '/lab/crash', { body: plan }));

function understood(answer: unknown): CrashRun | null {
  const run = readRun(answer);
  if (run === undefined) throw new FollowError('not_ledgerline', 'The answer is not one of the crash lab.');
  return run;
}
