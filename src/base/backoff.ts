/** How long to wait before the next try: exponential, capped, jittered over its upper half (pure). */

export interface Backoff {
  readonly firstMs: number;
  readonly capMs: number;
}

/** The delay before try `attempt` (0 is the first retry). `random` in [0, 1). */
export function backoffMs(backoff: Backoff, attempt: number, random: number): number {
  const ceiling = Math.min(backoff.capMs, backoff.firstMs * 2 ** Math.min(attempt, 30));
  return ceiling / 2 + (ceiling / 2) * random;
}
