/** The house as it stands keeps its own rules. */
import { describe, expect, test } from 'vitest';
import { errorCodes } from '../../src/base/errors.ts';
import { problemKinds } from '../../src/http/problem.ts';
import { definedInvariants, uncitedInvariants, unknownTags } from './citations.ts';
import { codeBreaches } from './error-codes.ts';
import { cycles, doorBreaches, floorBreaches } from './imports.ts';
import { nameBreaches, openingBreaches, sizeBreaches } from './shape.ts';
import { readSources, readText } from './sources.ts';
import { clientImportBreaches, clientWordBreaches } from './web-client.ts';
import { testBreaches, wordBreaches } from './words.ts';

const src = readSources('src');
const client = [...readSources('web-client/src'), ...readSources('web-client/app')];
const tests = readSources('test');
/** The checkers and their made-up breaches prove nothing but themselves. */
const proofs = tests.filter(({ path }) => !path.startsWith('test/tidy/'));
const bench = readSources('bench');
const all = [...src, ...client, ...tests, ...bench];

describe('imports', () => {
  test('go down a floor or stay in their folder', () => expect(floorBreaches(src)).toEqual([]));
  test('of the web client stay inside it, and its library needs nothing but what it says', () => {
    expect(clientImportBreaches(client)).toEqual([]);
  });
  test('make no circle', () => expect(cycles([...src, ...client])).toEqual([]));
  test('enter a folder by its named files', () => expect(doorBreaches([...src, ...client])).toEqual([]));
});

describe('files', () => {
  test('of the product hold one idea', () => expect(sizeBreaches([...src, ...client])).toEqual([]));
  test('have names in kebab-case', () => expect(nameBreaches(all)).toEqual([]));
  test('open with the sentence that says what they are for', () => {
    expect(openingBreaches([...all, ...readSources('sql', ['.sql'])])).toEqual([]);
  });
});

describe('words', () => {
  test('are spoken by their owners alone', () => expect(wordBreaches(src)).toEqual([]));
  test('are spoken by their owners alone in the web client too', () => expect(clientWordBreaches(client)).toEqual([]));
  test('of tests are conditions, not sleeps, and none is left out', () => expect(testBreaches(proofs)).toEqual([]));
});

describe('citations', () => {
  const invariants = definedInvariants(readText('docs/INVARIANTS.md'));

  test('name what exists', () => expect(unknownTags([...src, ...client, ...proofs, ...bench], invariants)).toEqual([]));
  test('cover every invariant, in src and in a test', () => {
    expect(invariants).toEqual(new Set(Array.from({ length: 15 }, (_, index) => `I${index + 1}`)));
    expect(uncitedInvariants(invariants, src, proofs)).toEqual([]);
  });
});

test('error codes are the same in the union, the table of problems and the protocol', () => {
  expect(codeBreaches(errorCodes, problemKinds, readText('docs/PROTOCOL.md'))).toEqual([]);
});
