/** How much each of many keys has asked for lately, against a rate (pure: the caller says what time it is). */

export interface Rate {
  readonly perSecond: number;
  /** What passes at once after a rest. */
  readonly burst: number;
}

interface Bucket {
  level: number;
  atMs: number;
}

/**
 * A bucket that holds anything lets the whole of a request through, and may owe the rest: a rate below the largest request
 * slows it down and never shuts it out.
 */
export class TokenBuckets {
  readonly #rate: Rate;
  readonly #capacity: number;
  /** The one that was quiet longest comes first. */
  readonly #buckets = new Map<string, Bucket>();

  constructor(rate: Rate, capacity: number) {
    this.#rate = rate;
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#buckets.size;
  }

  /** 0, and the amount is taken; or how long to wait before it would be, and nothing is. */
  take(key: string, amount: number, nowMs: number): number {
    const waitMs = this.waitMs(key, nowMs);
    if (waitMs === 0) this.#touch(key, nowMs).level -= amount;
    return waitMs;
  }

  /** How long to wait before anything would pass. */
  waitMs(key: string, nowMs: number): number {
    const { level } = this.#touch(key, nowMs);
    return level > 0 ? 0 : Math.max(1, Math.ceil((-level / this.#rate.perSecond) * 1_000));
  }

  #touch(key: string, nowMs: number): Bucket {
    const { perSecond, burst } = this.#rate;
    const bucket = this.#buckets.get(key) ?? { level: burst, atMs: nowMs };
    this.#buckets.delete(key);
    this.#buckets.set(key, bucket);
    bucket.level = Math.min(burst, bucket.level + (Math.max(0, nowMs - bucket.atMs) * perSecond) / 1_000);
    bucket.atMs = nowMs;
    if (this.#buckets.size > this.#capacity) this.#forgetOldest();
    return bucket;
  }

  #forgetOldest(): void {
    const oldest = this.#buckets.keys().next();
    if (oldest.done !== true) this.#buckets.delete(oldest.value);
  }
}
