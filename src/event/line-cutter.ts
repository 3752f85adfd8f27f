/** Bytes into numbered lines of text, however they were cut into chunks on their way (pure). */
import { isUtf8 } from 'node:buffer';
import { LedgerlineError } from '../base/errors.ts';

export interface Line {
  /** From 1, blank lines counted. */
  readonly number: number;
  /** Without the space around it. */
  readonly text: string;
}

export interface LineCutter {
  /** The lines that end in this chunk, blank ones left out. Throws at the line that is to blame, after those before it. */
  cut(chunk: Uint8Array): Generator<Line>;
  /** What stands behind the last line break, when nothing more will come. */
  end(): Generator<Line>;
  /** Of the line that has no end yet. */
  readonly heldBytes: number;
}

const [TAB, LF, CR, SPACE] = [9, 10, 13, 32] as const;

/** Only LF ends a line: JSON may hold U+2028, at which Node's readline would cut. What passes `longestBytes` is not kept. */
export function createLineCutter(longestBytes: number): LineCutter {
  let number = 1;
  /** Grows with the line: pieces of a few bytes each would cost a hundred times what they hold [I6]. */
  let kept = Buffer.alloc(0);
  let bytes = 0;

  function requireRoom(more: number): void {
    if (bytes + more <= longestBytes) return;
    kept = Buffer.alloc(0);
    bytes = 0;
    const fields = { limit: 'lineBytes', max: longestBytes, line: number };
    throw new LedgerlineError('too_large', `line ${number} has more than ${longestBytes} bytes`, fields);
  }

  function keep(piece: Buffer): void {
    requireRoom(piece.length);
    if (bytes + piece.length > kept.length) {
      const larger = Buffer.allocUnsafe(Math.max(2 * kept.length, bytes + piece.length));
      kept.copy(larger, 0, 0, bytes);
      kept = larger;
    }
    piece.copy(kept, bytes);
    bytes += piece.length;
  }

  /** The line that ends with `piece`; most lines are within one chunk, and are read out of it. */
  function* take(piece: Buffer): Generator<Line> {
    if (bytes === 0) requireRoom(piece.length);
    else keep(piece);
    const whole = bytes === 0 ? piece : kept.subarray(0, bytes);
    kept = Buffer.alloc(0);
    bytes = 0;
    if (!isUtf8(whole)) throw new LedgerlineError('malformed', `line ${number} is not UTF-8`, { line: number });
    const text = whole.toString('utf8').trim();
    if (text !== '') yield { number, text };
    number += 1;
  }

  /** Behind the blank lines that stand here: there may be as many as bytes, and one by one each would cost what an event does. */
  function passBlanks(buffer: Buffer, from: number): number {
    let start = from;
    for (let at = from; at < buffer.length; at += 1) {
      const byte = buffer[at];
      if (byte === LF) {
        start = at + 1;
        number += 1;
      } else if (byte !== CR && byte !== SPACE && byte !== TAB) break;
    }
    return start;
  }

  return {
    *cut(chunk) {
      const buffer = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      let from = bytes === 0 ? passBlanks(buffer, 0) : 0;
      for (let end = buffer.indexOf(LF, from); end >= 0; end = buffer.indexOf(LF, from)) {
        yield* take(buffer.subarray(from, end));
        from = passBlanks(buffer, end + 1);
      }
      if (from < buffer.length) keep(buffer.subarray(from));
    },
    end: () => take(Buffer.alloc(0)),
    get heldBytes() {
      return bytes;
    },
  };
}
