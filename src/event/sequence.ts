/** The integer that everything hangs on: what a sequence and a cursor are, and the only places where they are counted. */
import { assert } from '../base/assert.ts';

declare const sequenceBrand: unique symbol;
declare const cursorBrand: unique symbol;

/** The number of an event in its session: contiguous, from 1. */
export type Sequence = number & { readonly [sequenceBrand]: true };

/** A position in a session's ledger: everything up to and with this number lies behind it. From 0, which is the start. */
export type Cursor = number & { readonly [cursorBrand]: true };

/** The position before the first event. */
export const START = 0 as Cursor;

/** A number that came from outside (a row, a broadcast, a header) as a sequence. */
export function toSequence(value: number): Sequence {
  if (!Number.isSafeInteger(value) || value < 1) assert(false, `not a sequence: ${value}`); // its text is not made in vain
  return value as Sequence;
}

/** A number that came from outside as a cursor. */
export function toCursor(value: number): Cursor {
  if (!Number.isSafeInteger(value) || value < 0) assert(false, `not a cursor: ${value}`);
  return value as Cursor;
}

/** The position just behind an event. */
export const after = (sequence: Sequence): Cursor => sequence as number as Cursor;

/** The position just before an event. */
export const before = (sequence: Sequence): Cursor => (sequence - 1) as Cursor;

/** The event that follows a position. */
export const next = (cursor: Cursor): Sequence => (cursor + 1) as Sequence;

/** The event `offset` places after `first`. */
export const plus = (first: Sequence, offset: number): Sequence => toSequence(first + offset);
