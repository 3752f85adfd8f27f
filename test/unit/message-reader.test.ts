/** Messages of Postgres, read in portions of any size. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { MessageReader } from '../../src/db/message-reader.ts';

/** Of the kind `D`, with a body of so many bytes. */
function message(bodyBytes: number, fill: number): Buffer {
  const bytes = Buffer.alloc(5 + bodyBytes, fill);
  bytes.write('D');
  bytes.writeUInt32BE(4 + bodyBytes, 1);
  return bytes;
}

function setUp() {
  const given: Buffer[] = [];
  const reader = new MessageReader((messages) => given.push(messages));
  /** As a socket does: no more than there is space for, or than there is. */
  const read = (bytes: Buffer): number => {
    const taken = bytes.copy(reader.space);
    reader.took(taken);
    return taken;
  };
  const readAll = (bytes: Buffer): void => {
    for (let at = 0; at < bytes.length;) at += read(bytes.subarray(at));
  };
  return { given, read, readAll };
}

/** Every beginning of a given buffer is a head, and the messages end with it. */
function isWhole(bytes: Buffer): boolean {
  let at = 0;
  while (at < bytes.length) at += 1 + bytes.readUInt32BE(at + 1);
  return at === bytes.length;
}

const longBytes = limits.messageReadBytes * 3;
const bodies = fc.array(fc.oneof(fc.nat(10), fc.nat(200), fc.nat(longBytes)), { maxLength: 20 });
const portions = fc.infiniteStream(fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: longBytes })));

describe('messages', () => {
  test('come out whole and in order, wherever reads were cut, with another reader between them', () => {
    fc.assert(
      fc.property(bodies, portions, (sizes, cuts) => {
        const one = setUp();
        const other = setUp();
        const bytes = Buffer.concat(sizes.map((size, index) => message(size, index)));
        for (let at = 0; at < bytes.length;) {
          const portion = bytes.subarray(at, at + (cuts.next().value as number));
          at += one.read(portion);
          other.readAll(message(portion.length % 100, 255));
        }
        expect(Buffer.concat(one.given).equals(bytes)).toBe(true);
        expect(one.given.every(isWhole)).toBe(true);
        expect(other.given.every((each) => isWhole(each) && each.subarray(5).every((byte) => byte === 255))).toBe(true);
      }),
    );
  });

  test('that are long lie in buffers of their own', () => {
    const { given, readAll } = setUp();
    const [short, long] = [message(10, 1), message(longBytes, 2)];
    readAll(Buffer.concat([short, short, long, long, short]));
    const expected = [Buffer.concat([short, short]), long, long, short];
    expect(given.map((each, index) => expected[index]?.equals(each))).toEqual([true, true, true, true]);
    for (const each of given.slice(1, 3)) expect(each.buffer.byteLength).toBe(long.length);
  });

  test('that are short and were cut by a read lie in no pool, whatever the size of Node’s', () => {
    const { given, readAll } = setUp();
    const short = message(300, 1);
    readAll(short.subarray(0, 100));
    readAll(short.subarray(100));
    expect(given.map((each) => each.equals(short) && each.buffer.byteLength)).toEqual([short.length]);
  });
});

describe('what no message is', () => {
  test.each([
    ['a length below its own', [0x48, 0, 0, 0, 3]],
    ['a length for which no room is made', [0x48, 0x54, 0x54, 0x50, 0x2f]],
  ])('comes out as it comes in: %s', (_, head) => {
    const { given, readAll } = setUp();
    const [first, more] = [message(10, 1), Buffer.from([0, 0, 0, 200, 1, 2])];
    readAll(Buffer.concat([first, Buffer.from(head)]));
    readAll(more);
    expect(Buffer.concat(given)).toEqual(Buffer.concat([first, Buffer.from(head), more]));
    readAll(first);
    expect(given.at(-1)).toEqual(first);
  });
});
