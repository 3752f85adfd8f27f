/**
 * Lets in those who come together a few at a turn of the event loop. What one poll of the sockets brings may be a thousand
 * requests, and work that is begun for all of them at once holds the loop for as long as the herd is large [I9].
 */
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import { detach } from '../base/service.ts';

/** Resolves at once while `limits.turnMs` of this turn are not used up, and then in the order of those who came. */
export type Turnstile = () => Promise<void>;

export function createTurnstile(clock: Clock, log: Log): Turnstile {
  const waiting = new Set<() => void>();
  /** Of the turn that goes on; undefined when nobody came in this one. */
  let endMs: number | undefined;
  let isLettingIn = false;

  function begin(): number {
    clock.soon(() => {
      endMs = waiting.size > 0 ? begin() : undefined;
      if (endMs !== undefined) detach(letIn(endMs), log, 'nobody is let in any more');
    });
    return clock.now() + limits.turnMs;
  }

  async function letIn(untilMs: number): Promise<void> {
    isLettingIn = true;
    for (const enter of waiting) {
      waiting.delete(enter);
      enter();
      await Promise.resolve(); // what they do runs here, between two looks at the clock
      if (clock.now() >= untilMs) break;
    }
    isLettingIn = false;
  }

  return () =>
    new Promise((resolve) => {
      waiting.add(resolve);
      endMs ??= begin();
      if (!isLettingIn && clock.now() < endMs) detach(letIn(endMs), log, 'nobody is let in any more');
    });
}
