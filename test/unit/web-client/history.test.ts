/** Pages of history join what is known: sorted, each once, and what is known stays. */
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { mergeEvents, readHistory } from '../../../web-client/src/history.ts';
import type { SessionEvent } from '../../../web-client/src/session-event.ts';
import { eventOf, ScriptedSession } from '../../support/scripted-session.ts';

const sequencesOf = (events: readonly SessionEvent[]) => events.map(({ sequence }) => sequence);
const page = (from: number, to: number, data: string) =>
  Array.from({ length: to - from + 1 }, (_, index) => eventOf(from + index, data));

describe('a page', () => {
  test('is read without a follower', async () => {
    const session = new ScriptedSession(300);
    const options = { url: 'http://ledgerline.test', session: 's1', token: 'secret', fetch: session.fetch };
    const newest = await readHistory({ ...options, before: 301, limit: 50 });
    expect([newest.first, newest.last, newest.head, newest.events.length]).toEqual([251, 300, 300, 50]);
    expect((await readHistory({ ...options, after: 0 })).last).toBe(100);
    expect(session.asked.every(({ headers }) => headers.get('authorization') === 'Bearer secret')).toBe(true);
    await expect(readHistory({ ...options, after: 0, signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'aborted',
    });
  });

  test('that comes late overwrites nothing that came live meanwhile [friday-studio PR#206]', () => {
    const live = page(40, 60, 'live');
    const merged = mergeEvents(live, page(1, 50, 'late'));
    expect(sequencesOf(merged)).toEqual(sequencesOf(page(1, 60, '')));
    expect(merged.slice(39)).toEqual(live);
    expect(merged.slice(0, 39).every(({ data }) => data === 'late')).toBe(true);
  });

  test('that lies wholly before what is known joins it without a sort', () => {
    const [older, known] = [page(1, 50, 'older'), page(51, 90, 'known')];
    const sort = vi.spyOn(Array.prototype, 'toSorted');
    expect(mergeEvents(known, older)).toEqual([...older, ...known]);
    expect(sort).not.toHaveBeenCalled();
    expect(mergeEvents(older, known)).toEqual([...older, ...known]);
    expect(sort).toHaveBeenCalledOnce();
    sort.mockRestore();
  });

  test('that adds nothing gives back what is known itself', () => {
    const known = page(1, 9, 'known');
    expect(mergeEvents(known, page(3, 7, 'again'))).toBe(known);
    expect(mergeEvents(known, [])).toBe(known);
    expect(mergeEvents([], page(1, 2, 'first'))).toEqual(page(1, 2, 'first'));
    expect(known).toEqual(page(1, 9, 'known'));
  });
});

test('any pages in any order make the same history', () => {
  const range = fc
    .tuple(fc.integer({ min: 1, max: 60 }), fc.nat({ max: 20 }))
    .map(([from, more]) => [from, from + more] as const);
  fc.assert(
    fc.property(fc.array(range, { maxLength: 8 }), (ranges) => {
      let known: readonly SessionEvent[] = [];
      const first = new Map<number, unknown>();
      for (const [index, [from, to]] of ranges.entries()) {
        const more = page(from, to, `page ${index}`);
        for (const { sequence, data } of more) if (!first.has(sequence)) first.set(sequence, data);
        known = mergeEvents(known, more);
      }
      const expected = [...first].toSorted(([one], [other]) => one - other);
      expect(known.map(({ sequence, data }) => [sequence, data])).toEqual(expected);
    }),
  );
});
