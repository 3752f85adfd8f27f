/** The grammar of a reader's cursor, and where a stream begins for each (pure). */
import { START, toCursor } from './sequence.ts';
import type { Cursor } from './sequence.ts';

/** What a reader asked for. `head` is "from now on". */
export type RequestedCursor =
  | { readonly kind: 'start' }
  | { readonly kind: 'head' }
  | { readonly kind: 'after'; readonly cursor: Cursor }
  | { readonly kind: 'malformed' };

const canonicalDecimal = /^(?:0|[1-9][0-9]{0,15})$/;

/**
 * Reads the text of a cursor: a canonical decimal of at most 2^53−1. An empty text counts as absent [spec: a client
 * whose last event id is the empty string sends no header]; whatever else is malformed, never an error.
 */
export function parseCursor(text: string | undefined): RequestedCursor {
  if (text === undefined || text === '') return { kind: 'start' };
  if (!canonicalDecimal.test(text)) return { kind: 'malformed' };
  const value = Number(text);
  return Number.isSafeInteger(value) ? { kind: 'after', cursor: toCursor(value) } : { kind: 'malformed' };
}

/** The same for the query, which also knows `head`. */
export function parseQueryCursor(text: string | undefined): RequestedCursor {
  return text === 'head' ? { kind: 'head' } : parseCursor(text);
}

export type ResetReason = 'expired' | 'ahead' | 'malformed' | 'restored';

/** Where a stream begins; with a reason when it is not where the reader asked [I7]. */
export interface Beginning {
  readonly after: Cursor;
  readonly reset?: ResetReason;
}

/** Every cursor has an answer: one that cannot be served goes on from the floor, and says why. */
export function begin(requested: RequestedCursor, head: Cursor, floor: Cursor): Beginning {
  switch (requested.kind) {
    case 'malformed':
      return { after: floor, reset: 'malformed' };
    case 'head':
      return { after: head };
    case 'start':
      return floor > START ? { after: floor, reset: 'expired' } : { after: START };
    case 'after':
      if (requested.cursor > head) return { after: floor, reset: 'ahead' };
      if (requested.cursor < floor) return { after: floor, reset: 'expired' };
      return { after: requested.cursor };
  }
}
