/** What is asked for at the same time, or while others are under way, goes together in one flight, as appends do. */
import type { Clock } from '../base/clock.ts';
import { LedgerlineError } from '../base/errors.ts';

export interface GroupOptions<Request, Answer> {
  readonly clock: Pick<Clock, 'soon'>;
  /** How much of a flight it takes; a flight has at least one. */
  readonly weigh: (request: Request) => number;
  readonly most: number;
  /** An answer for each, in order. An answer that rejects is the failure of that one; if this throws, all have failed. */
  readonly fly: (group: readonly Request[]) => Promise<readonly (Answer | Promise<Answer>)[]>;
}

interface Waiting<Request, Answer> {
  readonly request: Request;
  answer(answer: Answer | Promise<Answer>): void;
  fail(thrown: unknown): void;
}

/** Whoever comes behind would ask the same Postgres. */
export const isAway = (thrown: unknown): boolean => thrown instanceof LedgerlineError && thrown.code === 'unavailable';

/**
 * One flight at a time, and whoever comes first goes first. Each takes off a turn of the loop late: those whom one flight answered ask
 * again together, and a flight costs both sides about the same whatever it carries [bench].
 */
export function createGroup<Request, Answer>({ clock, weigh, most, fly }: GroupOptions<Request, Answer>) {
  const waiting: Waiting<Request, Answer>[] = [];
  let isUnderWay = false;

  async function run(): Promise<void> {
    if (isUnderWay) return;
    isUnderWay = true;
    for (;;) {
      await new Promise<void>((resolve) => void clock.soon(resolve));
      const group = take();
      if (group.length === 0) break;
      await land(group);
    }
    isUnderWay = false;
  }

  function take(): Waiting<Request, Answer>[] {
    let weight = 0;
    let count = 0;
    for (const { request } of waiting) {
      weight += weigh(request);
      if (count > 0 && weight > most) break;
      count += 1;
    }
    return waiting.splice(0, count);
  }

  async function land(group: readonly Waiting<Request, Answer>[]): Promise<void> {
    try {
      const answers = await fly(group.map(({ request }) => request));
      for (const [index, one] of group.entries()) one.answer(answers[index] as Answer | Promise<Answer>);
    } catch (thrown) {
      // Who waits behind would meet one deadline after another.
      for (const one of isAway(thrown) ? [...group, ...waiting.splice(0)] : group) one.fail(thrown);
    }
  }

  return (request: Request): Promise<Answer> =>
    new Promise((answer, fail) => {
      waiting.push({ request, answer, fail });
      void run();
    });
}
