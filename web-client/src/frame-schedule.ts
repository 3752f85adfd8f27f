/** Runs something at most once per animation frame, however often it is asked for. */
import { nextFrame } from './clock.ts';
import type { Clock } from './clock.ts';

/** A hidden page has no frames, and Node none at all. */
const WITHOUT_FRAMES_MS = 100;

/** Returns how to ask. */
export function oncePerFrame(clock: Clock, run: () => void): () => void {
  let isAsked = false;
  return () => {
    if (isAsked) return;
    isAsked = true;
    const due = (): void => {
      timer.cancel();
      frame?.cancel();
      isAsked = false;
      run();
    };
    const timer = clock.after(WITHOUT_FRAMES_MS, due);
    const frame = nextFrame(due);
  };
}
