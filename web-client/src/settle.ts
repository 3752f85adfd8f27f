/** A promise's outcome as a value, or that nobody waits for it any more. */
import { whenAborted } from './when-aborted.ts';

export type Settled<T> =
  | { readonly kind: 'value'; readonly value: T }
  | { readonly kind: 'thrown'; readonly cause: unknown }
  | { readonly kind: 'aborted' };

/** Never rejects, and does not depend on the work to heed the signal. */
export function settle<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<Settled<T>> {
  return new Promise((resolve) => {
    const stopListening = whenAborted(signal, () => resolve({ kind: 'aborted' }));
    work
      .then(
        (value) => resolve({ kind: 'value', value }),
        (cause: unknown) => resolve({ kind: 'thrown', cause }),
      )
      .finally(stopListening);
  });
}
