/** The process's wheel: visits every subscriber once in `limits.syncMs`, spread evenly over that time. */
import type { Clock, Timer } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import { walkInTurns } from './turns.ts';

const slotCount = 60;

/** One timer for all subscribers; a place in a slot is all that each costs. */
export class SyncWheel<T> {
  readonly #slots: readonly Set<T>[] = Array.from({ length: slotCount }, () => new Set<T>());
  readonly #visit: (member: T) => void;
  readonly #clock: Clock;
  #timer: Timer | undefined;
  #walk: Timer | undefined;
  #current = 0;
  #next = 0;

  constructor(visit: (member: T) => void, clock: Clock) {
    this.#visit = visit;
    this.#clock = clock;
  }

  /** Slots are given out in turn, so that a herd that joins together does not beat together. */
  add(member: T): void {
    this.#slots[this.#next++ % slotCount]?.add(member);
  }

  remove(member: T): void {
    for (const slot of this.#slots) if (slot.delete(member)) return;
  }

  start(): void {
    this.#timer = this.#clock.after(limits.syncMs / slotCount, () => {
      this.start();
      const slot = this.#slots[this.#current++ % slotCount];
      if (slot !== undefined) this.#walk = walkInTurns(slot, this.#visit, this.#clock);
    });
  }

  stop(): void {
    this.#timer?.cancel();
    this.#walk?.cancel();
  }
}
