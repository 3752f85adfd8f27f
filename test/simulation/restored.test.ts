/** The database goes back to an earlier time while readers follow: each is told, and then sees the new history from the floor [I7]. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { fakeWriter } from '../support/fake-writer.ts';
import { seededRandom } from '../support/manual-clock.ts';
import { createWorld, range } from '../support/world.ts';

const session = 's1';

describe('a database that is restored under its readers', () => {
  test('whatever they were doing, those ahead are reset once, and all see the restored history to its head', async () => {
    const cases = fc.record({
      seed: fc.integer(),
      length: fc.integer({ min: 2, max: 2_500 }),
      kept: fc.double({ min: 0, max: 0.99, noNaN: true }),
      cursors: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 8 }),
      restoreAfterMs: fc.constantFrom(0, 1, 3, 8, 30),
      appendAfterMs: fc.constantFrom(limits.headCheckMs + 100, limits.headCheckMs * 3),
    });
    const property = fc.asyncProperty(cases, async ({ seed, length, kept, cursors, restoreAfterMs, appendAfterMs }) => {
      const random = seededRandom(seed);
      const world = await createWorld(seed);
      const wait = () => new Promise<void>((resolve) => void world.clock.after(Math.floor(random() * 4), resolve));
      world.ledger.beforeRead = wait;
      world.ledger.beforeAnswer = wait;
      world.append(session, length, 300);
      const head = Math.floor(length * kept);
      const readers = [];
      for (const share of cursors) {
        const writer = fakeWriter();
        if (random() < 0.4) writer.stall();
        const from = Math.floor(share * length);
        await world.follow(session, String(from), { writer });
        readers.push({ writer, from });
      }
      await world.clock.advance(restoreAfterMs);
      world.ledger.restore(session, head);
      await world.clock.advance(appendAfterMs);
      for (const { writer } of readers) writer.drain();
      await world.clock.advance(100);
      world.append(session, 3, 7);
      await world.clock.advance(limits.headCheckMs * 2);
      for (const { writer, from } of readers) {
        const { frames } = writer;
        const resets = frames.flatMap((frame, index) => (frame.event === 'reset' ? [index] : []));
        expect(resets.length).toBeLessThanOrEqual(1);
        const at = resets[0];
        const since = frames.slice(at ?? 0).flatMap((frame) => (frame.event === undefined ? [Number(frame.id)] : []));
        expect(since).toEqual(range(at === undefined ? from + 1 : 1, head + 3));
        if (at !== undefined) expect(frames[at]?.data).toMatchObject({ reason: 'restored', floor: 0, head });
        else expect(from).toBeLessThanOrEqual(head);
        expect(writer.controls.filter((name) => name === 'connected')).toHaveLength(1);
      }
    });
    await fc.assert(property, { numRuns: 60, seed: 20_261_130 });
  });
});
