/** JSON texts as fast-check arbitraries: not values printed by a library, but everything the grammar allows. */
import fc from 'fast-check';

const space = fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\r'), maxLength: 3 });

const stringText = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary', maxLength: 40 }).map((raw) => JSON.stringify(raw).slice(1, -1)),
      fc.constantFrom(
        '\\u0000',
        '\\ud83d',
        '\\uDE00',
        '\\"',
        '\\\\',
        '\\/',
        '\\b',
        '\\u2028',
        '{',
        ']',
        ',',
        ':',
        'data',
      ),
      fc.constantFrom('\u0085', '\u2028', '\u2029', '\ufeff', '\u007f', '😀', 'é', "'"),
    ),
    { maxLength: 6 },
  )
  .map((pieces) => `"${pieces.join('')}"`);

const numberText = fc.oneof(
  fc.constantFrom('-0', '0', '0.10', '1e400', '-1.5E+3', '1e-7', '9007199254740993', '123456789012345678901234567890'),
  fc.integer().map(String),
);

/** The whitespace stands between all tokens, and around the whole. */
export const jsonText: fc.Arbitrary<string> = fc.letrec<{ value: string; inner: string }>((tie) => ({
  value: fc.tuple(space, tie('inner'), space).map((parts) => parts.join('')),
  inner: fc.oneof(
    { depthSize: 'small' },
    stringText,
    numberText,
    fc.constantFrom('true', 'false', 'null'),
    fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join(',')}]`),
    // Equal keys are allowed to meet.
    fc
      .array(fc.tuple(space, fc.oneof(stringText, fc.constantFrom('"a"', '"data"', '"type"')), space, tie('value')), {
        maxLength: 4,
      })
      .map((members) => `{${members.map(([left, key, right, value]) => `${left}${key}${right}:${value}`).join(',')}}`),
  ),
})).value;

export { space as jsonSpace };
