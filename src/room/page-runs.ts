/** Who reads history at a run: came to the end of a page soon after it was given out, and will soon want the one after next (pure). */
import { limits } from '../base/limits.ts';
import type { Cursor } from '../event/sequence.ts';

const keyOf = (session: string, end: Cursor): string => `${session} ${end}`;

/** Remembers where pages ended that were given out within the last `limits.readAheadMs`, whoever they were for. */
export class PageRuns {
  /** When, in that order. */
  readonly #given = new Map<string, number>();

  gave(session: string, end: Cursor, nowMs: number): void {
    for (const [key, atMs] of this.#given) {
      if (nowMs - atMs <= limits.readAheadMs) break;
      this.#given.delete(key);
    }
    const key = keyOf(session, end);
    this.#given.delete(key);
    this.#given.set(key, nowMs);
  }

  /** Somebody who stands at `cursor` came there at a run. */
  ledTo(session: string, cursor: Cursor, nowMs: number): boolean {
    const atMs = this.#given.get(keyOf(session, cursor));
    return atMs !== undefined && nowMs - atMs <= limits.readAheadMs;
  }
}
