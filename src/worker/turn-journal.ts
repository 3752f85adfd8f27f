/** A turn's journal as its attempt knows it: the answers that earlier attempts got, and where the next one goes. */
import type { JournaledStep } from '../step/step.ts';
import type { ModelCall } from '../turn/steps.ts';
import type { ModelStep } from './agent-steps.ts';

/** For one caller at a time, but `stale` for anybody. */
export interface TurnJournal {
  /** The turn's answers count from 0; undefined: it has no such one yet. */
  answer(ordinal: number): Promise<ModelStep | undefined>;
  /** The next free index. */
  next(): Promise<number>;
  /** An answer was kept there, and has reserved so many indices for its calls. */
  kept(index: number, calls: number): void;
  /** Somebody else may have written: it is read anew. */
  stale(): void;
}

interface Known {
  readonly answers: readonly JournaledStep[];
  next: number;
}

export function createTurnJournal(read: () => Promise<readonly JournaledStep[]>): TurnJournal {
  let known: Known | undefined;
  let isStale = false;

  async function look(): Promise<Known> {
    if (known !== undefined && !isStale) return known;
    isStale = false; // from here on, so that what is written during the read makes it stale again
    known = undefined;
    const steps = await read();
    known = {
      answers: steps.filter(({ kind }) => kind === 'model'),
      next: Math.max(0, ...steps.map(({ index, reserved }) => index + reserved + 1)),
    };
    return known;
  }

  return {
    async answer(ordinal) {
      const step = (await look()).answers[ordinal];
      return step && answerOf(step.index, step.result ?? '{}', true);
    },
    next: async () => (await look()).next,
    kept(index, calls) {
      if (known !== undefined) known.next = index + calls + 1;
    },
    stale() {
      isStale = true;
    },
  };
}

/** Of the text that the journal keeps, so that every attempt reads the same. */
export function answerOf(index: number, text: string, isFromJournal: boolean): ModelStep {
  const { result = null, calls = [] } = JSON.parse(text) as { result?: unknown; calls?: readonly ModelCall[] };
  return { index, result, calls, isFromJournal };
}
