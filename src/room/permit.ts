/** How long a reader may read: until its token ends, or is revoked, whichever comes first. */
import type { Clock, Timer } from '../base/clock.ts';
import type { DenyReason } from '../sse/frame.ts';

/** What a stream's token allows. Left out, it has no end. */
export interface Terms {
  /** When the token ends, on the wall clock. */
  readonly expiresAtMs?: number | undefined;
  /** Calls once when it is revoked, at once if it is already. The answer lets go. */
  readonly onRevoked?: ((revoked: () => void) => () => void) | undefined;
}

/** A small integer lies in the object that has it; any larger number is an object of its own, which each visit would have to fetch. */
const NEVER = 2 ** 31 - 1;

/** The second of the wall clock before which nobody has to ask the permit: never behind the end of the token. */
export function expirySecond({ expiresAtMs = Infinity }: Terms): number {
  return expiresAtMs === Infinity ? NEVER : Math.min(Math.floor(expiresAtMs / 1_000), NEVER - 1);
}

export function hasBegun(second: number, clock: Pick<Clock, 'wall'>): boolean {
  return second !== NEVER && clock.wall() >= second * 1_000;
}

export class Permit {
  readonly #expiresAtMs: number;
  readonly #onRevoked: Terms['onRevoked'];
  readonly #clock: Clock;
  readonly #walled: Pick<Clock, 'wall'>;
  readonly #deny: (reason: DenyReason) => void;
  #expiry: Timer | undefined;
  #unwatch: (() => void) | undefined;
  #isOver = false;

  /** `walled` is asked before each delivery, and may remember what it saw for a moment. */
  constructor(terms: Terms, clock: Clock, deny: (reason: DenyReason) => void, walled: Pick<Clock, 'wall'> = clock) {
    this.#expiresAtMs = terms.expiresAtMs ?? Infinity;
    this.#onRevoked = terms.onRevoked;
    this.#walled = walled;
    this.#clock = clock;
    this.#deny = deny;
  }

  /** Also when the wall clock jumped and the timer has not fired. */
  get hasExpired(): boolean {
    return this.#expiresAtMs < Infinity && this.#walled.wall() >= this.#expiresAtMs;
  }

  watch(): void {
    this.#watchExpiry();
    if (this.#isOver) return;
    const unwatch = this.#onRevoked?.(() => this.#deny('revoked'));
    // It may have been revoked, and let go of, on the spot.
    if (this.#isOver) unwatch?.();
    else this.#unwatch = unwatch;
  }

  release(): void {
    this.#isOver = true;
    this.#expiry?.cancel();
    this.#unwatch?.();
  }

  #watchExpiry(): void {
    const leftMs = this.#expiresAtMs - this.#clock.wall();
    if (leftMs === Infinity) return;
    if (leftMs <= 0) return this.#deny('expired');
    // A timer's longest delay may be shorter than a token's life: look again then.
    this.#expiry = this.#clock.after(leftMs, () => this.#watchExpiry());
  }
}
