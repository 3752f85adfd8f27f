/** Long walks without long pauses: after `limits.turnMs` of synchronous work the event loop gets its turn. */
import type { Clock, Timer } from '../base/clock.ts';
import { limits } from '../base/limits.ts';

/** A look at the clock is not free: a third of what a visit costs beside its system call [bench]. */
const VISITS_A_LOOK = 8;

/**
 * Visits every item, again each time it is begun. Give it a live Set: its iterator sees removals and additions made between turns (an
 * array with swap-remove would skip members). One that is walked often keeps its walk: a room of one reader pays for it by the event.
 */
export class Walk<T> implements Timer {
  readonly #items: Iterable<T>;
  readonly #visit: (item: T) => void;
  readonly #clock: Clock;
  readonly #done: ((lookedAtMs: number) => void) | undefined;
  #rest: Iterator<T> | undefined;
  #waiting: Timer | undefined;
  #turns = 0;

  /** Which turn this is, of all its walks. */
  get turn(): number {
    return this.#turns;
  }

  /** `done` is told the time of the walk's last look at the clock, which is less than `VISITS_A_LOOK` visits ago. */
  constructor(items: Iterable<T>, visit: (item: T) => void, clock: Clock, done?: (lookedAtMs: number) => void) {
    this.#items = items;
    this.#visit = visit;
    this.#clock = clock;
    this.#done = done;
  }

  /** The first turn runs now. */
  begin(nowMs = this.#clock.now()): void {
    this.#rest = this.#items[Symbol.iterator]();
    this.#turn(nowMs);
  }

  cancel(): void {
    this.#waiting?.cancel();
    this.#waiting = undefined;
  }

  #turn(beganMs: number): void {
    const rest = this.#rest;
    if (rest === undefined) return;
    this.#turns += 1;
    let lookedAtMs = beganMs;
    let visits = 0;
    for (let step = rest.next(); step.done !== true; step = rest.next()) {
      this.#visit(step.value);
      visits += 1;
      if (visits % VISITS_A_LOOK !== 0) continue;
      lookedAtMs = this.#clock.now();
      if (lookedAtMs < beganMs + limits.turnMs) continue;
      this.#waiting = this.#clock.soon(() => this.#turn(this.#clock.now()));
      return;
    }
    this.#waiting = undefined;
    this.#rest = undefined;
    this.#done?.(lookedAtMs);
  }
}

/** Once; the first turn runs now. */
export function walkInTurns<T>(items: Iterable<T>, visit: (item: T) => void, clock: Clock, done?: () => void): Timer {
  const walk = new Walk(items, visit, clock, done);
  walk.begin();
  return walk;
}
