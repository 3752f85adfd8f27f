/**
 * The text of every frame (pure). A frame is lines of `field: value` ended by an empty line [spec: "Parsing an event
 * stream"]. LF only, and nothing that goes into one can hold a CR or an LF: payloads are JSON whose raw line breaks
 * became spaces at append, and every other value is a number or has a grammar without them.
 */
import type { ResetReason } from '../event/cursor.ts';
import type { Cursor, Sequence } from '../event/sequence.ts';

/** How an event's frame is laid out around its sequence and its envelope; the ledger lays out whole pages with it. */
export const eventLayout = { open: 'id: ', middle: '\ndata: ', close: '\n\n' } as const;

/** The frame of one event: no event name, so that `onmessage` gets it. */
export function eventFrame(sequence: Sequence, envelope: string): string {
  return eventLayout.open + sequence + eventLayout.middle + envelope + eventLayout.close;
}

/**
 * The offset at which the frame of `sequence` begins in a buffer of consecutive event frames, or −1. The pattern
 * cannot occur inside a frame, since a frame holds no empty line.
 */
export function frameOffset(frames: Buffer, sequence: Sequence): number {
  if (beginsWith(frames, sequence)) return 0;
  const found = frames.indexOf(`${eventLayout.close}${eventLayout.open}${sequence}\n`);
  return found < 0 ? -1 : found + eventLayout.close.length;
}

const ZERO = 48;
const LINE_FEED = 10;

/** Whether a buffer of event frames begins with that of `sequence`: read digit by digit, as a room asks with every broadcast [bench]. */
export function beginsWith(frames: Buffer, sequence: Sequence): boolean {
  const { open } = eventLayout;
  for (let index = 0; index < open.length; index += 1) if (frames[index] !== open.charCodeAt(index)) return false;
  if (frames[open.length] === ZERO) return false;
  let number = 0;
  for (let at = open.length; at < frames.length; at += 1) {
    const digit = (frames[at] ?? 0) - ZERO;
    if (digit < 0 || digit > 9) return frames[at] === LINE_FEED && number === sequence;
    number = number * 10 + digit;
  }
  return false;
}

/**
 * The offset at which each frame of a buffer of consecutive event frames ends; the last is short of the buffer when that ends inside a
 * frame. A search for a byte costs a seventh of one for text [bench], so line after line is looked at for the empty one.
 */
export function frameEnds(frames: Buffer): number[] {
  const ends: number[] = [];
  let feed = frames.indexOf(LINE_FEED);
  while (feed >= 0) {
    if (frames[feed + 1] === LINE_FEED) ends.push((feed += 1) + 1);
    feed = frames.indexOf(LINE_FEED, feed + 1);
  }
  return ends;
}

const named = (event: string, id: Cursor, data: object, retryMs?: number): string =>
  `event: ${event}\n${retryMs === undefined ? '' : `retry: ${retryMs}\n`}id: ${id}\ndata: ${JSON.stringify(data)}\n\n`;

/** The first bytes of every stream; sets the browser's wait before it reconnects. */
export const retryFrame = (retryMs: number): string => `retry: ${Math.round(retryMs)}\n\n`;

/** The effective cursor: a client that is cut from here on resumes with its id. */
export const helloFrame = (session: string, at: Cursor, floor: Cursor, head: Cursor): string =>
  named('hello', at, { session, after: at, floor, head });

/** Replay is done; what follows is live. */
export const connectedFrame = (at: Cursor, head: Cursor): string => named('connected', at, { head });

/** Keeps proxies awake and lets a client see that it is stale. */
export const syncFrame = (at: Cursor, head: Cursor): string => named('sync', at, { head });

/** The cursor could not be served; the stream goes on from the floor. */
export const resetFrame = (reason: ResetReason, floor: Cursor, head: Cursor): string =>
  named('reset', floor, { reason, floor, head });

export type EndReason = 'closed' | 'deleted';

/** The session is over and all of it was delivered. */
export const endFrame = (at: Cursor, head: Cursor, reason: EndReason): string => named('end', at, { reason, head });

/** This server is draining; come back after `retryMs`, which spreads its readers. */
export const goawayFrame = (at: Cursor, retryMs: number): string =>
  named('goaway', at, { reason: 'draining' }, Math.round(retryMs));

export type DenyReason = 'expired' | 'revoked';

/** The token no longer holds. */
export const deniedFrame = (at: Cursor, reason: DenyReason): string => named('denied', at, { reason });
