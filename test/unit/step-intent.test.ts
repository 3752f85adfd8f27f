/** Intents: one text for one call, whatever order its arguments come in, and none for what JSON cannot say. */
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { sealIntent } from '../../src/step/intent.ts';
import { refusal } from '../support/refusal.ts';

const seal = (args: unknown, tool = 'issue_refund') => sealIntent({ tool, effect: 'once', args });

describe('an intent', () => {
  test('is RFC 8785 JSON of its version, tool and arguments, and the SHA-256 of that', () => {
    const { request, hash } = seal({ order: '7731', amount: 40, '€': [1e-7, -0, 0.1], note: null });
    expect(request).toBe(
      '{"args":{"amount":40,"note":null,"order":"7731","€":[1e-7,0,0.1]},"tool":"issue_refund","v":1}',
    );
    expect(hash).toBe(createHash('sha256').update(request).digest('hex'));
  });

  test('is the same whatever order its members come in, and another for anything else', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'grapheme' }), fc.integer()), fc.integer(), (args, other) => {
        const turned = Object.fromEntries(Object.entries(args).toReversed());
        expect(seal(turned)).toEqual(seal(args));
        expect(seal(args, 'other').hash).not.toBe(seal(args).hash);
        expect(seal({ args, other }).hash).not.toBe(seal({ args, other: other + 1 }).hash);
      }),
    );
  });

  test('keeps apart what is easily taken for the same', () => {
    const kinds = [40, '40', 40.5, true, 'true', null, [], {}, [40], [[40]], { a: 40 }];
    expect(new Set(kinds.map((args) => seal(args).hash)).size).toBe(kinds.length);
  });
});

const circle: Record<string, unknown> = {};
circle['self'] = circle;

describe('arguments are refused', () => {
  test.each<[string, unknown, string]>([
    ['with nothing', undefined, 'args'],
    ['with an undefined member', { order: { note: undefined } }, 'args.order.note'],
    ['with an undefined item', { items: [1, undefined] }, 'args.items[1]'],
    ['with a hole', { items: Array<number>(2) }, 'args.items[0]'],
    ['with NaN', { amount: Number.NaN }, 'args.amount'],
    ['with infinity', { amount: -Infinity }, 'args.amount'],
    ['with 2^53, which is 2^53+1 as well', { amount: 2 ** 53 }, 'args.amount'],
    ['with a bigint', { amount: 40n }, 'args.amount'],
    ['with half a character', { name: 'half \ud83d' }, 'args.name'],
    ['with half a character in a name', { 'half \ude00': 1 }, 'args'],
    ['with a function', { run: () => 1 }, 'args.run'],
    ['with a date', { at: new Date(0) }, 'args.at'],
    ['with a map', { amounts: new Map([['a', 1]]) }, 'args.amounts'],
  ])('%s', (_, args, where) => {
    expect(refusal(() => seal(args))).toMatchObject({ code: 'malformed', fields: { where } });
  });

  test('that contain themselves, or nest too deeply', () => {
    expect(refusal(() => seal(circle))).toMatchObject({ code: 'too_deep' });
  });

  test('that are too large', () => {
    const args = { text: 'x'.repeat(limits.stepBytes) };
    expect(refusal(() => seal(args))).toMatchObject({ code: 'too_large', fields: { limit: 'stepBytes' } });
  });

  test.each(['', 'a b', 'é', 'x'.repeat(129), 'a\u0000b'])('of a tool named %j', (tool) => {
    expect(refusal(() => seal({}, tool))).toMatchObject({ code: 'malformed', fields: { where: 'tool' } });
  });
});

test('a NUL and whole characters are arguments like any other', () => {
  expect(seal({ text: 'a\u0000b 😀' }).request).toContain('"a\\u0000b 😀"');
});
