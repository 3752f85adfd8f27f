/** The crash lab of a development server: one run at a time, the newest of which is remembered. */
import { randomId } from '../base/clock.ts';
import { toError } from '../base/errors.ts';
import { detach } from '../base/service.ts';
import type { Service } from '../base/service.ts';
import type { CrashLab, CrashPlan, CrashRun } from '../lab/crash-lab.ts';
import { carryOut } from './run.ts';
import type { RunOptions } from './run.ts';

export type CrashLabOptions = Omit<RunOptions, 'plan' | 'show' | 'signal'>;

/** Stopping it ends the run that is under way, and its process. */
export function createCrashLab(options: CrashLabOptions): CrashLab & Service {
  const { log } = options;
  const stopping = new AbortController();
  let newest: CrashRun | undefined;
  let running: Promise<void> | undefined;

  function show(news: Partial<CrashRun>): void {
    if (newest !== undefined) newest = { ...newest, ...news };
  }

  /** When it is seen to be over, the next one may begin. */
  async function run(plan: CrashPlan): Promise<void> {
    let end: Partial<CrashRun>;
    try {
      end = { state: 'over', ...(await carryOut({ ...options, plan, show, signal: stopping.signal })) };
    } catch (thrown) {
      const error = toError(thrown);
      if (!stopping.signal.aborted) log.warn({ err: error }, 'a run of the crash lab failed');
      end = { state: 'failed', problem: error.message };
    }
    running = undefined;
    show(end);
  }

  return {
    name: 'crash lab',
    start: () => Promise.resolve(),
    async stop() {
      stopping.abort(new Error('the server was stopped'));
      await running;
    },
    newest: () => newest,
    begin({ point, without }) {
      if (newest !== undefined && running !== undefined) return newest;
      const plan = { point, without: [...new Set(without)] };
      newest = { ...unbegun, ...plan, id: randomId() };
      running = run(plan);
      detach(running, log, 'a run of the crash lab ended unexpectedly');
      return newest;
    },
  };
}

const unbegun = {
  state: 'preparing',
  notes: [],
  before: undefined,
  after: undefined,
  verdict: undefined,
  problem: undefined,
} as const;
