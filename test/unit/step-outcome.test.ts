/** Outcomes as they are kept: whatever a tool or a model gave, one bounded line of JSON. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { answerText, errorText, requestText, resultText } from '../../src/step/outcome.ts';
import { refusal } from '../support/refusal.ts';

const circle: unknown[] = [];
circle.push(circle);

describe('a result', () => {
  test('is its JSON on one line, and nothing is null', () => {
    expect(resultText({ text: 'a\u2028b\u0000 \ud83d' })).toBe('{"text":"a\\u2028b\\u0000 \\ud83d"}');
    expect(resultText(undefined)).toBe('null');
  });

  test.each([[circle], [{ amount: 40n }]])('that JSON cannot say is refused', (result) => {
    expect(refusal(() => resultText(result))).toMatchObject({ code: 'malformed', fields: { where: 'result' } });
  });

  test('that is too large is refused, before it is taken for done', () => {
    const result = 'x'.repeat(limits.stepBytes);
    expect(refusal(() => resultText(result))).toMatchObject({ code: 'too_large', fields: { limit: 'stepBytes' } });
  });
});

describe('an answer', () => {
  test('keeps what the model said to the letter, and the calls that it asks for', () => {
    const calls = [{ call: 'c1', tool: 'lookup', args: { order: '7731' }, more: 1 }];
    expect(answerText('{"n": 1.0,\n"n":9007199254740993}', calls)).toBe(
      '{"result":{"n": 1.0, "n":9007199254740993},"calls":[{"call":"c1","tool":"lookup","args":{"order":"7731"}}]}',
    );
  });

  test.each(['', '{', "{'a':1}", '1 2'])('of %j is no JSON text', (result) => {
    expect(refusal(() => answerText(result, []))).toMatchObject({ code: 'malformed' });
  });
});

test('what a model was asked is kept unless it is large', () => {
  expect(requestText({ prompt: 'hello' })).toEqual({ full: '{"prompt":"hello"}', kept: '{"prompt":"hello"}' });
  expect(requestText('x'.repeat(limits.stepBytes)).kept).toBeUndefined();
});

test('any error has a text that fits, whatever is in it [hatchet#4611]', () => {
  const anything = fc.string({ unit: 'binary', maxLength: 3_000 });
  fc.assert(
    fc.property(anything, anything, (code, message) => {
      const text = errorText({ code, message });
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(limits.turnErrorBytes);
      expect(text).not.toMatch(/\\u0000|\\ud[89a-f]|[\r\n]/u);
      expect(JSON.parse(text)).toMatchObject({ code: expect.stringMatching(/^[A-Za-z0-9._-]{1,64}$/) });
    }),
  );
  expect(errorText({ code: 'declined', message: 'the card was declined' })).toBe(
    '{"code":"declined","message":"the card was declined"}',
  );
});
