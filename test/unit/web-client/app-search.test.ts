/** Searching a session. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cutAtMatches, findMatches, stepMatch, toPattern } from '../../../web-client/app/search/search.ts';
import { emptyTimeline, foldEvents } from '../../../web-client/src/timeline.ts';

const at = '2026-11-30T04:00:00.000Z';
const { items } = foldEvents(
  emptyTimeline,
  [
    { type: 'message.created', data: { key: 'k1', role: 'user', content: 'Where is my (blue) parcel?' } },
    { type: 'reasoning.delta', data: { message: 'r1', text: 'They ask for a PARCEL.' } },
    { type: 'tool.call', data: { call: 'c1', tool: 'parcels.find', args: { colour: 'blue' } } },
    { type: 'tool.result', data: { call: 'c1', result: { street: 'Nieuwegracht' } } },
    { type: 'approval.required', data: { approval: 'a1', tool: 'refund', args: { euros: 9 }, reason: 'It is late.' } },
    { type: 'billing.note', data: { text: 'nothing to pay' } },
  ].map((event, index) => ({ ...event, sequence: index + 1, at })),
);
const kinds = (query: string): string[] => {
  const pattern = toPattern(query);
  if (pattern === undefined) return [];
  const keys = findMatches(items, pattern);
  return items.filter(({ key }) => keys.includes(key)).map(({ kind }) => kind);
};

describe('a search', () => {
  test('finds text, whatever the case', () => expect(kinds('parcel')).toEqual(['message', 'reasoning', 'tool']));
  test('finds tools, arguments and results', () => {
    expect(kinds('parcels.find')).toEqual(['tool']);
    expect(kinds('"colour": "blue"')).toEqual(['tool']);
    expect(kinds('nieuwegracht')).toEqual(['tool']);
  });
  test('finds reasons, types and the data of unknown events', () => {
    expect(kinds('it is late')).toEqual(['approval']);
    expect(kinds('billing.note')).toEqual(['other']);
    expect(kinds('nothing to pay')).toEqual(['other']);
  });
  test('takes every character as itself', () => {
    expect(kinds('(blue)')).toEqual(['message']);
    expect(kinds('p.rcel')).toEqual([]);
  });
  test('for nothing finds nothing', () => expect(toPattern('  ')).toBeUndefined());
});

test('what is cut at its matches joins to the same text, and each match matches', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme' }),
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 2 }),
      (text, query) => {
        const pattern = toPattern(query);
        fc.pre(pattern !== undefined);
        const pieces = cutAtMatches(text, pattern);
        expect(pieces.map((piece) => piece.text).join('')).toBe(text);
        expect(pieces.every(({ isMatch, text: piece }) => !isMatch || toPattern(query)!.test(piece))).toBe(true);
        expect(pieces.every((piece) => text.startsWith(piece.text, piece.offset))).toBe(true);
      },
    ),
  );
});

test('any query is a pattern that finds itself', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), (query) => {
      const pattern = toPattern(query);
      fc.pre(pattern !== undefined);
      expect(`x${query.trim()}y`.search(pattern)).toBeGreaterThanOrEqual(0);
    }),
  );
});

describe('from match to match', () => {
  const matches = ['a', 'b', 'c'];
  test('begins at the newest', () => {
    expect(stepMatch(matches, undefined, -1)).toBe('c');
    expect(stepMatch(matches, 'gone', 1)).toBe('c');
  });
  test('goes one by one, and ends', () => {
    expect(stepMatch(matches, 'c', -1)).toBe('b');
    expect(stepMatch(matches, 'a', -1)).toBeUndefined();
    expect(stepMatch(matches, 'c', 1)).toBeUndefined();
    expect(stepMatch([], undefined, -1)).toBeUndefined();
  });
});
