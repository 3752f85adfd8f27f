/** Between the steps of an attempt and its life: what may begin, what is told even when it is over, and what ends it. */
import { assert } from '../base/assert.ts';
import { limits } from '../base/limits.ts';
import type { AttemptState } from './attempt-state.ts';
import type { Agent } from './define-agent.ts';
import { repeat } from './repeat.ts';
import type { RepeatOptions } from './repeat.ts';
import { createTurnSteps } from './turn-steps.ts';
import type { TurnSteps, TurnStepsOptions, WorkerSteps } from './turn-steps.ts';
import type { TurnWriter } from './turn-writer.ts';

export interface AttemptStepsOptions extends RepeatOptions, Pick<TurnStepsOptions, 'attempt' | 'endFailed'> {
  readonly agent: Pick<Agent, 'tools'>;
  readonly turns: { readonly steps: WorkerSteps };
  readonly life: AttemptState;
  readonly writer: Pick<TurnWriter, 'flush'>;
  /** Ends the attempt if it was refused as not the newest; throws in any case. */
  readonly lost: (thrown: unknown) => never;
}

export interface AttemptSteps extends Pick<TurnSteps, 'ofAgent' | 'concluded' | 'stale'> {
  /** The worker must go: resolves when the calls at work are settled, or it can wait no longer. */
  cut(reason: Error): Promise<void>;
}

/** So long a worker that must go waits for calls that it has told to end: for less than it gives its turns to be given back. */
const CUT_MS = 2_000;

export function createAttemptSteps(options: AttemptStepsOptions): AttemptSteps {
  const { attempt, agent, turns, life, writer, lost, endFailed, clock, sleep, signal } = options;
  const repeating = { clock, sleep, signal };
  const cutting = new AbortController();

  function guardBegin(): void {
    life.guard();
    if (life.state === 'stopping') throw life.signal.reason;
  }

  /** A worker that lost its turn while the database was away still has a fact to tell, for as long as that helps the next. */
  async function tell<T>(request: () => Promise<T>): Promise<T> {
    try {
      return await repeat(request, repeating);
    } catch (thrown) {
      if (!signal.aborted) throw thrown;
    }
    if (cutting.signal.aborted) return request();
    const late = new AbortController();
    const timer = clock.after(limits.leaseMs, () => late.abort(signal.reason));
    return repeat(request, { ...repeating, signal: late.signal }).finally(() => timer.cancel());
  }

  const steps = createTurnSteps({
    attempt,
    clock,
    tools: agent.tools,
    steps: turns.steps,
    flush: () => writer.flush(),
    endFailed,
    ask: (request) => repeat(request, repeating).catch(lost),
    tell,
    guard: () => life.guard(),
    guardBegin,
    signal: life.signal,
    cutting: cutting.signal,
    endInDoubt() {
      life.end('in_doubt');
      assert(life.signal.aborted, 'what is over has told its agent why');
      throw life.signal.reason;
    },
  });

  return {
    ofAgent: steps.ofAgent,
    concluded: () => steps.concluded(),
    stale: () => steps.stale(),
    async cut(reason) {
      cutting.abort(reason);
      const waited = new AbortController();
      const settled = steps.settled().finally(() => waited.abort());
      await Promise.race([settled, sleep(CUT_MS, waited.signal)]);
    },
  };
}
