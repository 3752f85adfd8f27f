/**
 * Lets in those who come together a few at a turn of the event loop. What one poll of the sockets brings may be a thousand
 * requests, and work that is begun for all of them at once holds the loop for as long as the herd is large [I9].
 */
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import { detach } from '../base/service.ts';
import { FairLine } from '../room/fair-line.ts';

/** Of a long turn it takes so much, so that what else goes on does not shut a herd out; but a stall is not made longer by it. */
const SHARE_OF_TURN = 1 / 4;
const LONGEST_MS = limits.turnMs * 5;

/**
 * Resolves at once while this turn's time is not used up, and then in the order of those who came, one session's between those of
 * others [I9].
 */
export type Turnstile = (session: string) => Promise<void>;

export function createTurnstile(clock: Clock, log: Log): Turnstile {
  const waiting = new FairLine<() => void>();
  /** Of the turn that goes on; undefined when nobody came in this one. */
  let endMs: number | undefined;
  let isLettingIn = false;

  function begin(lastMs?: number): number {
    const nowMs = clock.now();
    clock.soon(() => {
      endMs = waiting.isEmpty ? undefined : begin(nowMs);
      if (endMs !== undefined) detach(letIn(endMs), log, 'nobody is let in any more');
    });
    const shareMs = Math.min((nowMs - (lastMs ?? nowMs)) * SHARE_OF_TURN, LONGEST_MS);
    return nowMs + Math.max(limits.turnMs, shareMs);
  }

  async function letIn(untilMs: number): Promise<void> {
    isLettingIn = true;
    for (let enter = waiting.take(); enter !== undefined; enter = waiting.take()) {
      enter();
      await Promise.resolve(); // what they do runs here, between two looks at the clock
      if (clock.now() >= untilMs) break;
    }
    isLettingIn = false;
  }

  return (session) =>
    new Promise((resolve) => {
      waiting.add(session, resolve);
      endMs ??= begin();
      if (!isLettingIn && clock.now() < endMs) detach(letIn(endMs), log, 'nobody is let in any more');
    });
}
