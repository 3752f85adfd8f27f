/** Marks: in order, after an id, of the newest sessions, and never more than fit. */
import { expect, test } from 'vitest';
import { labLimits } from '../../src/base/lab-limits.ts';
import { toSequence } from '../../src/event/sequence.ts';
import { createMarks } from '../../src/lab/marks.ts';
import { manualClock } from '../support/manual-clock.ts';
import { range } from '../support/world.ts';

const lost = (sequence: number) => ({ kind: 'lost', first: sequence, last: sequence }) as const;

test('a mark says when, what, and by what', () => {
  const marks = createMarks(manualClock());
  marks.add('a', lost(42));
  marks.add('a', { kind: 'repaired', by: 'gap', first: toSequence(42), last: toSequence(43) });
  const [first, second] = marks.after('a', 0);
  expect(first).toEqual({ id: expect.any(Number), at: '2026-11-30T00:00:01.000Z', kind: 'lost', first: 42, last: 42 });
  expect(second).toEqual({
    id: first!.id + 1,
    at: '2026-11-30T00:00:01.000Z',
    kind: 'repaired',
    by: 'gap',
    first: 42,
    last: 43,
  });
  expect(marks.after('a', first!.id)).toEqual([second]);
  expect(marks.after('a', second!.id)).toEqual([]);
  expect(marks.after('b', 0)).toEqual([]);
});

test('the ids of a process that comes later are higher, so that nobody waits in vain for what follows the last one', async () => {
  const clock = manualClock();
  const earlier = createMarks(clock);
  for (const sequence of range(1, 50)) earlier.add('a', lost(sequence));
  await clock.advance(1_000);
  const later = createMarks(clock);
  later.add('a', lost(51));
  expect(later.after('a', earlier.after('a', 0).at(-1)!.id)).toHaveLength(1);
});

test('a session keeps its newest marks, and the process the sessions that were marked last [I6]', () => {
  const marks = createMarks(manualClock());
  for (const sequence of range(1, labLimits.labMarks + 3)) marks.add('a', lost(sequence));
  expect(marks.after('a', 0).map(({ first }) => first)).toEqual(range(4, labLimits.labMarks + 3));
  for (const place of range(2, labLimits.labSessions)) marks.add(`s-${place}`, lost(1));
  marks.add('a', lost(1));
  marks.add('new', lost(1));
  expect(marks.after('a', 0)).toHaveLength(labLimits.labMarks);
  expect([marks.after('s-2', 0).length, marks.after('s-3', 0).length, marks.after('new', 0).length]).toEqual([0, 1, 1]);
});
