/** What a reader knows of the world around it: the time, and when it is worth to look at the connection again. */
import { systemClock } from './clock.ts';
import type { Clock, Timer } from './clock.ts';

export type Wake =
  /** The page came to the front. */
  | 'visible'
  /** There is a network again. */
  | 'online'
  /** The page was frozen, or the machine slept: time has passed that nobody saw. */
  | 'resumed'
  /** `reconnect()`: whoever holds the connection severs it and comes back from the cursor. */
  | 'asked';

export interface Surroundings {
  readonly clock: Clock;
  /** Returns how to listen no more. */
  onWake(listener: (wake: Wake) => void): () => void;
}

const TICK_MS = 5_000;
/** A tick this late was no busy page. */
const JUMP_MS = 20_000;

/** The browser's, where there is one; anywhere else only the time. */
export function createSurroundings(clock: Clock = systemClock): Surroundings {
  return {
    clock,
    onWake(listener) {
      if (typeof document === 'undefined') return () => undefined;
      const isVisible = () => document.visibilityState === 'visible';
      const controller = new AbortController();
      const { signal } = controller;
      let timer: Timer;
      const watch = (): void => {
        const fromMs = clock.wall();
        timer = clock.after(TICK_MS, () => {
          const passedMs = clock.wall() - fromMs;
          watch();
          // The ticks of a hidden page are held back, which is no sleep; it tells when it is visible again.
          if (passedMs > JUMP_MS && isVisible()) listener('resumed');
        });
      };
      watch();
      document.addEventListener('visibilitychange', () => isVisible() && listener('visible'), { signal });
      document.addEventListener('resume', () => listener('resumed'), { signal });
      window.addEventListener('pageshow', ({ persisted }) => persisted && listener('resumed'), { signal });
      window.addEventListener('online', () => listener('online'), { signal });
      return () => {
        timer.cancel();
        controller.abort();
      };
    },
  };
}
