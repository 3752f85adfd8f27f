/** Standard input as lines of text, each with its number, however it was cut into chunks on its way. */
import { isUtf8 } from 'node:buffer';
import { LedgerlineError } from '../base/errors.ts';

export interface Line {
  /** From 1, empty lines counted. */
  readonly number: number;
  readonly text: string;
}

const LF = 10;

/** Only LF ends a line: JSON may hold U+2028, at which Node's readline would cut. Lines of nothing but space are left out. */
export async function* readLines(input: AsyncIterable<Uint8Array>, longestBytes: number): AsyncGenerator<Line> {
  let number = 1;
  let pieces: Buffer[] = [];
  let bytes = 0;

  function keep(piece: Buffer): void {
    bytes += piece.length;
    if (bytes > longestBytes)
      throw new LedgerlineError('too_large', `line ${number} has more than ${longestBytes} bytes`);
    pieces.push(piece);
  }

  function take(): Line {
    const whole = Buffer.concat(pieces);
    if (!isUtf8(whole)) throw new LedgerlineError('malformed', `line ${number} is not UTF-8`);
    const line = { number, text: whole.toString('utf8').trim() };
    number += 1;
    pieces = [];
    bytes = 0;
    return line;
  }

  for await (const part of input) {
    const chunk = Buffer.from(part.buffer, part.byteOffset, part.byteLength);
    let from = 0;
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, from)) {
      keep(chunk.subarray(from, end));
      from = end + 1;
      const line = take();
      if (line.text !== '') yield line;
    }
    keep(chunk.subarray(from));
  }
  const last = take();
  if (last.text !== '') yield last;
}
