/** Where the process can be made to die: decorators around what the product's parts are handed, so that none of them knows of it. */
import type { AskModel } from '../example/support-model.ts';
import type { issueRefund } from '../example/refund-tools.ts';
import type { CrashPoint } from '../lab/crash-lab.ts';
import type { Turns } from '../turn/turns.ts';
import type { WorkerSteps } from '../worker/turn-steps.ts';
import type { Tell } from './fact.ts';

/** Called at every point; returns if it is not the one. */
export type Passing = (point: CrashPoint) => void;

/**
 * By its own hand, and not by its parent's at a sign: between the point and the end there is no other line of the program, and so
 * nothing that a relay or a consumer in the same process could do meanwhile. It can no more answer this signal than its parent's.
 */
export const dyingAt =
  (planned: CrashPoint, tell: Tell): Passing =>
  (point) => {
    if (point !== planned) return;
    tell({ fact: 'dies' });
    process.kill(process.pid, 'SIGKILL');
  };

export function modelWithPoints(ask: AskModel, passing: Passing): AskModel {
  return async (asked, signal) => {
    const said = await ask(asked, signal);
    passing('model_answered');
    return said;
  };
}

/** Its row is written, and its transaction open. */
export function refundWithPoints(tool: typeof issueRefund, passing: Passing): typeof issueRefund {
  return {
    ...tool,
    async run(args, call) {
      const result = await tool.run(args, call);
      passing('refund_written');
      return result;
    },
  };
}

export function stepsWithPoints(steps: WorkerSteps, passing: Passing): WorkerSteps {
  return {
    ...steps,
    async model(...step) {
      const settled = await steps.model(...step);
      passing('model_journaled');
      return settled;
    },
    async transactional(...step) {
      const done = await steps.transactional(...step);
      passing('refund_committed');
      return done;
    },
  };
}

/** `finished` resolves when a turn is: the points of a delivery come behind it, so that they are of the delivery alone. */
export function turnsWithEnd<Of extends Pick<Turns, 'finish'>>(turns: Of): { turns: Of; finished: Promise<void> } {
  let tell: () => void;
  const finished = new Promise<void>((resolve) => (tell = resolve));
  return {
    finished,
    turns: {
      ...turns,
      async finish(...end: Parameters<Turns['finish']>) {
        const settled = await turns.finish(...end);
        tell();
        return settled;
      },
    },
  };
}
