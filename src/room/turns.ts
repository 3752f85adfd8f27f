/** Long walks without long pauses: after `limits.turnMs` of synchronous work the event loop gets its turn. */
import type { Clock, Timer } from '../base/clock.ts';
import { limits } from '../base/limits.ts';

/** A look at the clock is not free: a third of what a visit costs beside its system call [bench]. */
const VISITS_A_LOOK = 8;

/**
 * Visits every item; the first turn runs now. Give it a live Set: its iterator sees removals and additions made between
 * turns (an array with swap-remove would skip members).
 */
export function walkInTurns<T>(items: Iterable<T>, visit: (item: T) => void, clock: Clock, done?: () => void): Timer {
  const walk = items[Symbol.iterator]();
  let waiting: Timer | undefined;
  const turn = () => {
    const until = clock.now() + limits.turnMs;
    let visits = 0;
    for (let step = walk.next(); step.done !== true; step = walk.next()) {
      visit(step.value);
      visits += 1;
      if (visits % VISITS_A_LOOK !== 0 || clock.now() < until) continue;
      waiting = clock.soon(turn);
      return;
    }
    waiting = undefined;
    done?.();
  };
  turn();
  return { cancel: () => waiting?.cancel() };
}
