/** Asks for something again and again while the page is visible, one question at a time. */
import { useCallback, useEffect, useRef, useState } from 'react';
import { systemClock } from '../../src/clock.ts';
import type { Timer } from '../../src/clock.ts';
import { FollowError } from '../../src/follow-error.ts';

export interface Polled<T> {
  /** The last answer, kept while the server is out of reach. */
  readonly value: T | undefined;
  /** Why the last question had no answer. */
  readonly error: FollowError | undefined;
}

export interface UsedPoll<T> extends Polled<T> {
  /** Asks now, and again from then on: something has happened that changes the answer. */
  readonly refresh: () => void;
}

const MOST_WAIT_MS = 5_000;

const nothing: Polled<never> = { value: undefined, error: undefined };

/**
 * `ask` is a new function when the question is another one: what is known of the old one is forgotten then. Undefined
 * asks nothing. In vain it asks more and more seldom; what is deleted stays so, and what the token may not ask it never may:
 * neither is asked for again. After an answer that is enough nothing is asked until `refresh`; without `isEnough`, none ever is.
 */
export function usePoll<T>(
  ask: ((signal: AbortSignal) => Promise<T>) | undefined,
  everyMs: number,
  isEnough?: (value: T) => boolean,
): UsedPoll<T> {
  const [polled, setPolled] = useState<{ readonly of: typeof ask; readonly known: Polled<T> }>();
  const asked = useRef<() => void>(undefined);

  useEffect(() => {
    if (ask === undefined) return undefined;
    const stop = new AbortController();
    let timer: Timer | undefined;
    let isAsking = false;
    let isFinal = false;
    let hasEnough = false;
    /** What is on its way may be older than what happened meanwhile. */
    let isOutdated = false;
    let failures = 0;
    const again = (): void => {
      timer?.cancel();
      const patientMs = Math.max(everyMs, Math.min(everyMs * 2 ** failures, MOST_WAIT_MS));
      const waitMs = isOutdated ? 0 : patientMs;
      timer = isFinal || hasEnough || stop.signal.aborted ? undefined : systemClock.after(waitMs, poll);
    };
    const poll = (): void => {
      if (document.hidden || isAsking || isFinal || hasEnough) return;
      isAsking = true;
      isOutdated = false;
      ask(stop.signal)
        .then(
          (value) => {
            failures = 0;
            hasEnough = !isOutdated && isEnough?.(value) === true;
            setPolled({ of: ask, known: { value, error: undefined } });
          },
          (thrown: unknown) => {
            const error = toFollowError(thrown);
            if (stop.signal.aborted) return;
            failures += 1;
            isFinal = error.problem === 'session_deleted' || error.problem === 'forbidden';
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
    asked.current = () => {
      isOutdated = isAsking;
      hasEnough = false;
      poll();
    };
    poll();
    document.addEventListener('visibilitychange', poll);
    addEventListener('online', poll);
    return () => {
      stop.abort();
      timer?.cancel();
      asked.current = undefined;
      document.removeEventListener('visibilitychange', poll);
      removeEventListener('online', poll);
    };
  }, [ask, everyMs, isEnough]);

  const refresh = useCallback(() => asked.current?.(), []);
  const { value, error } = polled !== undefined && polled.of === ask ? polled.known : nothing;
  return { value, error, refresh };
}

/** Whatever is thrown here besides is a fault of the page, and is shown as one. */
export const toFollowError = (thrown: unknown): FollowError =>
  thrown instanceof FollowError ? thrown : new FollowError('unavailable', String(thrown), { cause: thrown });
