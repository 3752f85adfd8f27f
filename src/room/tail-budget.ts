/** One byte budget for the tails of all rooms [I6]: over it, the oldest segment of the process goes, whoever owns it. */
import { limits } from '../base/limits.ts';

/** A segment's claim on the budget. */
export interface Hold {
  readonly bytes: number;
  /** Makes the owner let go of the segment, which releases the hold. */
  readonly drop: () => void;
}

export class TailBudget {
  readonly #limitBytes: number;
  /** A Set keeps its order: the oldest first. */
  readonly #holds = new Set<Hold>();
  #bytes = 0;

  constructor(limitBytes: number = limits.tailBytes) {
    this.#limitBytes = limitBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The newest hold always stays, so that a tail can take what it is about to be given. */
  hold(hold: Hold): void {
    this.#holds.add(hold);
    this.#bytes += hold.bytes;
    for (const oldest of this.#holds) {
      if (this.#bytes <= this.#limitBytes || oldest === hold) return;
      oldest.drop();
    }
  }

  release(hold: Hold): void {
    if (this.#holds.delete(hold)) this.#bytes -= hold.bytes;
  }
}
