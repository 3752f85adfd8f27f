/** What is known to be committed beyond a room's watermark while the events before it are missing (no clock, no I/O). */
import { limits } from '../base/limits.ts';
import { START, after, before, next, toSequence } from '../event/sequence.ts';
import type { Cursor, Sequence } from '../event/sequence.ts';
import type { Broadcast } from '../bus/bus.ts';
import { classify } from './gap.ts';

export type EventsBroadcast = Extract<Broadcast, { kind: 'events' }>;

/** What revealed that something is missing. */
export type GapCause = 'gap' | 'head';

/** A range that no broadcast brought, and what revealed it: one that came beyond it, or the ledger's head alone. */
export interface Repair {
  readonly by: GapCause;
  readonly first: Sequence;
  readonly last: Sequence;
}

/** The end of everything held: the newest frames without a hole between them, up to `to`. */
export interface Run {
  readonly to: Cursor;
  readonly broadcasts: readonly EventsBroadcast[];
}

/**
 * Broadcasts that are ahead are kept, not dropped: dropping them made every repair reveal the next gap. The hold is
 * bounded [I6]; when it overflows it forgets the frames and keeps only how far the ledger is known to reach.
 */
export class Held {
  /** In order of their first sequences. */
  #broadcasts: EventsBroadcast[] = [];
  #bytes = 0;
  #hasOverflowed = false;
  #highest = START;
  #cause: GapCause = 'head';

  /** The highest sequence known to be committed, or 0. */
  get highest(): Cursor {
    return this.#highest;
  }

  get cause(): GapCause {
    return this.#cause;
  }

  add(broadcast: EventsBroadcast): void {
    this.note(after(broadcast.last), 'gap');
    if (this.#hasOverflowed) return;
    const place = this.#broadcasts.findLastIndex((held) => held.first <= broadcast.first);
    const twin = this.#broadcasts[place];
    if (twin !== undefined && twin.last >= broadcast.last) return;
    this.#broadcasts.splice(place + 1, 0, broadcast);
    this.#bytes += broadcast.frames?.length ?? 0;
    if (this.#broadcasts.length <= limits.heldBroadcasts && this.#bytes <= limits.heldBytes) return;
    this.#hasOverflowed = true;
    this.#broadcasts = [];
    this.#bytes = 0;
  }

  /** The ledger reaches to here, says a head or a broadcast. */
  note(to: Cursor, cause: GapCause): void {
    if (cause === 'gap') this.#cause = 'gap';
    if (to > this.#highest) this.#highest = to;
  }

  /** Takes out the broadcast that continues the watermark, if it has come; forgets those that fell behind. */
  takeNext(watermark: Cursor): EventsBroadcast | undefined {
    for (;;) {
      const lowest = this.#broadcasts[0];
      if (lowest === undefined) return undefined;
      const placement = classify(lowest.first, lowest.last, watermark);
      if (placement === 'gap') return undefined;
      this.#broadcasts.shift();
      this.#bytes -= lowest.frames?.length ?? 0;
      if (placement !== 'old') return lowest;
    }
  }

  /** What is missing between the watermark and the highest number, in order. What an overflow forgot counts as missing. */
  repairs(watermark: Cursor): Repair[] {
    const missing: Repair[] = [];
    let end = watermark;
    for (const { first, last } of this.#broadcasts) {
      if (first > next(end)) missing.push({ by: 'gap', first: next(end), last: toSequence(before(first)) });
      if (last > end) end = after(last);
    }
    const by = this.#hasOverflowed ? 'gap' : 'head';
    if (this.#highest > end) missing.push({ by, first: next(end), last: toSequence(this.#highest) });
    return missing;
  }

  /** Takes everything, as the run that a tail can hold; what lies before the run is the ledger's to tell. */
  takeRun(): Run {
    const to = this.#highest;
    const run: EventsBroadcast[] = [];
    let end = to;
    for (const broadcast of this.#broadcasts.toReversed()) {
      if (broadcast.last > end) continue;
      if (broadcast.last < end || broadcast.frames === undefined) break;
      run.unshift(broadcast);
      end = before(broadcast.first);
    }
    this.clear();
    return { to, broadcasts: run };
  }

  clear(): void {
    this.#broadcasts = [];
    this.#bytes = 0;
    this.#hasOverflowed = false;
    this.#highest = START;
    this.#cause = 'head';
  }
}
