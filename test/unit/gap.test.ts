/** Ranges against a watermark, and what is held while something is missing. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { toCursor, toSequence } from '../../src/event/sequence.ts';
import { classify } from '../../src/room/gap.ts';
import { Held } from '../../src/room/held.ts';

describe('a range against a watermark', () => {
  test('is what the sets of numbers say', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 30 }), fc.nat(10), fc.nat(40), (first, more, watermark) => {
        const last = first + more;
        const isNew = Array.from({ length: more + 1 }, (_, index) => first + index > watermark);
        const isMissing = first > watermark + 1;
        const expected = !isNew.includes(true) ? 'old' : isMissing ? 'gap' : isNew.includes(false) ? 'overlap' : 'next';
        expect(classify(toSequence(first), toSequence(last), toCursor(watermark))).toBe(expected);
      }),
      { numRuns: 1_000 },
    );
  });

  test('holds at the largest numbers', () => {
    const largest = Number.MAX_SAFE_INTEGER;
    expect(classify(toSequence(largest), toSequence(largest), toCursor(largest - 1))).toBe('next');
    expect(classify(toSequence(largest), toSequence(largest), toCursor(largest))).toBe('old');
    expect(classify(toSequence(largest), toSequence(largest), toCursor(largest - 2))).toBe('gap');
  });
});

describe('broadcasts that are ahead', () => {
  const of = (first: number, last = first, frames: Buffer | undefined = Buffer.alloc(10)) => ({
    kind: 'events' as const,
    first: toSequence(first),
    last: toSequence(last),
    ...(frames === undefined ? {} : { frames }),
  });

  test('come out in order once what was missing has come, whatever the order they came in', () => {
    fc.assert(
      fc.property(fc.shuffledSubarray([12, 13, 14, 15, 16, 17], { minLength: 6 }), fc.nat(5), (order, twice) => {
        const held = new Held();
        for (const first of [...order, order[twice] as number]) held.add(of(first));
        expect(held.takeNext(toCursor(10))).toBeUndefined();
        const out: number[] = [];
        let watermark = 11;
        for (
          let next = held.takeNext(toCursor(watermark));
          next !== undefined;
          next = held.takeNext(toCursor(watermark))
        ) {
          out.push(next.first);
          watermark = next.last;
        }
        expect(out).toEqual([12, 13, 14, 15, 16, 17]);
      }),
    );
  });

  test('the run that is taken is the newest without a hole', () => {
    const held = new Held();
    for (const first of [3, 8, 5, 9, 4, 10]) held.add(of(first));
    const run = held.takeRun();
    expect([run.to, run.broadcasts.map(({ first }) => first)]).toEqual([10, [8, 9, 10]]);
    expect(held.takeRun()).toEqual({ to: 0, broadcasts: [] });
  });

  test('the run is empty when a head, or a range without frames, reaches further', () => {
    const byHead = new Held();
    byHead.add(of(5));
    byHead.note(toCursor(7), 'head');
    expect(byHead.takeRun()).toEqual({ to: 7, broadcasts: [] });
    const byRange = new Held();
    byRange.add(of(5));
    byRange.add({ kind: 'events', first: toSequence(6), last: toSequence(8) });
    expect(byRange.takeRun()).toEqual({ to: 8, broadcasts: [] });
  });

  test.each([
    ['too many', limits.heldBroadcasts + 1, 10],
    ['too large', 5, limits.heldBytes / 4],
  ])('when they are %s, only how far they reach is kept', (_, count, bytes) => {
    const held = new Held();
    for (let index = 0; index < count; index += 1) held.add(of(5 + index, 5 + index, Buffer.alloc(bytes)));
    expect(held.takeNext(toCursor(4))).toBeUndefined();
    expect(held.takeRun()).toEqual({ to: 4 + count, broadcasts: [] });
    held.add(of(2));
    expect(held.takeNext(toCursor(1))?.first).toBe(2);
  });
});
