/** What a stream of events holds is counted until it is stored, and only silence is idle. */
import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { lineLimits } from '../../src/base/line-limits.ts';
import { createIntake } from '../../src/http/ndjson-intake.ts';
import { manualClock } from '../support/manual-clock.ts';
import { line } from '../support/ndjson-call.ts';

function scene(held = { bytes: 0 }) {
  const clock = manualClock();
  const body = new PassThrough();
  const draining = new AbortController();
  const incoming = body as unknown as IncomingMessage;
  const intake = createIntake({ incoming, draining: draining.signal, clock, held });
  return { clock, body, draining, intake, held };
}

test('a blank line is a sign of life, and so is half a line', async () => {
  const { clock, body, intake } = scene();
  let ending: unknown;
  void intake.next().then((next) => (ending = next));
  for (const sign of ['\n', '{"type":', ' ', '\r']) {
    await clock.advance(lineLimits.ingressIdleMs - 1);
    body.write(sign);
    await clock.settle();
  }
  expect(ending).toBeUndefined();
  await clock.advance(lineLimits.ingressIdleMs);
  await clock.settle();
  expect(ending).toEqual({ kind: 'idle' });
});

test('the time that it takes to store a batch is not the sender’s silence', async () => {
  const { clock, body, intake } = scene();
  body.write(line('1'));
  expect(await intake.next()).toHaveLength(1);
  await clock.advance(lineLimits.ingressIdleMs * 2);
  let ending: unknown;
  void intake.next().then((next) => (ending = next));
  await clock.advance(lineLimits.ingressIdleMs - 1);
  expect(ending).toBeUndefined();
});

test('what waits, what has no end yet and what is being stored counts, and is let go in the end [I6]', async () => {
  const { clock, body, intake, held } = scene();
  body.write(`${line('"1234567890"')}{"type":`);
  await clock.settle();
  expect(held.bytes).toBe(12 + 8);
  await intake.next();
  expect(held.bytes).toBe(12 + 8);
  body.write('"a","data":1}\n');
  await clock.settle();
  expect(held.bytes).toBe(12 + 1);
  await intake.next();
  expect(held.bytes).toBe(1);
  intake.stop();
  expect(held.bytes).toBe(0);
  expect(body.listenerCount('data') + body.listenerCount('aborted')).toBe(0);
});

test('who would pass what all may hold is ended, behind what it has said before', async () => {
  const { body, intake, held } = scene({ bytes: lineLimits.heldLinesBytes - 1 });
  body.write(line('12'));
  expect(await intake.next()).toHaveLength(1);
  expect(await intake.next()).toMatchObject({ kind: 'refused', error: { code: 'unavailable' } });
  expect(held.bytes).toBe(lineLimits.heldLinesBytes - 1);
});

test('no more is read than may wait [I6]', async () => {
  const { clock, body, intake, held } = scene();
  const large = line(`"${'x'.repeat(100_000)}"`);
  for (let count = 0; count < 64; count += 1) body.write(large);
  await clock.settle();
  expect(body.isPaused()).toBe(true);
  expect(held.bytes).toBeLessThanOrEqual(lineLimits.waitingLinesBytes + large.length);
  let read = 0;
  while (read < 64) {
    const next = await intake.next();
    if ('kind' in next) throw new Error(next.kind);
    read += next.length;
    await clock.settle();
  }
  expect(body.isPaused()).toBe(false);
});

test.each<[string, (there: ReturnType<typeof scene>) => void]>([
  ['draining', ({ draining }) => draining.abort()],
  ['cut', ({ body }) => body.emit('aborted')],
])('what waits is let go when it is %s: its producer goes on elsewhere', async (kind, happen) => {
  const there = scene();
  there.body.write(line('1'));
  expect(await there.intake.next()).toHaveLength(1);
  there.body.write(line('2'));
  await there.clock.settle();
  happen(there);
  expect(await there.intake.next()).toEqual({ kind });
  expect(there.held.bytes).toBe(0);
});
