/** Long walks without long pauses: after `limits.turnMs` of synchronous work the event loop gets its turn. */
import type { Clock, Timer } from '../base/clock.ts';
import { limits } from '../base/limits.ts';

/**
 * Visits every item; the first turn runs now. Give it a live Set: its iterator sees removals and additions made between
 * turns (an array with swap-remove would skip members).
 */
export function walkInTurns<T>(items: Iterable<T>, visit: (item: T) => void, clock: Clock, done?: () => void): Timer {
  const walk = items[Symbol.iterator]();
  let waiting: Timer | undefined;
  const turn = () => {
    const until = clock.now() + limits.turnMs;
    for (let step = walk.next(); step.done !== true; step = walk.next()) {
      visit(step.value);
      if (clock.now() < until) continue;
      waiting = clock.soon(turn);
      return;
    }
    waiting = undefined;
    done?.();
  };
  turn();
  return { cancel: () => waiting?.cancel() };
}
