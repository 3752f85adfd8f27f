/** The newest frames of one session, held once for all its subscribers: a chain of append-only segments. */
import { assert } from '../base/assert.ts';
import { limits } from '../base/limits.ts';
import { after, next } from '../event/sequence.ts';
import type { Cursor } from '../event/sequence.ts';
import type { Hold, TailBudget } from './tail-budget.ts';

/** Whole frames that follow a cursor, and the cursor behind them. */
export interface Slice {
  readonly bytes: Buffer;
  readonly last: Cursor;
}

/** Bytes below `used` never change again, so sockets may hold slices of them for as long as they like. */
interface Segment {
  readonly bytes: Buffer;
  used: number;
  /** The segment covers (after, last]. */
  readonly after: Cursor;
  last: Cursor;
  /** Where each of its frames ends. */
  readonly ends: number[];
  readonly hold: Hold;
}

/** A tail begins small, so that thousands of quiet rooms fit the budget, and doubles up to `limits.tailSegmentBytes`. */
const firstSegmentBytes = 4_096;

/** Covers (start, end], which may be empty. Its end is the room's watermark. */
export class Tail {
  readonly #budget: TailBudget;
  readonly #segments: Segment[] = [];
  #start: Cursor;
  #end: Cursor;
  /** What the last reader got: those that stand at the same cursor get the same Buffer. */
  #memo: { readonly cursor: Cursor; readonly end: Cursor; readonly slice: Slice } | undefined;

  constructor(at: Cursor, budget: TailBudget) {
    this.#budget = budget;
    this.#start = at;
    this.#end = at;
  }

  get start(): Cursor {
    return this.#start;
  }

  get end(): Cursor {
    return this.#end;
  }

  /** Copies the frames behind its end. `ends` says where each frame ends; the first `skipped` of them are left out. */
  append(frames: Buffer, ends: readonly number[], skipped = 0): void {
    let index = skipped;
    while (index < ends.length) {
      const from = ends[index - 1] ?? 0;
      const segment = this.#segmentFor((ends[index] ?? from) - from);
      const shift = segment.used - from;
      let to = from;
      for (let end = ends[index]; end !== undefined && end + shift <= segment.bytes.length; end = ends[++index]) {
        segment.ends.push(end + shift);
        segment.last = after(next(segment.last));
        to = end;
      }
      frames.copy(segment.bytes, segment.used, from, to);
      segment.used = to + shift;
      this.#end = segment.last;
    }
  }

  /** The frames from `cursor` to the end of its segment; undefined when the tail does not cover what follows `cursor`. */
  read(cursor: Cursor): Slice | undefined {
    const memo = this.#memo;
    if (memo !== undefined && memo.cursor === cursor && memo.end === this.#end) return memo.slice;
    if (cursor < this.#start || cursor >= this.#end) return undefined;
    const segment = this.#segments.findLast((candidate) => candidate.after <= cursor);
    assert(segment !== undefined, 'a tail covers what it says it covers');
    const from = segment.ends[cursor - segment.after - 1] ?? 0;
    const slice = { bytes: segment.bytes.subarray(from, segment.used), last: segment.last };
    this.#memo = { cursor, end: this.#end, slice };
    return slice;
  }

  /** Forgets everything and is empty at `at`. */
  restart(at: Cursor): void {
    for (const segment of this.#segments) this.#budget.release(segment.hold);
    this.#segments.length = 0;
    this.#memo = undefined;
    this.#start = at;
    this.#end = at;
  }

  #segmentFor(frameBytes: number): Segment {
    const newest = this.#segments.at(-1);
    if (newest !== undefined && newest.used + frameBytes <= newest.bytes.length) return newest;
    const doubled = newest === undefined ? firstSegmentBytes : newest.bytes.length * 2;
    const bytes = Math.max(Math.min(doubled, limits.tailSegmentBytes), frameBytes);
    const segment: Segment = {
      bytes: Buffer.allocUnsafeSlow(bytes),
      used: 0,
      after: this.#end,
      last: this.#end,
      ends: [],
      hold: { bytes, drop: () => this.#dropOldest() },
    };
    this.#segments.push(segment);
    this.#budget.hold(segment.hold);
    return segment;
  }

  #dropOldest(): void {
    const oldest = this.#segments.shift();
    if (oldest === undefined) return;
    this.#budget.release(oldest.hold);
    this.#memo = undefined;
    this.#start = oldest.last;
  }
}
