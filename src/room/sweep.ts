/** Tells all subscribers of a room that there is something new: at once when it is quiet, together when it is busy. */
import type { Clock, Timer } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import { Walk } from './turns.ts';

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
  readonly #clock: Clock;
  readonly #walk: Walk<T>;
  readonly #watch: SweepWatch | undefined;
  #state: 'idle' | 'waiting' | 'walking' = 'idle';
  /** News that came while walking: those visited already have not seen it. */
  #isAskedAgain = false;
  #endedAtMs = -Infinity;
  #timer: Timer | undefined;
  #wallMs = 0;
  /** The turn of the walk in which that was seen. */
  #wallTurn = 0;

  constructor(members: Set<T>, visit: (member: T) => void, clock: Clock, watch?: SweepWatch) {
    this.#clock = clock;
    this.#walk = new Walk(members, visit, clock, (lookedAtMs) => this.#finish(lookedAtMs));
    this.#watch = watch;
  }

  request(): void {
    if (this.#state === 'walking') this.#isAskedAgain = true;
    if (this.#state !== 'idle') return;
    const nowMs = this.#clock.now();
    const waitMs = this.#endedAtMs + limits.coalesceMs - nowMs;
    if (waitMs <= 0) return this.#begin(nowMs);
    this.#state = 'waiting';
    this.#timer = this.#clock.after(waitMs, () => this.#begin(this.#clock.now()));
  }

  /**
   * Milliseconds since the epoch; while it walks, as they were when the first visit of its turn asked. Where a look at the clock is slow, one for
   * each reader whose token ends would be a twentieth of what a frame costs [bench].
   */
  wall(): number {
    if (this.#state !== 'walking') return this.#clock.wall();
    if (this.#wallTurn !== this.#walk.turn) this.#wallMs = this.#clock.wall();
    this.#wallTurn = this.#walk.turn;
    return this.#wallMs;
  }

  cancel(): void {
    this.#timer?.cancel();
    this.#walk.cancel();
    this.#state = 'idle';
    this.#isAskedAgain = false;
  }

  #begin(nowMs: number): void {
    this.#state = 'walking';
    this.#watch?.began();
    this.#walk.begin(nowMs);
  }

  /** A look at the clock of its own would cost a room of one reader as much as the rest of its sweep. */
  #finish(lookedAtMs: number): void {
    this.#state = 'idle';
    this.#endedAtMs = lookedAtMs;
    this.#watch?.ended();
    if (!this.#isAskedAgain) return;
    this.#isAskedAgain = false;
    this.request();
  }
}
