/** Standard input becomes lines, wherever it was cut on its way. */
import { describe, expect, it } from 'vitest';
import { readLines } from '../../src/cli/lines.ts';
import type { Line } from '../../src/event/line-cutter.ts';

async function* chunks(parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* parts;
}

async function read(parts: readonly Uint8Array[], longestBytes = 1_000): Promise<Line[]> {
  const lines: Line[] = [];
  for await (const line of readLines(chunks(parts), longestBytes)) lines.push(line);
  return lines;
}

const text = '{"a":"é😀"}\r\n\n  \n"\u2028 is no end of a line"\n[1]';
const expected = [
  { number: 1, text: '{"a":"é😀"}' },
  { number: 4, text: '"\u2028 is no end of a line"' },
  { number: 5, text: '[1]' },
];

describe('lines of standard input', () => {
  it('are the same for every place at which the input is cut', async () => {
    const whole = Buffer.from(text);
    for (let cut = 0; cut <= whole.length; cut += 1) {
      expect(await read([whole.subarray(0, cut), whole.subarray(cut)])).toEqual(expected);
    }
    expect(await read([...whole].map((byte) => Buffer.from([byte])))).toEqual(expected);
  });

  it('need no final line break, and may be none at all', async () => {
    expect(await read([Buffer.from('1\n2\n')])).toEqual(await read([Buffer.from('1\n2')]));
    expect(await read([])).toEqual([]);
  });

  it('come before the error of a later one', async () => {
    const seen: string[] = [];
    const reading = async () => {
      for await (const line of readLines(chunks([Buffer.from('1\n2\n'), Buffer.from([0xff, 0x0a])]), 10))
        seen.push(line.text);
    };
    await expect(reading()).rejects.toThrow('line 3 is not UTF-8');
    expect(seen).toEqual(['1', '2']);
  });

  it('have a longest length, which is not read past', async () => {
    expect(await read([Buffer.from('1234567890\n')], 10)).toHaveLength(1);
    await expect(read([Buffer.from('1\n12345'), Buffer.from('678901')], 10)).rejects.toThrow(
      'line 2 has more than 10 bytes',
    );
  });
});
