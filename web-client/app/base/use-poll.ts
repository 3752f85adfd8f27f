/** Asks for something again and again while the page is visible, one question at a time. */
import { useEffect, useState } from 'react';
import { systemClock } from '../../src/clock.ts';
import type { Timer } from '../../src/clock.ts';
import { FollowError } from '../../src/follow-error.ts';

export interface Polled<T> {
  /** The last answer, kept while the server is out of reach. */
  readonly value: T | undefined;
  /** Why the last question had no answer. */
  readonly error: FollowError | undefined;
}

const nothing: Polled<never> = { value: undefined, error: undefined };

/**
 * `ask` is a new function when the question is another one: what is known of the old one is forgotten then. Undefined
 * asks nothing. A refusal that is final ends the polling until the question changes.
 */
export function usePoll<T>(ask: ((signal: AbortSignal) => Promise<T>) | undefined, everyMs: number): Polled<T> {
  const [polled, setPolled] = useState<{ readonly of: typeof ask; readonly known: Polled<T> }>();

  useEffect(() => {
    if (ask === undefined) return undefined;
    const stop = new AbortController();
    let timer: Timer | undefined;
    let isAsking = false;
    let isFinal = false;
    const again = (): void => {
      timer?.cancel();
      timer = isFinal || stop.signal.aborted ? undefined : systemClock.after(everyMs, poll);
    };
    const poll = (): void => {
      if (document.hidden || isAsking) return;
      isAsking = true;
      ask(stop.signal)
        .then(
          (value) => setPolled({ of: ask, known: { value, error: undefined } }),
          (thrown: unknown) => {
            const error = toFollowError(thrown);
            if (stop.signal.aborted) return;
            isFinal = error.code === 'refused' || error.code === 'not_ledgerline';
            setPolled((before) => ({
              of: ask,
              known: { value: before?.of === ask ? before.known.value : undefined, error },
            }));
          },
        )
        .finally(() => {
          isAsking = false;
          again();
        });
    };
    poll();
    document.addEventListener('visibilitychange', poll);
    return () => {
      stop.abort();
      timer?.cancel();
      document.removeEventListener('visibilitychange', poll);
    };
  }, [ask, everyMs]);

  return polled !== undefined && polled.of === ask ? polled.known : nothing;
}

/** Whatever is thrown here besides is a fault of the page, and is shown as one. */
export const toFollowError = (thrown: unknown): FollowError =>
  thrown instanceof FollowError ? thrown : new FollowError('unavailable', String(thrown), { cause: thrown });
