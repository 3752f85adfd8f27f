/** Cuts a long text into blocks, so that a browser lays out only the last one while it grows (pure). */

const BLOCK_CHARACTERS = 4_000;

/** Cut behind line breaks, and always at the same places while the text grows. Joined they are the text. */
export function toChunks(text: string): readonly string[] {
  const chunks: string[] = [];
  let from = 0;
  while (text.length - from > BLOCK_CHARACTERS) {
    const lineBreak = text.indexOf('\n', from + BLOCK_CHARACTERS);
    if (lineBreak < 0 || lineBreak + 1 >= text.length) break;
    chunks.push(text.slice(from, lineBreak + 1));
    from = lineBreak + 1;
  }
  chunks.push(text.slice(from));
  return chunks;
}
