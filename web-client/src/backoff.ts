/** How long to wait before the next try: exponential with full jitter (pure). */

const FIRST_MS = 500;
const CAP_MS = 5_000;
/** Full jitter may draw zero, and a server that refuses at once would be asked in a loop. */
const FLOOR_MS = 50;

/** The wait before try `attempt`, where 1 (and 0) is the first. `random` in [0, 1). */
export function backoffMs(attempt: number, random: number): number {
  const ceilingMs = Math.min(CAP_MS, FIRST_MS * 2 ** Math.max(0, attempt - 1));
  return Math.max(FLOOR_MS, random * ceilingMs);
}
