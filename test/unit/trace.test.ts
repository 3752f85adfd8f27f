/** The header `traceparent`: read as its standard says, and nothing made of what is no such thing. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readTraceparent, traceIdOf, traced } from '../../src/event/trace.ts';

const trace = '0af7651916cd43dd8448eb211c80319c';
const span = 'b7ad6b7169203331';
const good = `00-${trace}-${span}-01`;

describe('a traceparent', () => {
  test('stays as it came', () => expect(readTraceparent(good)).toBe(good));
  test('has the id of its trace', () => expect(traceIdOf(readTraceparent(good)!)).toBe(trace));

  test.each([
    undefined,
    '',
    'nonsense',
    good.toUpperCase(),
    ` ${good}`,
    `${good}-more`,
    `00-${'0'.repeat(32)}-${span}-01`,
    `00-${trace}-${'0'.repeat(16)}-01`,
    `00-${trace}-${span}-0`,
    `ff-${trace}-${span}-01`,
    `cc-${trace}-${span}-01x`,
    `${good}, ${good}`,
  ])('is not %j', (text) => expect(readTraceparent(text)).toBeUndefined());

  test('of a newer version is taken as far as this one goes, with the one flag that is known', () => {
    expect(readTraceparent(`cc-${trace}-${span}-03-what-comes`)).toBe(good);
    expect(readTraceparent(`01-${trace}-${span}-fe`)).toBe(`00-${trace}-${span}-00`);
  });

  test('holds nothing that separates values on their way to the database', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(readTraceparent(text) ?? good).toMatch(/^[0-9a-f-]{55}$/);
      }),
    );
  });
});

test('of several events the first says where they come from', () => {
  const events = [{ type: 'a' }, { type: 'b' }];
  expect(traced(events, readTraceparent(good))).toEqual([{ type: 'a', traceparent: good }, { type: 'b' }]);
  expect(traced(events, undefined)).toBe(events);
});
