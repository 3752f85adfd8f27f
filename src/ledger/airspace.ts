/** What the lanes of a commit group have under way: small flushes go one after the other, and large ones side by side. */
import type { Clock } from '../base/clock.ts';

export interface Airspace {
  /** Resolves when the next flush of another lane lands, or `waitMs` is over; undefined when none is under way. */
  landing(waitMs: number): Promise<void> | undefined;
  /** The work is a flush; whoever waits for a landing goes on when it settles. */
  fly<T>(work: Promise<T>): Promise<T>;
}

export function createAirspace(clock: Pick<Clock, 'after'>): Airspace {
  const waiting = new Set<() => void>();
  let underWay = 0;

  /** One alone, or two that waited would go side by side. */
  function landed(): void {
    underWay -= 1;
    const [first] = waiting;
    first?.();
  }

  return {
    landing(waitMs) {
      if (underWay === 0) return undefined;
      return new Promise((resolve) => {
        const timer = clock.after(waitMs, go);
        function go(): void {
          timer.cancel();
          waiting.delete(go);
          resolve();
        }
        waiting.add(go);
      });
    },
    fly(work) {
      underWay += 1;
      return work.finally(landed);
    },
  };
}
