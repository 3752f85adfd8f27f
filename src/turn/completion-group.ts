/** Turns that are completed together are one commit; one that cannot be fails alone. */
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { NewEvent } from '../event/event.ts';
import { bytesOf } from '../session/append.ts';
import { createGroup, isAway } from './group.ts';
import type { Attempt, Settled } from './turns.ts';

/** An attempt that says these events last, and that its turn is done. */
export interface Completion {
  readonly attempt: Attempt;
  readonly events: readonly NewEvent[];
}

/** One answer for each completion, in order; no session twice. Undefined: nothing was done, and it needs judging. */
export type CompleteAll = (completions: readonly Completion[]) => Promise<readonly (Settled | undefined)[]>;

/** The second completion of a session needs judging, for the first may have done it. */
export function createCompletionGroup(clock: Pick<Clock, 'soon'>, completeAll: CompleteAll) {
  return createGroup<Completion, Settled | undefined>({
    clock,
    most: limits.groupBytes,
    weigh: ({ events }) => Math.max(bytesOf(events), limits.groupBytes / limits.completeTurns),
    async fly(group) {
      const firsts = new Map<string, Completion>();
      for (const one of group) if (!firsts.has(one.attempt.session)) firsts.set(one.attempt.session, one);
      const together = [...firsts.values()];
      const settled = await completeOrEach(together);
      const answers = new Map(together.map((one, index) => [one, settled[index]]));
      return group.map((one) => answers.get(one));
    },
  });

  async function completeOrEach(
    completions: readonly Completion[],
  ): Promise<readonly (Settled | undefined | Promise<Settled | undefined>)[]> {
    try {
      return await completeAll(completions);
    } catch (thrown) {
      if (completions.length === 1 || isAway(thrown)) throw thrown;
      // It was rolled back, for what may be the fault of one [I9].
      return completions.map(async (one) => (await completeAll([one]))[0]);
    }
  }
}
