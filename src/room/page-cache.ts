/** Pages of history that were read a moment ago, for readers that follow close behind one another; bounded in bytes. */
import { limits } from '../base/limits.ts';
import { next } from '../event/sequence.ts';
import type { Cursor } from '../event/sequence.ts';
import type { Page } from '../ledger/ledger.ts';
import { frameOffset } from '../sse/frame.ts';
import type { Slice } from './tail.ts';

/** What follows `cursor` in a page, up to the end of its piece; undefined when the page does not hold it. */
export function readPage(page: Page, cursor: Cursor): Slice | undefined {
  const piece = page.pieces.find((candidate) => candidate.after <= cursor && cursor < candidate.last);
  if (piece === undefined || piece.after === cursor) return piece;
  return { bytes: piece.bytes.subarray(frameOffset(piece.bytes, next(cursor))), last: piece.last };
}

export const holds = (page: { after: Cursor; last: Cursor }, cursor: Cursor): boolean =>
  page.after <= cursor && cursor < page.last;

/** The place of a cursor in the fixed grid at which pages are cut. */
export const blockOf = (cursor: Cursor): number => Math.floor(cursor / limits.pageRows);

interface Entry {
  readonly session: string;
  readonly block: number;
  readonly page: Page;
}

/** Least recently used goes first. A page lies within one block, so that a cursor finds it without its exact beginning. */
export class PageCache {
  readonly limitBytes: number;
  readonly #blocks = new Map<string, Map<number, Entry[]>>();
  /** In order of use. */
  readonly #entries = new Set<Entry>();
  #bytes = 0;

  constructor(limitBytes: number = limits.pageCacheBytes) {
    this.limitBytes = limitBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Of the pages that hold what follows `cursor`, the one that reaches furthest. */
  find(session: string, cursor: Cursor): Page | undefined {
    let found: Entry | undefined;
    for (const entry of this.#blocks.get(session)?.get(blockOf(cursor)) ?? []) {
      if (holds(entry.page, cursor) && (found === undefined || entry.page.last > found.page.last)) found = entry;
    }
    if (found === undefined) return undefined;
    this.#entries.delete(found);
    this.#entries.add(found);
    return found.page;
  }

  add(session: string, page: Page): void {
    const entry = { session, block: blockOf(page.after), page };
    const blocks = this.#blocks.get(session) ?? new Map<number, Entry[]>();
    const entries = blocks.get(entry.block) ?? [];
    // What lies wholly inside the new page will not be chosen again.
    for (const inner of entries) {
      if (inner.page.after >= page.after && inner.page.last <= page.last) this.#remove(inner);
    }
    const kept = blocks.get(entry.block) ?? [];
    blocks.set(entry.block, [...kept, entry]);
    this.#blocks.set(session, blocks);
    this.#entries.add(entry);
    this.#bytes += page.bytes;
    for (const oldest of this.#entries) {
      if (this.#bytes <= this.limitBytes) return;
      this.#remove(oldest);
    }
  }

  forget(session: string): void {
    for (const entries of this.#blocks.get(session)?.values() ?? []) {
      for (const entry of entries) this.#remove(entry);
    }
  }

  #remove(entry: Entry): void {
    if (!this.#entries.delete(entry)) return;
    this.#bytes -= entry.page.bytes;
    const blocks = this.#blocks.get(entry.session);
    const left = blocks?.get(entry.block)?.filter((other) => other !== entry) ?? [];
    if (left.length > 0) blocks?.set(entry.block, left);
    else blocks?.delete(entry.block);
    if (blocks?.size === 0) this.#blocks.delete(entry.session);
  }
}
