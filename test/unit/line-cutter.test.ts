/** Bytes become the same numbered lines however they were cut, and blank ones are counted without being read. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { LedgerlineError } from '../../src/base/errors.ts';
import { createLineCutter } from '../../src/event/line-cutter.ts';
import type { Line } from '../../src/event/line-cutter.ts';

/** The lines of all chunks, and the line that was to blame. */
function cutAll(chunks: readonly Uint8Array[], longest: number): (Line | string)[] {
  const cutter = createLineCutter(longest);
  const seen: (Line | string)[] = [];
  try {
    for (const chunk of chunks) for (const line of cutter.cut(chunk)) seen.push(line);
    for (const line of cutter.end()) seen.push(line);
  } catch (thrown) {
    if (!(thrown instanceof LedgerlineError)) throw thrown;
    seen.push(`${thrown.code} ${String(thrown.fields['line'])}`);
  }
  return seen;
}

/** As anybody would do it with the whole text at hand. */
function plainly(text: string, longest: number): (Line | string)[] {
  const seen: (Line | string)[] = [];
  const lines = text.split('\n');
  for (const [index, line] of lines.entries()) {
    const isBlankLine = /^[ \t\r]*$/.test(line) && index < lines.length - 1;
    if (!isBlankLine && Buffer.byteLength(line) > longest) return [...seen, `too_large ${index + 1}`];
    if (line.trim() !== '') seen.push({ number: index + 1, text: line.trim() });
  }
  return seen;
}

it('lines are the same however the bytes were cut, each with its number', () => {
  const piece = fc.constantFrom('\n', '\n', '\r\n', ' ', '\t', 'ab', '{"é":"\u2028"}', '\u00a0', 'x'.repeat(9));
  const text = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(''));
  fc.assert(
    fc.property(text, fc.infiniteStream(fc.integer({ min: 1, max: 7 })), (whole, sizes) => {
      const bytes = Buffer.from(whole);
      const chunks: Buffer[] = [];
      for (let from = 0; from < bytes.length; from += chunks.at(-1)?.length ?? 1) {
        chunks.push(bytes.subarray(from, from + (sizes.next().value ?? 1)));
      }
      expect(cutAll(chunks, 1_000)).toEqual(plainly(whole, 1_000));
      expect(cutAll([bytes], 12)).toEqual(plainly(whole, 12));
    }),
    { numRuns: 500 },
  );
});

it('a line of blanks alone that does not end is as bounded as any other', () => {
  const blanks = Buffer.from(' '.repeat(40));
  expect(cutAll([Buffer.from('\n\n'), blanks, blanks, blanks], 100)).toEqual(['too_large 3']);
});
