/** Waits by the clock, but no longer than somebody cares. */
import type { Clock } from './clock.ts';
import { whenAborted } from './when-aborted.ts';

export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = clock.after(ms, () => {
      stopListening();
      resolve();
    });
    const stopListening = whenAborted(signal, () => {
      timer.cancel();
      resolve();
    });
  });
}
