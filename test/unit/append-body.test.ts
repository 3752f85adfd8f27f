/** An append's body is taken whole or refused with the place of its fault. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { limits } from '../../src/base/limits.ts';
import { eventsShape, parseAppendBody, parseEventsBody } from '../../src/event/append-body.ts';
import { toOneLine } from '../../src/event/slice.ts';
import { jsonText } from '../support/json-texts.ts';
import { refusal } from '../support/refusal.ts';

const parse = (text: string) => parseAppendBody(Buffer.from(text));
const refused = (text: string | Buffer) => refusal(() => parseAppendBody(Buffer.from(text as string)));
const event = (data: string): string => `{"events":[{"type":"a","data":${data}}]}`;

describe('an append body', () => {
  it('keeps every payload to the last character [I2]', () => {
    fc.assert(
      fc.property(fc.array(jsonText, { minLength: 1, maxLength: 5 }), (payloads) => {
        const { events } = parse(`{"events":[${payloads.map((data) => `{"type":"a.b","data":${data}}`).join(',')}]}`);
        // What cannot be written in UTF-8, half a surrogate pair outside an escape, arrives as the replacement character.
        const sent = payloads.map((data) => Buffer.from(data).toString());
        expect(events.map(({ data }) => data)).toEqual(
          sent.map((data) => toOneLine(data.replace(/^[ \t\n\r]+|[ \t\n\r]+$/g, ''))),
        );
        expect(events.map(({ data }) => JSON.parse(data) as unknown)).toEqual(
          sent.map((data) => JSON.parse(data) as unknown),
        );
        expect(events.map(({ bytes }) => bytes)).toEqual(events.map(({ data }) => Buffer.byteLength(data)));
      }),
      { numRuns: 1_000 },
    );
  });

  it.each([
    '{"n":9007199254740993}',
    '-0',
    '{"b":1,"a":2,"b":3}',
    '"\\u0000"',
    '"\\ud83d"',
    '"{}"',
    'null',
    '0',
    '[]',
    '"\ufeffx"',
  ])('keeps %s as it is', (data) => {
    expect(parse(event(data)).events).toEqual([{ type: 'a', data, bytes: Buffer.byteLength(data) }]);
  });

  it('takes a producer and an expected head', () => {
    expect(parse('{"producer":{"id":"p:1","sequence":41},"expectedHead":0,"events":[{"type":"a","data":1}]}')).toEqual({
      producer: { id: 'p:1', sequence: 41 },
      expectedHead: 0,
      events: [{ type: 'a', data: '1', bytes: 1 }],
    });
  });

  it('takes whose attempt it is', () => {
    const body = parse('{"fence":{"turn":"0b6c:A-Z_.","attempt":7},"events":[{"type":"a","data":1}]}');
    expect(body).toEqual({ fence: { turn: '0b6c:A-Z_.', attempt: 7 }, events: [{ type: 'a', data: '1', bytes: 1 }] });
  });

  it.each([
    ['', 'character 0'],
    ['nothing', 'body'],
    ['[]', 'body'],
    ['{"events":[{"type":"a","data":1}]} x', 'body'],
    ['{"events":[{"type":"a","data":01}]}', 'body'],
    ['{"events":[{"type":"a","data":"\t"}]}', 'body'],
    ['{}', 'events'],
    ['{"events":[]}', 'events'],
    ['{"events":{}}', 'events'],
    ['{"events":[1]}', 'events[0]'],
    ['{"events":[{"type":"a","data":1},{"type":"a"}]}', 'events[1].data'],
    ['{"events":[{"data":1}]}', 'events[0].type'],
    ['{"events":[{"type":"A","data":1}]}', 'events[0].type'],
    ['{"events":[{"type":"a\\nid: 9","data":1}]}', 'events[0].type'],
    [`{"events":[{"type":"${'a'.repeat(65)}","data":1}]}`, 'events[0].type'],
    ['{"events":[{"type":"a","data":1,"id":2}]}', 'events[0]'],
    ['{"events":[{"type":"a","data":1,"__proto__":2}]}', 'events[0]'],
    ['{"events":[{"type":"a","data":1}],"more":1}', 'body'],
    ['{"events":[{"type":"a","data":1}],"producer":{}}', 'producer.id'],
    ['{"events":[{"type":"a","data":1}],"producer":{"id":"a b","sequence":1}}', 'producer.id'],
    ['{"events":[{"type":"a","data":1}],"producer":{"id":"a","sequence":0}}', 'producer.sequence'],
    ['{"events":[{"type":"a","data":1}],"producer":{"id":"a","sequence":9007199254740992}}', 'producer.sequence'],
    [
      '{"events":[{"type":"a","data":1},{"type":"a","data":1}],"producer":{"id":"a","sequence":9007199254740991}}',
      'producer.sequence',
    ],
    ['{"events":[{"type":"a","data":1}],"fence":{"turn":"t"}}', 'fence.attempt'],
    ['{"events":[{"type":"a","data":1}],"fence":{"turn":"t","attempt":0}}', 'fence.attempt'],
    ['{"events":[{"type":"a","data":1}],"fence":{"turn":"a b","attempt":1}}', 'fence.turn'],
    ['{"events":[{"type":"a","data":1}],"fence":{"turn":"t\\"","attempt":1}}', 'fence.turn'],
    ['{"events":[{"type":"a","data":1}],"fence":{"turn":"t","attempt":1,"session":"s"}}', 'fence'],
    ['{"events":[{"type":"a","data":1}],"fence":null}', 'fence'],
    ['{"events":[{"type":"a","data":1}],"expectedHead":-1}', 'expectedHead'],
    ['{"events":[{"type":"a","data":1}],"expectedHead":1.5}', 'expectedHead'],
    ['{"events":[{"type":"a","data":1}],"expectedHead":null}', 'expectedHead'],
  ])('refuses %s and says where', (text, where) => {
    expect(refused(text)).toMatchObject({ code: 'malformed', fields: { where } });
  });

  it.each([[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0xc0, 0x80], [0xf4, 0x90, 0x80, 0x80]])(
    'refuses bytes that are not UTF-8 instead of repairing them',
    (...bytes) => {
      const body = Buffer.concat([
        Buffer.from('{"events":[{"type":"a","data":"'),
        Buffer.from(bytes),
        Buffer.from('"}]}'),
      ]);
      expect(refusal(() => parseAppendBody(body))).toMatchObject({ code: 'malformed', fields: { where: 'body' } });
    },
  );

  it('ignores a byte order mark before the body', () => {
    expect(parse(`\ufeff${event('1')}`).events).toHaveLength(1);
  });

  it('takes a payload of exactly the limit, and names the limit and the event for one byte more', () => {
    const string = (bytes: number): string => `"${'x'.repeat(bytes - 2)}"`;
    expect(parse(event(string(limits.payloadBytes))).events[0]?.bytes).toBe(limits.payloadBytes);
    expect(refused(event(`1},{"type":"a","data":${string(limits.payloadBytes + 1)}`))).toMatchObject({
      code: 'too_large',
      fields: { limit: 'payloadBytes', max: limits.payloadBytes, index: 1 },
    });
  });

  it('counts bytes, not characters, and counts what it stores', () => {
    expect(parse(event('"é\u2028"')).events).toEqual([{ type: 'a', data: '"é\\u2028"', bytes: 10 }]);
  });

  it('takes as many events as the limit says', () => {
    const many = (count: number): string => `{"events":[${Array(count).fill('{"type":"a","data":1}').join(',')}]}`;
    expect(parse(many(limits.eventsPerAppend)).events).toHaveLength(limits.eventsPerAppend);
    expect(refused(many(limits.eventsPerAppend + 1))).toMatchObject({
      code: 'too_large',
      fields: { limit: 'eventsPerAppend' },
    });
  });
});

describe('a body with events among other members', () => {
  const shape = z.strictObject({ attempt: z.int(), events: eventsShape.default([]) });
  const parsed = (text: string) => parseEventsBody(Buffer.from(text), shape);

  it('gives the rest in its shape and each payload to the last character, wherever the events stand [I2]', () => {
    const data = '{"n":9007199254740993, "b":1,"b":-0}';
    for (const text of [
      `{"attempt":7,"events":[{"type":"a","data":${data}}]}`,
      `{"events":[{"data":${data},"type":"a"}],"attempt":7}`,
    ]) {
      expect(parsed(text)).toMatchObject({ body: { attempt: 7 }, events: [{ type: 'a', data }] });
    }
  });

  it('may have none where its shape allows it', () => {
    expect(parsed('{"attempt":7}').events).toEqual([]);
    expect(parsed('{"attempt":7,"events":[]}').events).toEqual([]);
  });
});

it('what waits to be stored costs about its own size, however large the body around it was [I6]', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const heldBytes = (): number => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const body = Buffer.from(`{"events":[{"type":"t","data":{"text":"hello there"}}${' '.repeat(2 ** 20)}]}`);
  const before = heldBytes();
  const waiting = Array.from({ length: 100 }, () => parseAppendBody(body).events);
  expect(heldBytes() - before).toBeLessThan(20 * body.length);
  expect(waiting).toHaveLength(100);
});
