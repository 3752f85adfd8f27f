/** The tail of a session against a plain list of frames. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { toCursor, toSequence } from '../../src/event/sequence.ts';
import { TailBudget } from '../../src/room/tail-budget.ts';
import { Tail } from '../../src/room/tail.ts';
import { eventFrame, frameEnds } from '../../src/sse/frame.ts';

const frameOf = (sequence: number, bytes: number): string =>
  eventFrame(toSequence(sequence), `"${sequence}${'x'.repeat(bytes)}"`);

function append(tail: Tail, sizes: readonly number[], skipped = 0): string {
  const first = tail.end + 1 - skipped;
  const texts = sizes.map((bytes, index) => frameOf(first + index, bytes));
  const frames = Buffer.from(texts.join(''));
  tail.append(frames, frameEnds(frames), skipped);
  frames.fill('!'); // the sender's buffer is the sender's
  return texts.slice(skipped).join('');
}

/** Everything the tail has after `cursor`, slice by slice. */
function readAll(tail: Tail, cursor: number): string {
  let text = '';
  let at = toCursor(cursor);
  for (let slice = tail.read(at); slice !== undefined; slice = tail.read(at)) {
    expect(slice.last).toBeGreaterThan(at);
    text += slice.bytes.toString();
    at = slice.last;
  }
  expect(at).toBe(tail.end);
  return text;
}

describe('a tail', () => {
  const size = fc.oneof(fc.nat(300), fc.integer({ min: 2_000, max: 90_000 }));
  const steps = fc.array(
    fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({
          do: fc.constant('append' as const),
          sizes: fc.array(size, { minLength: 1, maxLength: 8 }),
        }),
      },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const), ahead: fc.nat(5) }) },
      { weight: 3, arbitrary: fc.record({ do: fc.constant('read' as const), back: fc.nat(20) }) },
    ),
    { maxLength: 40 },
  );

  test('reads what a list of frames would, under any schedule of appends, evictions and restarts', () => {
    fc.assert(
      fc.property(steps, fc.integer({ min: 10_000, max: 400_000 }), (schedule, budgetBytes) => {
        const budget = new TailBudget(budgetBytes);
        const tail = new Tail(toCursor(0), budget);
        const texts = new Map<number, string>();
        for (const step of schedule) {
          if (step.do === 'append') {
            step.sizes.forEach((bytes, index) => texts.set(tail.end + 1 + index, frameOf(tail.end + 1 + index, bytes)));
            append(tail, step.sizes);
          } else if (step.do === 'restart') {
            tail.restart(toCursor(tail.end + step.ahead));
            expect(tail.start).toBe(tail.end);
          } else {
            const cursor = Math.max(0, tail.end - step.back);
            if (cursor < tail.start) expect(tail.read(toCursor(cursor))).toBeUndefined();
            else {
              let expected = '';
              for (let sequence = cursor + 1; sequence <= tail.end; sequence += 1) expected += texts.get(sequence);
              expect(readAll(tail, cursor)).toBe(expected);
            }
          }
          const largest = Math.max(limits.tailSegmentBytes, 91_000);
          expect(budget.bytes).toBeLessThanOrEqual(Math.max(budgetBytes, largest));
        }
        tail.restart(tail.end);
        expect(budget.bytes).toBe(0);
      }),
      { numRuns: 300 },
    );
  });

  test('gives readers at the same cursor the same Buffer', () => {
    const tail = new Tail(toCursor(0), new TailBudget());
    append(tail, [50, 50]);
    const slice = tail.read(toCursor(1));
    expect(tail.read(toCursor(1))?.bytes).toBe(slice?.bytes);
    append(tail, [50]);
    expect(tail.read(toCursor(1))?.bytes).not.toBe(slice?.bytes);
  });

  test('never changes bytes that it gave away', () => {
    const tail = new Tail(toCursor(0), new TailBudget());
    const expected = append(tail, [100, 100]);
    const slice = tail.read(toCursor(0));
    for (let index = 0; index < 5_000; index += 1) append(tail, [100]);
    tail.restart(toCursor(3));
    append(tail, [100, 100]);
    expect(slice?.bytes.toString()).toBe(expected);
  });

  test('leaves out the frames it is told to', () => {
    const tail = new Tail(toCursor(0), new TailBudget());
    const first = append(tail, [10, 20, 30]);
    const second = append(tail, [20, 30, 40, 50], 2);
    expect(readAll(tail, 0)).toBe(first + second);
    expect(tail.end).toBe(5);
  });

  test('takes a frame that is larger than a segment, in one slice', () => {
    const tail = new Tail(toCursor(0), new TailBudget());
    const text = append(tail, [10, limits.payloadBytes, 10]);
    expect(readAll(tail, 0)).toBe(text);
    expect(tail.read(toCursor(1))?.bytes.length).toBeGreaterThan(limits.payloadBytes);
  });

  test('of a quiet session costs little of the budget', () => {
    const budget = new TailBudget();
    append(new Tail(toCursor(0), budget), [250]);
    expect(budget.bytes).toBeLessThanOrEqual(4_096);
  });

  test('goes first when it holds the oldest segment of the process, whoever needs the space', () => {
    const budget = new TailBudget(limits.tailSegmentBytes * 3);
    const [quiet, busy] = [new Tail(toCursor(0), budget), new Tail(toCursor(0), budget)];
    append(quiet, [100]);
    for (let index = 0; index < 300; index += 1) append(busy, [1_000]);
    expect([quiet.start, quiet.end, quiet.read(toCursor(0))]).toEqual([1, 1, undefined]);
    expect(busy.start).toBeGreaterThan(0);
    expect(budget.bytes).toBeLessThanOrEqual(limits.tailSegmentBytes * 3);
  });
});
