/** Steps without their key: what a process has journaled it finds again, and nobody who comes behind it does. */
import type { WorkerSteps } from '../worker/turn-steps.ts';

/**
 * Where the journal ended is all that a later process finds of it. So it asks the model anew, and what that asks for gets other
 * indices, and by them other keys: nothing can tell that it is the same refund.
 */
export function stepsWithoutKey(steps: WorkerSteps): WorkerSteps {
  /** Of each turn, where its journal ended when this process came to it. */
  const ends = new Map<string, number>();
  return {
    ...steps,
    async journal(session, turn) {
      const journal = await steps.journal(session, turn);
      const end = ends.get(turn) ?? Math.max(0, ...journal.map(({ index, reserved }) => index + reserved + 1));
      ends.set(turn, end);
      return journal.map((step) => (step.kind === 'model' && step.index < end ? { ...step, kind: 'input' } : step));
    },
  };
}
