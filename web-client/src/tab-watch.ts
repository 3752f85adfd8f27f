/** Watches over a leader in another tab: asks it when it is silent, and finds it dead when it does not answer. */
import type { Clock, Timer } from './clock.ts';

/** A leader that is silent for so long, or half as long again, is asked; asked three times in vain, it is dead. */
const SILENCE_MS = 750;
const LEAST_ASKS = 3;
/** Each time, it is asked twice as often: where everything is slow, theft after theft would make it slower. */
const MOST_ASKS = 12;
/** However much a leader speaks, it is asked so often, so that it knows of its company. */
const PRESENCE_MS = 30_000;
/** A timer that is later than this was held back with its whole page, and answers may wait behind it. */
const LATE_MS = 1_500;

export interface TabWatchParts {
  readonly clock: Clock;
  readonly ask: () => void;
  readonly dead: () => void;
}

export interface TabWatch {
  /** The leader spoke. */
  heard(): void;
  /** Asks, and goes on asking. What was asked before counts no more; for one that was just looked at, no theft either. */
  start(isLookedAt?: boolean): void;
  stop(): void;
}

export function createTabWatch({ clock, ask, dead }: TabWatchParts): TabWatch {
  let heardAtMs = 0;
  let askedAtMs = 0;
  let unanswered = 0;
  let patience = LEAST_ASKS;
  let timer: Timer | undefined;

  function askOnce(): void {
    unanswered += 1;
    askedAtMs = clock.now();
    ask();
  }

  function watch(): void {
    // by chance, so that one of many finds it dead first
    const forMs = SILENCE_MS * (1 + clock.random() / 2);
    const dueMs = clock.now() + forMs;
    timer = clock.after(forMs, () => {
      const nowMs = clock.now();
      if (nowMs > dueMs + LATE_MS) unanswered = 0;
      if (unanswered >= patience) {
        patience = Math.min(2 * patience, MOST_ASKS);
        return dead();
      }
      if (nowMs - heardAtMs >= SILENCE_MS || nowMs - askedAtMs >= PRESENCE_MS) askOnce();
      watch();
    });
  }

  return {
    heard() {
      heardAtMs = clock.now();
      unanswered = 0;
    },
    start(isLookedAt = false) {
      if (isLookedAt) patience = LEAST_ASKS;
      timer?.cancel();
      unanswered = 0;
      askOnce();
      watch();
    },
    stop: () => timer?.cancel(),
  };
}
