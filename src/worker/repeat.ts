/** Repeats what is safe to repeat, until it is answered, or nobody waits for the answer any more. */
import { backoffMs } from '../base/backoff.ts';
import type { Clock, sleep } from '../base/clock.ts';
import { LedgerlineError } from '../base/errors.ts';
import type { ErrorCode } from '../base/errors.ts';

export interface RepeatOptions {
  readonly clock: Clock;
  readonly sleep: typeof sleep;
  /** Its reason is thrown. */
  readonly signal: AbortSignal;
}

const pause = { firstMs: 100, capMs: 2_000 } as const;

/** Nothing was stored, or it shows when the same is asked again. */
const passing: ReadonlySet<ErrorCode> = new Set(['unavailable', 'append_unknown', 'session_busy', 'draining']);

const isPassing = (thrown: unknown): boolean => thrown instanceof LedgerlineError && passing.has(thrown.code);

export async function repeat<T>(work: () => Promise<T>, { clock, sleep, signal }: RepeatOptions): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    signal.throwIfAborted();
    try {
      return await work();
    } catch (thrown) {
      if (!isPassing(thrown)) throw thrown;
    }
    await sleep(backoffMs(pause, attempt, clock.random()), signal);
  }
}
