/** The text of a payload is cut out of a body, never parsed and printed again. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { checkDepth, sliceData, toOneLine } from '../../src/event/slice.ts';
import { jsonSpace, jsonText } from '../support/json-texts.ts';
import { refusal } from '../support/refusal.ts';

const trimmed = (text: string): string => text.replace(/^[ \t\n\r]+|[ \t\n\r]+$/g, '');

describe('slicing [I2]', () => {
  it('gives the source text of every data, whatever JSON it is and whatever stands around it', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(jsonText, fc.boolean(), jsonText), { maxLength: 4 }), jsonSpace, (events, gap) => {
        const items = events.map(([data, isFirst, other]) =>
          isFirst
            ? `{${gap}"data":${data},"other":${other}}`
            : `${gap}{"other":${other},${gap}"d\\u0061ta"${gap}:${data}}${gap}`,
        );
        const body = `${gap}{"more":[{"data":1}],"events"${gap}:${gap}[${items.join(',')}${gap}],"last":{"events":[2]}}${gap}`;
        expect(sliceData(body)).toEqual(events.map(([data]) => trimmed(data)));
      }),
      { numRuns: 2_000 },
    );
  });

  it('never throws anything but a refusal, whatever the text', () => {
    const broken = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: fc.constantFrom('{', '}', '[', ']', '"', '\\', ',', ':', 'events', 'data', '1', ' ') }),
      fc
        .tuple(jsonText, fc.nat(), fc.nat())
        .map(([text, from, length]) => text.slice(from % 20, (from % 20) + (length % 40))),
    );
    fc.assert(
      fc.property(broken, (text) => {
        for (const body of [text, `{"events":${text}`, `{"events":[{"data":${text}`]) {
          try {
            sliceData(body);
          } catch (error) {
            expect(error).toMatchObject({ name: 'LedgerlineError' });
          }
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('has no slice for an event without data, or one that is not an object', () => {
    expect(sliceData('{"events":[{"type":"a"},{},5,"data",[{"data":1}],{"data":2}]}')).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
      '2',
    ]);
    expect(sliceData('[1]')).toEqual([]);
    expect(sliceData('{"events":{"data":1}}')).toEqual([]);
  });

  it('refuses a key that occurs twice in what is ours, however it is written', () => {
    const twice = [
      ['{"events":[],"events":[]}', 'events'],
      ['{"events":[{"data":1,"type":"a","data":2}]}', 'events[0].data'],
      ['{"events":[{"data":1},{"data":1,"d\\u0061ta":2}]}', 'events[1].data'],
    ] as const;
    for (const [body, where] of twice)
      expect(refusal(() => sliceData(body))).toMatchObject({ code: 'malformed', fields: { where } });
  });

  it('leaves equal keys inside a payload alone', () => {
    expect(sliceData('{"events":[{"data":{"a":1,"a":2}}]}')).toEqual(['{"a":1,"a":2}']);
  });

  it('counts the depth of a payload before anything else walks it', () => {
    const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
    const body = (depth: number): string => `{"events":[{"data":1},{"data":${nested(depth)}}]}`;
    expect(sliceData(body(limits.jsonDepth))).toHaveLength(2);
    expect(refusal(() => sliceData(body(limits.jsonDepth + 1)))).toMatchObject({
      code: 'too_deep',
      fields: { limit: 'jsonDepth', max: limits.jsonDepth, index: 1 },
    });
    expect(refusal(() => sliceData('{"a":'.repeat(1_000_000)))).toMatchObject({ code: 'too_deep' });
    expect(refusal(() => checkDepth('['.repeat(1_000_000)))).toMatchObject({ code: 'too_deep' });
  });

  it('stops counting events at the limit', () => {
    const body = `{"events":[${'{},'.repeat(limits.eventsPerAppend)}{}]}`;
    expect(refusal(() => sliceData(body))).toMatchObject({
      code: 'too_large',
      fields: { limit: 'eventsPerAppend', max: limits.eventsPerAppend },
    });
  });

  it('finds the end of a string at every length and behind every number of backslashes', () => {
    for (let length = 0; length < 64; length += 1) {
      for (let backslashes = 0; backslashes < 6; backslashes += 1) {
        const text = JSON.stringify(`${'x'.repeat(length)}${'\\'.repeat(backslashes)}"`.repeat(2));
        expect(sliceData(`{"events":[{"data":${text}}]}`)).toEqual([text]);
      }
    }
  });
});

describe('one line', () => {
  it('keeps the value and holds nothing at which a client could split', () => {
    fc.assert(
      fc.property(jsonText, (text) => {
        const line = toOneLine(text);
        expect(line).not.toMatch(/[\n\r\u0085\u2028\u2029]/);
        expect(JSON.parse(line)).toEqual(JSON.parse(text));
      }),
      { numRuns: 2_000 },
    );
  });

  it('changes nothing else', () => {
    fc.assert(
      fc.property(jsonText, (text) => {
        const expected = [...text].map((character) => {
          if (character === '\n' || character === '\r') return ' ';
          const code = character.codePointAt(0) ?? 0;
          return [0x85, 0x2028, 0x2029].includes(code) ? `\\u${code.toString(16).padStart(4, '0')}` : character;
        });
        expect(toOneLine(text)).toBe(expected.join(''));
      }),
      { numRuns: 1_000 },
    );
  });
});
