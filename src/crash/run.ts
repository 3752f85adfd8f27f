/** One run: a process that dies at its point, another that goes on, and the books before and after. */
import type { Books, CrashPlan, CrashVerdict } from '../lab/crash-lab.ts';
import { openStage } from './stage.ts';
import type { Stage, StageOptions } from './stage.ts';
import { verdictOn } from './verdict.ts';
import { createWatch, failed } from './watch.ts';
import type { WatchOptions } from './watch.ts';

export interface RunOptions extends StageOptions, WatchOptions {
  readonly plan: CrashPlan;
}

export interface RunEnd {
  readonly after: Books;
  readonly verdict: CrashVerdict;
}

/** Rejects when it could not be carried out. */
export async function carryOut(options: RunOptions): Promise<RunEnd> {
  const stage = await openStage(options);
  try {
    return await play(options, stage);
  } finally {
    await stage.close();
  }
}

async function play(options: RunOptions, stage: Stage): Promise<RunEnd> {
  const { plan, show } = options;
  const watch = createWatch(options, stage);
  show({ state: 'running' });
  const isDead = await watch.process(plan);
  if (isDead !== (plan.point !== 'nowhere')) throw failed('the process came to its end, and never to its point');
  if (isDead) {
    show({ state: 'resuming', before: await watch.books() });
    await watch.process({ ...plan, point: 'nowhere' });
  }
  const after = await watch.books();
  return { after, verdict: verdictOn(after) };
}
