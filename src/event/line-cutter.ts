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

const LF = 10;

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

  return {
    *cut(chunk) {
      const buffer = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      let from = 0;
      // There may be as many empty lines as bytes.
      const nextEnd = (): number => (buffer[from] === LF ? from : buffer.indexOf(LF, from));
      for (let end = nextEnd(); end >= 0; end = nextEnd()) {
        const isEmpty = bytes === 0 && end === from;
        if (isEmpty) number += 1;
        else yield* take(buffer.subarray(from, end));
        from = end + 1;
      }
      if (from < buffer.length) keep(buffer.subarray(from));
    },
    end: () => take(Buffer.alloc(0)),
    get heldBytes() {
      return bytes;
    },
  };
}
