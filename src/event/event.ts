/** The shapes of events at the edge, and the one text in which an event leaves again. */
import { z } from 'zod';
import { limits } from '../base/limits.ts';
import type { Sequence } from './sequence.ts';
import type { Traceparent } from './trace.ts';

/** One NATS subject token by construction, so no id can reach another's subject [I9]. */
export const sessionIdShape = z
  .string()
  .regex(
    new RegExp(`^[A-Za-z0-9_-]{1,${limits.sessionIdLength}}$`),
    `a session id is 1 to ${limits.sessionIdLength} of A-Z a-z 0-9 _ -`,
  );

export const eventTypeShape = z
  .string()
  .regex(
    new RegExp(`^[a-z0-9._-]{1,${limits.eventTypeLength}}$`),
    `an event type is 1 to ${limits.eventTypeLength} of a-z 0-9 . _ -`,
  );

/** An event that asks to be stored. `data` is the payload's JSON text, exactly as it will leave [I2]. */
export interface NewEvent {
  readonly type: string;
  readonly data: string;
  /** Size of `data` in UTF-8. */
  readonly bytes: number;
  /** Kept beside it, and no part of what readers get. */
  readonly traceparent?: Traceparent;
}

/** A stored event. */
export interface StoredEvent {
  readonly sequence: Sequence;
  readonly type: string;
  /** By the database's clock: UTC with milliseconds, `2026-11-30T04:00:00.000Z`. */
  readonly at: string;
  readonly turn?: string;
  readonly attempt?: number;
  readonly data: string;
}

/**
 * The event as readers get it. The ledger builds the same text in SQL for history (`ledger/read`); a test holds
 * the two equal byte for byte. Only `data` needs no escaping by its own nature; the other fields have grammars
 * that exclude whatever JSON would escape.
 */
export function envelope(event: StoredEvent): string {
  const turn = event.turn === undefined ? '' : `,"turn":"${event.turn}","attempt":${event.attempt}`;
  return `{"sequence":${event.sequence},"type":"${event.type}","at":"${event.at}"${turn},"data":${event.data}}`;
}

/** Which is its third member, behind a number and a type, neither of which holds a comma. */
const stampMark = ',"at":"';
const COMMA = 44;
const [ZERO, NINE] = [48, 57];

/** The number that so many digits write; not a number where something else stands. */
function digitsAt(encoded: Buffer, from: number, count: number): number {
  let value = 0;
  for (let index = from; index < from + count; index += 1) {
    const code = encoded[index] ?? 0;
    if (code < ZERO || code > NINE) return Number.NaN;
    value = value * 10 + code - ZERO;
  }
  return value;
}

/**
 * When the first of some encoded events was stamped, in milliseconds since the epoch; not a number where there is none. A room asks
 * with every broadcast: reading it as text costs five times as much [bench].
 */
export function stampOf(encoded: Buffer): number {
  const start = encoded.indexOf(COMMA, encoded.indexOf(COMMA) + 1);
  for (let index = 0; index < stampMark.length; index += 1) {
    if (encoded[start + index] !== stampMark.charCodeAt(index)) return Number.NaN;
  }
  const at = start + stampMark.length;
  return Date.UTC(
    digitsAt(encoded, at, 4),
    digitsAt(encoded, at + 5, 2) - 1,
    digitsAt(encoded, at + 8, 2),
    digitsAt(encoded, at + 11, 2),
    digitsAt(encoded, at + 14, 2),
    digitsAt(encoded, at + 17, 2),
    digitsAt(encoded, at + 20, 3),
  );
}

/** Types whose events may wait a moment for others of their kind; every other type leaves its batch at once. */
export function isDelta(type: string): boolean {
  return type === 'delta' || type.endsWith('.delta') || type.endsWith('-delta');
}
