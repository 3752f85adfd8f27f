/** What leaves for the bus, and that nothing which arrives can hurt. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseServers } from '../../src/base/nats-server.ts';
import { checkSubjectRoot, decode, encode, subjectOf } from '../../src/bus/wire.ts';
import type { Broadcast } from '../../src/bus/bus.ts';
import { toSequence } from '../../src/event/sequence.ts';

const alphabet = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-'];
const sessionId = fc.string({ unit: fc.constantFrom(...alphabet), minLength: 1, maxLength: 128 });
const nearbyIds = fc.oneof(
  fc.tuple(sessionId, sessionId),
  sessionId.map((id): [string, string] => [id, id]),
  fc
    .tuple(sessionId, fc.constantFrom(...alphabet))
    .map(([id, more]): [string, string] => [id, (id + more).slice(0, 128)]),
);
const frames = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));
const broadcast: fc.Arbitrary<Broadcast> = fc.oneof(
  fc.constant<Broadcast>({ kind: 'head' }),
  fc
    .tuple(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), fc.nat(1_000), fc.option(frames))
    .filter(([first, more]) => Number.isSafeInteger(first + more))
    .map(([first, more, bytes]): Broadcast => {
      const range = { kind: 'events', first: toSequence(first), last: toSequence(first + more) } as const;
      return bytes === null || bytes.length === 0 ? range : { ...range, frames: bytes };
    }),
);
const plenty = 1024 * 1024;

describe('a subject', () => {
  test('is the same for two sessions only if they are one: 10,000 pairs never cross [I9] (Observables#560)', () => {
    fc.assert(
      fc.property(nearbyIds, ([one, other]) => {
        const subject = subjectOf('ledgerline.session', one);
        expect(subject === subjectOf('ledgerline.session', other)).toBe(one === other);
        expect(subject.split('.')).toEqual(['ledgerline', 'session', one]);
      }),
      { numRuns: 10_000 },
    );
  });

  test.each(['', 'a.b', '*', '>', 'a b', 'é', 'a\n', 'a\r\nPUB x 0'])('is never made of %j', (id) => {
    expect(() => subjectOf('root', id)).toThrow('one subject token');
  });

  test.each(['', '.', 'a.', '.a', 'a..b', 'a.*', '>', 'a b', 'a\n'])('never has %j for its root', (root) => {
    expect(() => checkSubjectRoot(root)).toThrow('subject root');
  });

  test('has words joined by dots for its root', () => {
    expect(() => checkSubjectRoot('prod-1.ledgerline_a')).not.toThrow();
  });
});

describe('a message', () => {
  test('is read as what was written', () => {
    fc.assert(
      fc.property(broadcast, (sent) => {
        expect(decode(encode(sent, plenty).bytes)).toEqual(sent);
      }),
    );
  });

  test('is read from the middle of a larger chunk', () => {
    const { bytes } = encode(
      { kind: 'events', first: toSequence(1), last: toSequence(1), frames: Buffer.from('frame') },
      plenty,
    );
    const chunk = new Uint8Array(Buffer.concat([Buffer.from('before'), bytes, Buffer.from('behind')]));
    expect(decode(chunk.subarray(6, 6 + bytes.length))).toMatchObject({ frames: Buffer.from('frame') });
  });

  test('never exceeds the limit: frames that do not fit stay behind (omni#1166)', () => {
    const sent: Broadcast = {
      kind: 'events',
      first: toSequence(7),
      last: toSequence(9),
      frames: Buffer.alloc(500, 'x'),
    };
    const exact = encode(sent, plenty).bytes.length;
    expect(encode(sent, exact)).toMatchObject({ carried: 'frames' });
    const short = encode(sent, exact - 1);
    expect(short.carried).toBe('range');
    expect(decode(short.bytes)).toEqual({ kind: 'events', first: 7, last: 9 });
  });

  test('that is cut anywhere is no broadcast', () => {
    const { bytes } = encode(
      { kind: 'events', first: toSequence(1), last: toSequence(2), frames: Buffer.from('abc') },
      plenty,
    );
    for (let length = 0; length < bytes.length; length += 1) expect(decode(bytes.subarray(0, length))).toBeUndefined();
    expect(decode(Buffer.concat([bytes, Buffer.from('d')]))).toBeUndefined();
  });

  test.each([
    '',
    '\n',
    'head\n',
    '2 head\n',
    '1 head\nmore',
    '1 events 0 1 0\n',
    '1 events 2 1 0\n',
    '1 events 01 2 0\n',
    '1 events 1 2\n',
    '1 events 1 9007199254740992 0\n',
    '1 events 1 2 -0\n',
    '1 events 1 2 0',
    '{"first":1}\n',
    `1 events 1 2 0${' '.repeat(100)}\n`,
  ])('like %j is ignored', (text) => {
    expect(decode(Buffer.from(text))).toBeUndefined();
  });

  test('of any bytes is read without an error', () => {
    const looksRight = fc
      .tuple(fc.constantFrom('1 events ', '1 head', '1 '), fc.string(), fc.uint8Array())
      .map(([start, middle, end]) => Buffer.concat([Buffer.from(`${start}${middle}\n`), end]));
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array(), looksRight), (bytes) => void decode(bytes)),
      { numRuns: 2_000 },
    );
  });
});

describe('a NATS URL', () => {
  test('names a server and its login, or several', () => {
    expect(parseServers('nats://me:p%40ss@one:4333, tls://secret@two,[::1]:5')).toEqual([
      { hostname: 'one', port: 4333, login: { user: 'me', pass: 'p@ss' }, isTls: false },
      { hostname: 'two', port: 4222, login: { token: 'secret' }, isTls: true },
      { hostname: '::1', port: 5, login: {}, isTls: false },
    ]);
  });

  test.each(['', 'http://one', 'nats://', 'one,,two'])('is not %j', (text) => {
    expect(() => parseServers(text)).toThrow('a NATS URL looks like');
  });

  test('names what is wrong with a login whose % stands for itself', () => {
    expect(() => parseServers('nats://me:100%@one')).toThrow('a % must be written as %25');
  });
});
