/** Where the bytes that Postgres sends are put, so that a long message lies in a buffer of its own (no socket, no I/O). */
import { limits } from '../base/limits.ts';

/** What it is, and how long: one byte and four, which count themselves but not the first. */
const HEAD_BYTES = 5;

const none = Buffer.alloc(0);

/** Of all readers together: what is read into it is taken out before anybody else reads. */
const shared = Buffer.allocUnsafeSlow(limits.messageReadBytes);

/**
 * Ask for `space`, put bytes at its beginning, say how many with `took`. Whole messages come out, in order: short ones in runs, and a long
 * one alone, in the buffer that it was read into once its length was known. Left to Node's stream and the driver it would be
 * allocated twice, in chunks and joined.
 */
export class MessageReader {
  readonly #emit: (messages: Buffer) => void;
  /** The one that is being read, of which `filled` bytes are there. */
  #message: Buffer | undefined;
  #filled = 0;
  /** A head that is not all there. */
  #start = none;
  #isForeign = false;

  constructor(emit: (messages: Buffer) => void) {
    this.#emit = emit;
  }

  /** For the next read alone. */
  get space(): Buffer {
    return this.#message?.subarray(this.#filled) ?? shared;
  }

  took(bytes: number): void {
    const message = this.#message;
    if (message === undefined) return this.#split(shared.subarray(0, bytes));
    this.#filled += bytes;
    if (this.#filled < message.length) return;
    this.#message = undefined;
    this.#emit(message);
  }

  #split(read: Buffer): void {
    if (this.#isForeign) return this.#emit(Buffer.from(read));
    const bytes = this.#start.length === 0 ? read : Buffer.concat([this.#start, read]);
    let end = 0;
    let length = lengthAt(bytes, end);
    while (end + length <= bytes.length) length = lengthAt(bytes, (end += length));
    if (end > 0) this.#emit(Buffer.from(bytes.subarray(0, end)));
    this.#begin(bytes.subarray(end), length);
  }

  #begin(part: Buffer, length: number): void {
    this.#start = part.length < HEAD_BYTES ? Buffer.from(part) : none;
    if (part.length < HEAD_BYTES) return;
    // Nothing that Postgres says to us is as long; whoever it is, the driver hears it as it comes.
    this.#isForeign = length > limits.messageBytes;
    if (this.#isForeign) return this.#emit(Buffer.from(part));
    // Not out of Node's pool, which would stay with it: 64 KiB in Node 24 [I6].
    this.#message = Buffer.allocUnsafeSlow(length);
    this.#filled = part.copy(this.#message);
  }
}

/** Of the message at `at`; infinite while its head is not there, or when no message has such a head. */
function lengthAt(bytes: Buffer, at: number): number {
  const length = bytes.length - at < HEAD_BYTES ? Infinity : bytes.readUInt32BE(at + 1) + 1;
  return length < HEAD_BYTES ? Infinity : length;
}
