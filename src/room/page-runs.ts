/** Who reads history at a run: came to the end of a page soon after it was given out (no clock, no I/O). */
import { limits } from '../base/limits.ts';
import type { Cursor } from '../event/sequence.ts';
import type { Page } from '../ledger/ledger.ts';

const keyOf = (session: string, end: Cursor): string => `${session} ${end}`;

/** Remembers where pages ended that were given out within the last `limits.readAheadMs`, whoever they were for. */
export class PageRuns {
  /** When, in that order, and how large the page was. */
  readonly #given = new Map<string, { readonly atMs: number; readonly bytes: number }>();
  #bytes = 0;

  /** Of the pages that are remembered: what is read ahead for those who took them is as large. */
  get bytes(): number {
    return this.#bytes;
  }

  gave(session: string, { last, bytes }: Page, nowMs: number): void {
    for (const [key, { atMs }] of this.#given) {
      if (nowMs - atMs <= limits.readAheadMs) break;
      this.#forget(key);
    }
    const key = keyOf(session, last);
    this.#forget(key);
    this.#given.set(key, { atMs: nowMs, bytes });
    this.#bytes += bytes;
  }

  /** Somebody who stands at `cursor` came there at a run. */
  ledTo(session: string, cursor: Cursor, nowMs: number): boolean {
    const given = this.#given.get(keyOf(session, cursor));
    return given !== undefined && nowMs - given.atMs <= limits.readAheadMs;
  }

  #forget(key: string): void {
    this.#bytes -= this.#given.get(key)?.bytes ?? 0;
    this.#given.delete(key);
  }
}
