/** Tells all subscribers of a room that there is something new: at once when it is quiet, together when it is busy. */
import type { Clock, Timer } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import { walkInTurns } from './turns.ts';

/** Who looks on. */
export interface SweepWatch {
  began(): void;
  ended(): void;
}

/**
 * A lone event leaves at once; what comes within `limits.coalesceMs` of the last sweep leaves as one write for each
 * subscriber. Without the window a busy session costs a system call for each event and viewer.
 */
export class Sweep<T> {
  readonly #members: Set<T>;
  readonly #visit: (member: T) => void;
  readonly #clock: Clock;
  readonly #watch: SweepWatch | undefined;
  #state: 'idle' | 'waiting' | 'walking' = 'idle';
  /** News that came while walking: those visited already have not seen it. */
  #isAskedAgain = false;
  #endedAtMs = -Infinity;
  #timer: Timer | undefined;

  constructor(members: Set<T>, visit: (member: T) => void, clock: Clock, watch?: SweepWatch) {
    this.#members = members;
    this.#visit = visit;
    this.#clock = clock;
    this.#watch = watch;
  }

  request(): void {
    if (this.#state === 'walking') this.#isAskedAgain = true;
    if (this.#state !== 'idle') return;
    const waitMs = this.#endedAtMs + limits.coalesceMs - this.#clock.now();
    if (waitMs <= 0) return this.#walk();
    this.#state = 'waiting';
    this.#timer = this.#clock.after(waitMs, () => this.#walk());
  }

  cancel(): void {
    this.#timer?.cancel();
    this.#state = 'idle';
    this.#isAskedAgain = false;
  }

  #walk(): void {
    this.#state = 'walking';
    this.#watch?.began();
    this.#timer = walkInTurns(this.#members, this.#visit, this.#clock, () => this.#finish());
  }

  #finish(): void {
    this.#state = 'idle';
    this.#endedAtMs = this.#clock.now();
    this.#watch?.ended();
    if (!this.#isAskedAgain) return;
    this.#isAskedAgain = false;
    this.request();
  }
}
