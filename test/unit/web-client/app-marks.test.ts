/** The marks of the rail: what was lost, and what repaired it. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addMarks, noMarks } from '../../../web-client/app/ledger/marks.ts';
import type { LabMark, Mark, Marks, MarksInput } from '../../../web-client/app/ledger/marks.ts';

const at = '2026-11-30T04:00:00.000Z';
type State = Extract<MarksInput, { kind: 'status' }>['state'];

/** Each look at the follower: its state and cursor. A state that stays is the same object, as the follower's is. */
function follow(looks: readonly (readonly [State, number])[], from: Marks = noMarks): Marks {
  let marks = from;
  let status: { state: State } = { state: 'connecting' };
  for (const [state, cursor] of looks) {
    if (status.state !== state) status = { state };
    marks = addMarks(marks, { kind: 'status', state, status, cursor, at });
  }
  return marks;
}

const said = (marks: Marks): unknown[] =>
  marks.marks.map((mark: Mark) =>
    mark.kind === 'repaired' ? [mark.kind, mark.by, mark.first, mark.last] : [mark.kind, mark.first, mark.last],
  );

describe('this browser’s own marks', () => {
  test('are none for joining, however long the replay', () => {
    expect(
      said(
        follow([
          ['connecting', 0],
          ['replaying', 0],
          ['replaying', 500],
          ['live', 900],
          ['live', 901],
        ]),
      ),
    ).toEqual([]);
  });

  test('name what came in the replay of a reconnect', () => {
    const looks = [
      ['live', 41],
      ['waiting', 41],
      ['connecting', 41],
      ['replaying', 43],
      ['live', 57],
      ['live', 58],
    ] as const;
    expect(said(follow(looks))).toEqual([['repaired', 'reconnect', 42, 57]]);
  });

  test('count what came live in the frame of the cut as received', () => {
    expect(
      said(
        follow([
          ['live', 41],
          ['waiting', 44],
          ['replaying', 44],
          ['live', 50],
        ]),
      ),
    ).toEqual([['repaired', 'reconnect', 45, 50]]);
  });

  test('say so when nothing was missed', () => {
    expect(
      said(
        follow([
          ['live', 41],
          ['waiting', 41],
          ['replaying', 41],
          ['live', 41],
        ]),
      ),
    ).toEqual([['rejoined', 41, 41]]);
  });

  test('see a cut that was over before anybody looked', () => {
    const before = follow([['live', 41]]);
    const after = addMarks(before, { kind: 'status', state: 'live', status: { state: 'live' }, cursor: 45, at });
    expect(said(after)).toEqual([['repaired', 'reconnect', 42, 45]]);
  });

  test('are as many as there were cuts', () => {
    const looks = [
      ['live', 1],
      ['waiting', 1],
      ['live', 3],
      ['live', 4],
      ['replaying', 5],
      ['live', 6],
    ] as const;
    expect(said(follow(looks))).toEqual([
      ['repaired', 'reconnect', 2, 3],
      ['repaired', 'reconnect', 5, 6],
    ]);
  });

  test('are none for a session that ended', () => {
    expect(
      said(
        follow([
          ['live', 41],
          ['stopped', 41],
          ['live', 50],
        ]),
      ),
    ).toEqual([]);
  });

  test('never claim a sequence twice, nor one that came live', () => {
    const look = fc.record({
      state: fc.constantFrom<State>('live', 'waiting', 'connecting', 'replaying'),
      more: fc.nat(3),
    });
    fc.assert(
      fc.property(fc.array(look, { maxLength: 40 }), (looks) => {
        let cursor = 0;
        const claimed: number[] = [];
        const marks = follow(
          looks.map(({ state, more }) => [state, (cursor += state === 'waiting' ? 0 : more)] as const),
        );
        for (const mark of marks.marks) {
          if (mark.kind === 'rejoined') continue;
          for (let sequence = mark.first; sequence <= mark.last; sequence += 1) claimed.push(sequence);
        }
        expect(new Set(claimed).size).toBe(claimed.length);
        expect(Math.max(0, ...claimed)).toBeLessThanOrEqual(cursor);
      }),
    );
  });
});

describe('the lab’s marks', () => {
  const lost: LabMark = { id: 18, at, kind: 'lost', first: 42, last: 42 };
  const repaired: LabMark = { id: 19, at, kind: 'repaired', by: 'head', first: 42, last: 43 };

  test('are taken in order, and the next ones are asked for after the last', () => {
    const marks = addMarks(noMarks, { kind: 'lab', marks: [lost, repaired] });
    expect(said(marks)).toEqual([
      ['lost', 42, 42],
      ['repaired', 'head', 42, 43],
    ]);
    expect(marks.labId).toBe(19);
  });

  test('that come twice are one', () => {
    const once = addMarks(noMarks, { kind: 'lab', marks: [lost] });
    expect(said(addMarks(once, { kind: 'lab', marks: [lost, repaired] }))).toHaveLength(2);
  });

  test('that are none change nothing', () => expect(addMarks(noMarks, { kind: 'lab', marks: [] })).toBe(noMarks));

  test('are kept to the last two hundred', () => {
    const many = Array.from({ length: 300 }, (_, index): LabMark => ({
      ...lost,
      id: index + 1,
      first: index,
      last: index,
    }));
    const { marks } = addMarks(noMarks, { kind: 'lab', marks: many });
    expect(marks).toHaveLength(200);
    expect(marks.at(-1)?.first).toBe(299);
  });
});
