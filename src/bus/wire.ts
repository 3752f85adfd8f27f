/** Subjects and bytes of a broadcast (pure): what leaves, and a total reading of whatever arrives. */
import { assert } from '../base/assert.ts';
import { LedgerlineError } from '../base/errors.ts';
import { toSequence } from '../event/sequence.ts';
import type { Broadcast, Wake } from './bus.ts';

const token = /^[A-Za-z0-9_-]+$/;
const tokens = /^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*$/;

/** Refuses a root that would make other subjects of it: an operator's mistake, so it is told at start. */
export function checkSubjectRoot(root: string): void {
  if (tokens.test(root)) return;
  throw new LedgerlineError(
    'configuration',
    `a NATS subject root is words of A-Z a-z 0-9 _ - joined by dots, not ${JSON.stringify(root)}`,
  );
}

/**
 * The subject of a session: one token below the root. The door refuses every other id; a dot or a wildcard that
 * came this far would let one session hear another [I9].
 */
export function subjectOf(root: string, session: string): string {
  assert(token.test(session), 'a session id is one subject token');
  return `${root}.${session}`;
}

/** Where workers listen, beside the sessions: no session id holds a `$`. */
export function wakeSubjectOf(root: string): string {
  return `${root}.$work`;
}

/**
 * A line of text, then the frames as they are. The leading number is the format's version: a process that reads
 * only an older one ignores the message, and its head check delivers the events.
 *
 *     1 events <first> <last> <bytes of frames, 0 for none>⏎<frames>
 *     1 head⏎
 */
const headLine = /^1 (?:head|events ([1-9][0-9]{0,15}) ([1-9][0-9]{0,15}) (0|[1-9][0-9]{0,15}))$/;
const HEAD_LINE_BYTES = 64;
const LINE_FEED = 10;

/** How much of a broadcast a message carries. */
export type Carried = 'frames' | 'range' | 'head';

export interface Message {
  readonly bytes: Buffer;
  readonly carried: Carried;
}

/** Frames that would make the message larger than `maxBytes` stay behind: the range alone says enough. */
export function encode(broadcast: Broadcast, maxBytes: number): Message {
  if (broadcast.kind === 'head') return { bytes: Buffer.from('1 head\n'), carried: 'head' };
  const { first, last, frames } = broadcast;
  if (frames !== undefined && frames.length > 0) {
    const line = `1 events ${first} ${last} ${frames.length}\n`;
    if (line.length + frames.length <= maxBytes) return { bytes: behind(line, frames), carried: 'frames' };
  }
  return { bytes: Buffer.from(`1 events ${first} ${last} 0\n`), carried: 'range' };
}

/** Written where they go, since it is done for each append; a line has no more bytes than characters. */
function behind(line: string, frames: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(line.length + frames.length);
  frames.copy(bytes, bytes.write(line, 'latin1'));
  return bytes;
}

/**
 * Undefined for what is not ours or is damaged. The frames are a view of what was received: whoever keeps them
 * copies them, or keeps the whole received chunk alive.
 */
export function decode(received: Uint8Array): Broadcast | undefined {
  const bytes = Buffer.from(received.buffer, received.byteOffset, received.byteLength);
  const end = bytes.subarray(0, HEAD_LINE_BYTES).indexOf(LINE_FEED);
  const match = end < 0 ? null : headLine.exec(bytes.toString('latin1', 0, end));
  if (match === null) return undefined;
  const body = bytes.subarray(end + 1);
  if (match[1] === undefined) return body.length === 0 ? { kind: 'head' } : undefined;
  const [first, last, length] = [Number(match[1]), Number(match[2]), Number(match[3])];
  if (!Number.isSafeInteger(first) || !Number.isSafeInteger(last) || first > last || length !== body.length)
    return undefined;
  const range = { kind: 'events', first: toSequence(first), last: toSequence(last) } as const;
  return length === 0 ? range : { ...range, frames: body };
}

/**
 *     1 ready <milliseconds>⏎
 *     1 stop <session> <turn>⏎
 *     1 delivery⏎
 */
const wakeLine = /^1 (?:ready (0|[1-9][0-9]{0,8})|delivery|stop ([A-Za-z0-9_-]{1,128}) ([A-Za-z0-9._:-]{1,128}))\n$/;

export function encodeWake(wake: Wake): Buffer {
  switch (wake.kind) {
    case 'ready':
      return Buffer.from(`1 ready ${wake.inMs}\n`);
    case 'stop':
      return Buffer.from(`1 stop ${wake.session} ${wake.turn}\n`);
    case 'delivery':
      return Buffer.from('1 delivery\n');
  }
}

/** Undefined for what is not ours or is damaged. */
export function decodeWake(received: Uint8Array): Wake | undefined {
  const match = wakeLine.exec(Buffer.from(received).toString('latin1'));
  if (match === null) return undefined;
  const [, inMs, session, turn] = match;
  if (inMs !== undefined) return { kind: 'ready', inMs: Number(inMs) };
  return session === undefined || turn === undefined ? { kind: 'delivery' } : { kind: 'stop', session, turn };
}
