/** How much each of many keys has asked for lately, against a rate (pure: the caller says what time it is). */

export interface Rate {
  readonly perSecond: number;
  /** What passes at once after a rest. */
  readonly burst: number;
}

interface Bucket {
  level: number;
  atMs: number;
  /** When it was last put behind all others. */
  placedMs: number;
}

/** How far the order may be behind: to put a key behind all others at each request costs more than the rest of it [bench]. */
const PLACE_MS = 1_000;

/**
 * A bucket that holds anything lets the whole of a request through, and may owe the rest: a rate below the largest request
 * slows it down and never shuts it out.
 */
export class TokenBuckets {
  readonly #rate: Rate;
  readonly #capacity: number;
  /** The one that was quiet longest comes first, give or take `PLACE_MS`. */
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
    const bucket = this.#touch(key, nowMs);
    const waitMs = this.#waitMsOf(bucket);
    if (waitMs === 0) bucket.level -= amount;
    return waitMs;
  }

  /** How long to wait before anything would pass. */
  waitMs(key: string, nowMs: number): number {
    return this.#waitMsOf(this.#touch(key, nowMs));
  }

  #waitMsOf({ level }: Bucket): number {
    return level > 0 ? 0 : Math.max(1, Math.ceil((-level / this.#rate.perSecond) * 1_000));
  }

  #touch(key: string, nowMs: number): Bucket {
    const { perSecond, burst } = this.#rate;
    const bucket = this.#buckets.get(key) ?? this.#make(key, nowMs);
    if (nowMs - bucket.placedMs >= PLACE_MS) this.#place(key, bucket, nowMs);
    bucket.level = Math.min(burst, bucket.level + (Math.max(0, nowMs - bucket.atMs) * perSecond) / 1_000);
    bucket.atMs = nowMs;
    return bucket;
  }

  #make(key: string, nowMs: number): Bucket {
    const bucket = { level: this.#rate.burst, atMs: nowMs, placedMs: nowMs };
    this.#buckets.set(key, bucket);
    if (this.#buckets.size > this.#capacity) this.#forgetOldest();
    return bucket;
  }

  #place(key: string, bucket: Bucket, nowMs: number): void {
    bucket.placedMs = nowMs;
    this.#buckets.delete(key);
    this.#buckets.set(key, bucket);
  }

  #forgetOldest(): void {
    const oldest = this.#buckets.keys().next();
    if (oldest.done !== true) this.#buckets.delete(oldest.value);
  }
}
