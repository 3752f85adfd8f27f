/** How long a request is tried again, and the pauses between. */
import { backoffMs } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import { ownError } from './producer-error.ts';

export interface PatienceOptions {
  /** All tries of one request. */
  readonly giveUpMs: number;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly sleep: (delayMs: number, signal?: AbortSignal) => Promise<void>;
}

export interface Failure {
  readonly code: string;
  /** Of any try so far: it may have stored the events all the same. */
  readonly isAmbiguous: boolean;
  /** What the server asked to wait. */
  readonly afterMs: number;
}

const retry = { firstMs: 100, capMs: 5_000 } as const;

/** Resolves when it is time for another try; throws `gave_up` or `aborted` when there shall be none. */
export type Patience = (failure: Failure) => Promise<void>;

export function createPatience({ giveUpMs, signal, clock, sleep }: PatienceOptions): Patience {
  const startedMs = clock.now();
  let attempt = 0;
  return async ({ code, isAmbiguous, afterMs }) => {
    if (signal.aborted) throw aborted(signal);
    // Never sooner than the server asked, and not all producers at the same moment.
    const delayMs = afterMs + backoffMs(retry, attempt, clock.random());
    attempt += 1;
    if (clock.now() - startedMs + delayMs > giveUpMs) {
      const fields = { lastFailure: code, isAmbiguous };
      throw ownError('gave_up', `no clear answer within ${giveUpMs} ms, at last ${code}`, fields);
    }
    await sleep(delayMs, signal);
    if (signal.aborted) throw aborted(signal);
  };
}

export const aborted = (signal: AbortSignal) => ownError('aborted', 'the producer was aborted', {}, signal.reason);
