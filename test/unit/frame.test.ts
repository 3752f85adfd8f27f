/** The text of every frame, parsed back by a parser that is not ours. */
import { createParser } from 'eventsource-parser';
import type { EventSourceMessage } from 'eventsource-parser';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { envelope } from '../../src/event/event.ts';
import { toCursor, toSequence } from '../../src/event/sequence.ts';
import * as frame from '../../src/sse/frame.ts';

function parse(text: string, chunk = text.length): { events: EventSourceMessage[]; retries: number[] } {
  const events: EventSourceMessage[] = [];
  const retries: number[] = [];
  const parser = createParser({ onEvent: (event) => events.push(event), onRetry: (ms) => retries.push(ms) });
  for (let from = 0; from < text.length; from += chunk) parser.feed(text.slice(from, from + chunk));
  return { events, retries };
}

const sequences = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }).map(toSequence);
const cursors = fc.nat(Number.MAX_SAFE_INTEGER).map(toCursor);
/** Whatever JSON can say; half an emoji, NUL, CR, LF and the byte order mark included. */
const payloads = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom('\n', '\r', ':', ' ', '\uFEFF', 'id: 1', 'é') }),
  fc.jsonValue(),
);

const eventText = (sequence: number, payload: unknown): string =>
  frame.eventFrame(
    toSequence(sequence),
    envelope({
      sequence: toSequence(sequence),
      type: 'x',
      at: '2026-11-30T04:00:00.000Z',
      data: JSON.stringify(payload),
    }),
  );

describe('the frame of an event', () => {
  test('comes back as it was, whatever its payload says', () => {
    fc.assert(
      fc.property(sequences, payloads, (sequence, payload) => {
        const { events } = parse(eventText(sequence, payload));
        expect(events).toHaveLength(1);
        expect(events[0]).toMatchObject({ id: String(sequence) });
        expect(events[0]?.event).toBeUndefined();
        const back = JSON.parse(events[0]?.data ?? '') as { data: unknown };
        expect(JSON.stringify(back.data)).toBe(JSON.stringify(payload));
      }),
    );
  });

  test('comes back the same when it is split anywhere', () => {
    const text = eventText(41, { text: 'über\u2028 \ud83d\ude00 "quoted" \\' }) + eventText(42, null);
    const whole = parse(text).events;
    for (let chunk = 1; chunk < text.length; chunk += 1) expect(parse(text, chunk).events).toEqual(whole);
  });

  test('contains no CR and no empty line but its last', () => {
    fc.assert(
      fc.property(sequences, payloads, (sequence, payload) => {
        const text = eventText(sequence, payload);
        expect(text).not.toContain('\r');
        expect(text.indexOf('\n\n')).toBe(text.length - 2);
      }),
    );
  });
});

describe('control frames', () => {
  const every = (text: string, at: number): [string, string, string, number][] => [
    ['hello', frame.helloFrame(text, toCursor(at), toCursor(0), toCursor(at)), text, at],
    ['connected', frame.connectedFrame(toCursor(at), toCursor(at)), text, at],
    ['sync', frame.syncFrame(toCursor(at), toCursor(at)), text, at],
    ['reset', frame.resetFrame('ahead', toCursor(at), toCursor(at)), text, at],
    ['end', frame.endFrame(toCursor(at), toCursor(at), 'closed'), text, at],
    ['goaway', frame.goawayFrame(toCursor(at), 17.4), text, at],
    ['denied', frame.deniedFrame(toCursor(at), 'expired'), text, at],
  ];

  test('each has its name, an id that is never empty, and data in JSON, whatever the session is called', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), cursors, (session, at) => {
        for (const [name, text] of every(session, at)) {
          const { events } = parse(text);
          expect(events).toHaveLength(1);
          expect(events[0]).toMatchObject({ event: name, id: String(at) });
          const data = JSON.parse(events[0]?.data ?? '') as { session?: string };
          if (name === 'hello') expect(JSON.stringify(data.session)).toBe(JSON.stringify(session));
        }
      }),
    );
  });

  test('the wait is a whole number, in the first frame and in the farewell', () => {
    expect(parse(frame.retryFrame(999.6)).retries).toEqual([1_000]);
    expect(parse(frame.goawayFrame(toCursor(3), 17.4)).retries).toEqual([17]);
  });

  test('say what the protocol says', () => {
    expect(frame.helloFrame('s1', toCursor(41), toCursor(0), toCursor(42))).toBe(
      'event: hello\nid: 41\ndata: {"session":"s1","after":41,"floor":0,"head":42}\n\n',
    );
    expect(frame.resetFrame('expired', toCursor(1_000), toCursor(4_200))).toBe(
      'event: reset\nid: 1000\ndata: {"reason":"expired","floor":1000,"head":4200}\n\n',
    );
  });
});

describe('a buffer of frames', () => {
  const runs = fc.record({
    first: fc.integer({ min: 1, max: 120 }),
    payloads: fc.array(payloads, { minLength: 1, maxLength: 30 }),
  });
  const build = ({ first, payloads: list }: { first: number; payloads: unknown[] }): Buffer =>
    Buffer.from(list.map((payload, index) => eventText(first + index, payload)).join(''));

  test('tells where each frame begins and ends', () => {
    fc.assert(
      fc.property(runs, (run) => {
        const frames = build(run);
        const ends = frame.frameEnds(frames);
        expect(ends).toHaveLength(run.payloads.length);
        expect(ends.at(-1)).toBe(frames.length);
        run.payloads.forEach((payload, index) => {
          const offset = frame.frameOffset(frames, toSequence(run.first + index));
          expect(offset).toBe(ends[index - 1] ?? 0);
          expect(frames.toString('utf8', offset, ends[index])).toBe(eventText(run.first + index, payload));
        });
        expect(frame.frameOffset(frames, toSequence(run.first + run.payloads.length))).toBe(-1);
      }),
    );
  });

  test('begins with the frame whose number it has in full, and with no other', () => {
    const begins = (text: string, sequence: number): boolean =>
      frame.beginsWith(Buffer.from(text), toSequence(sequence));
    expect(begins('id: 120\ndata: {}\n\n', 120)).toBe(true);
    expect(begins(`id: ${Number.MAX_SAFE_INTEGER}\n`, Number.MAX_SAFE_INTEGER)).toBe(true);
    for (const other of [12, 1, 20, 1_200, 121]) expect(begins('id: 120\ndata: {}\n\n', other)).toBe(false);
    for (const text of ['', 'id: ', 'id: 7', 'id: 07\n', 'id: 7 \n', 'id:7\n', 'data: 7\n', 'id: \n']) {
      expect(begins(text, 7)).toBe(false);
    }
  });
});
