/** The page's address: what is read out of it, and what is written into it. */
import { describe, expect, test } from 'vitest';
import {
  isSessionId,
  readAddress,
  readSequence,
  readTokenHash,
  writeAddress,
} from '../../../web-client/app/base/address.ts';
import { cleanToken } from '../../../web-client/app/access/token.ts';

describe('the address', () => {
  test.each([
    ['', {}],
    ['?session=demo', { session: 'demo' }],
    ['?session=demo&at=123', { session: 'demo', at: 123 }],
    ['?session=demo&at=0', { session: 'demo' }],
    ['?session=demo&at=1e3', { session: 'demo' }],
    ['?session=&at=7', { at: 7 }],
    ['?session=a%20b', { session: 'a b' }],
    ['?view=turns', { view: 'turns' }],
    ['?view=crash', { view: 'crash' }],
    ['?view=anything', {}],
    ['?session=demo&view=turns', { session: 'demo' }],
  ])('%s is read', (search, address) => expect(readAddress(search)).toEqual(address));

  test.each([
    {},
    { view: 'turns' } as const,
    { view: 'crash' } as const,
    { session: 'demo' },
    { session: 'demo', at: 123 },
    { session: 'a b&c=d' },
  ])('is written so that it is read back: %o', (address) =>
    expect(readAddress(writeAddress(address).replace('./', ''))).toEqual(address),
  );

  test('gives up its token', () => {
    expect(readTokenHash('#token=a.b-c_d')).toBe('a.b-c_d');
    expect(readTokenHash('#token=')).toBeUndefined();
    expect(readTokenHash('#main')).toBeUndefined();
    expect(readTokenHash('')).toBeUndefined();
  });
});

test('a sequence is a whole number from 1, with or without separators', () => {
  expect(['1', ' 42 ', '1,204', '1 204', '9007199254740991'].map(readSequence)).toEqual([
    1, 42, 1_204, 1_204, 9_007_199_254_740_991,
  ]);
  expect(['0', '-1', '1.5', '1e3', '007', 'x', '', '9007199254740993'].map(readSequence)).toEqual(
    Array.from({ length: 8 }, () => undefined),
  );
});

test('a session id is what the server takes for one', () => {
  expect(['a', 'A-z_9', 'x'.repeat(128)].filter(isSessionId)).toHaveLength(3);
  expect(['', 'a b', 'é', 'a/b', 'x'.repeat(129)].filter(isSessionId)).toEqual([]);
});

test('a token is taken as people paste it', () => {
  expect([' t ', 'Bearer t', 'bearer  t', '"t"', '"Bearer t"', "'t'"].map(cleanToken)).toEqual(
    Array.from({ length: 6 }, () => 't'),
  );
});
