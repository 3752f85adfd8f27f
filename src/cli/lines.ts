/** A file or standard input as numbered lines of text. */
import { createLineCutter } from '../event/line-cutter.ts';
import type { Line } from '../event/line-cutter.ts';

/** Lines of nothing but space are left out. */
export async function* readLines(input: AsyncIterable<Uint8Array>, longestBytes: number): AsyncGenerator<Line> {
  const cutter = createLineCutter(longestBytes);
  for await (const chunk of input) yield* cutter.cut(chunk);
  yield* cutter.end();
}
