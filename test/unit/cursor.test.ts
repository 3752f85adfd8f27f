/** The grammar of a cursor, and where a stream begins for each. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { begin, parseCursor, parseQueryCursor } from '../../src/event/cursor.ts';
import type { RequestedCursor } from '../../src/event/cursor.ts';
import { toCursor } from '../../src/event/sequence.ts';

/** Written apart from the grammar: a cursor is what a number prints as, and nothing else. */
function oracle(text: string): RequestedCursor {
  if (text === '') return { kind: 'start' };
  const isDigits = [...text].every((letter) => '0123456789'.includes(letter));
  if (!isDigits || text.length > 16) return { kind: 'malformed' };
  const value = BigInt(text);
  if (value.toString() !== text || value > 2n ** 53n - 1n) return { kind: 'malformed' };
  return { kind: 'after', cursor: toCursor(Number(value)) };
}

describe('the grammar of a cursor', () => {
  test('is that of its oracle, for every string', () => {
    const texts = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: fc.constantFrom(...'0123456789+-. e,x') }),
      fc.bigInt({ min: 0n, max: 2n ** 60n }).map(String),
      fc.integer({ min: -5, max: 5 }).map((offset) => String(2n ** 53n + BigInt(offset))),
    );
    fc.assert(
      fc.property(texts, (text) => {
        expect(parseCursor(text)).toEqual(oracle(text));
      }),
      { numRuns: 2_000 },
    );
  });

  const malformed = [
    '9007199254740993', '9007199254740992', '1e3', '0x10', '-1', '+5', '٣', '1.0', '00012', '007', ' 7 ', '7 ', '5, 9',
    '\0', '5\0', '\n', 'é', 'ï»¿5', '\uFEFF5', 'null', 'undefined', 'NaN', 'Infinity', 'head', '１', '1_000', '1'.repeat(20_000),
  ]; // prettier-ignore
  test.each(malformed.map((text) => [text.slice(0, 20), text]))('%j is malformed, never an error', (_, text) => {
    expect(parseCursor(text)).toEqual({ kind: 'malformed' });
  });

  test('zero, one and the largest are cursors; nothing and an empty text are the start', () => {
    for (const value of [0, 1, 2 ** 53 - 1])
      expect(parseCursor(String(value))).toEqual({ kind: 'after', cursor: value });
    expect(parseCursor(undefined)).toEqual({ kind: 'start' });
    expect(parseCursor('')).toEqual({ kind: 'start' });
  });

  test('the query knows the head as well', () => {
    expect(parseQueryCursor('head')).toEqual({ kind: 'head' });
    expect(parseQueryCursor('HEAD')).toEqual({ kind: 'malformed' });
    expect(parseQueryCursor('5')).toEqual({ kind: 'after', cursor: 5 });
  });
});

describe('where a stream begins', () => {
  test('every cursor has an answer between the floor and the head, and a reason if it is not where it asked', () => {
    fc.assert(
      fc.property(fc.nat(50), fc.nat(50), fc.option(fc.nat(120), { nil: undefined }), (floor, more, asked) => {
        const head = toCursor(floor + more);
        const requested: RequestedCursor =
          asked === undefined ? { kind: 'start' } : { kind: 'after', cursor: toCursor(asked) };
        const { after, reset } = begin(requested, head, toCursor(floor));
        expect(after).toBeGreaterThanOrEqual(floor);
        expect(after).toBeLessThanOrEqual(head);
        if (reset === undefined) expect(after).toBe(asked ?? 0);
        else expect(after).toBe(floor);
      }),
    );
  });

  test('names what was wrong', () => {
    const at = (requested: RequestedCursor) => begin(requested, toCursor(10), toCursor(4));
    expect(at({ kind: 'malformed' })).toEqual({ after: 4, reset: 'malformed' });
    expect(at({ kind: 'start' })).toEqual({ after: 4, reset: 'expired' });
    expect(at({ kind: 'after', cursor: toCursor(3) })).toEqual({ after: 4, reset: 'expired' });
    expect(at({ kind: 'after', cursor: toCursor(4) })).toEqual({ after: 4 });
    expect(at({ kind: 'after', cursor: toCursor(10) })).toEqual({ after: 10 });
    expect(at({ kind: 'after', cursor: toCursor(11) })).toEqual({ after: 4, reset: 'ahead' });
    expect(at({ kind: 'head' })).toEqual({ after: 10 });
  });
});
