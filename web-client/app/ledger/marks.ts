/** What was lost on the way and what repaired it, as the rail marks it: a reducer over what the page learns (pure). */
import type { State } from '../../src/follower-state.ts';

export type RepairedBy =
  /** The next event showed the gap. */
  | 'gap'
  /** The head check compared the room's watermark with the ledger. */
  | 'head'
  /** This browser came back and read on from its cursor. */
  | 'reconnect';

export type Mark =
  | { readonly kind: 'lost'; readonly key: string; readonly at: string; readonly first: number; readonly last: number }
  | {
      readonly kind: 'repaired';
      readonly key: string;
      readonly at: string;
      readonly by: RepairedBy;
      readonly first: number;
      readonly last: number;
    }
  /** The connection was cut and came back, and nothing had been missed up to `last`. */
  | {
      readonly kind: 'rejoined';
      readonly key: string;
      readonly at: string;
      readonly first: number;
      readonly last: number;
    };

/** A mark as the development server's lab gives it. Ids rise, also over its restarts. */
export interface LabMark {
  readonly id: number;
  readonly at: string;
  readonly kind: 'lost' | 'repaired';
  readonly by?: 'gap' | 'head';
  readonly first: number;
  readonly last: number;
}

export interface Marks {
  /** In the order in which they were learnt. */
  readonly marks: readonly Mark[];
  /** The lab's marks after this one are still to come. */
  readonly labId: number;
  readonly connection:
    | { readonly state: 'joining' }
    /** `status` is the follower's own: another object is another time of being live. */
    | { readonly state: 'live'; readonly cursor: number; readonly status: object }
    /** The cursor at which this browser fell silent. */
    | { readonly state: 'away'; readonly cursor: number };
}

export type MarksInput =
  | { readonly kind: 'lab'; readonly marks: readonly LabMark[] }
  /** `at` is this browser's time, as an event's. */
  | {
      readonly kind: 'status';
      readonly state: State;
      readonly status: object;
      readonly cursor: number;
      readonly at: string;
    };

const MOST_MARKS = 200;

export const noMarks: Marks = { marks: [], labId: 0, connection: { state: 'joining' } };

export function addMarks(marks: Marks, input: MarksInput): Marks {
  switch (input.kind) {
    case 'lab':
      return addLabMarks(marks, input.marks);
    case 'status':
      return addStatus(marks, input);
  }
}

function addLabMarks(marks: Marks, learnt: readonly LabMark[]): Marks {
  if (learnt.length === 0) return marks;
  const known = new Set(marks.marks.map(({ key }) => key));
  const fresh = learnt.map(toMark).filter(({ key }) => !known.has(key));
  const labId = learnt.reduce((highest, { id }) => Math.max(highest, id), marks.labId);
  return { ...marks, labId, marks: keepLast([...marks.marks, ...fresh]) };
}

function toMark({ id, at, kind, by, first, last }: LabMark): Mark {
  const key = `lab-${id}`;
  return kind === 'lost' ? { kind, key, at, first, last } : { kind, key, at, by: by ?? 'gap', first, last };
}

function addStatus(marks: Marks, { state, status, cursor, at }: MarksInput & { kind: 'status' }): Marks {
  const { connection } = marks;
  const leave = (left: number): Marks => ({ ...marks, connection: { state: 'away', cursor: left } });
  switch (state) {
    case 'live': {
      const joined: Marks = { ...marks, connection: { state: 'live', cursor, status } };
      if (connection.state === 'away') return rejoin(joined, connection.cursor, at);
      // Cut and back between two looks: the states between were never seen.
      const wasCut = connection.state === 'live' && connection.status !== status;
      return wasCut ? rejoin(joined, connection.cursor, at) : joined;
    }
    // Nothing arrives while it waits, so this is where it stopped. In the other two the replay may have begun.
    case 'waiting':
      return connection.state === 'live' ? leave(cursor) : marks;
    case 'connecting':
    case 'replaying':
      return connection.state === 'live' ? leave(connection.cursor) : marks;
    case 'stopped':
      return { ...marks, connection: { state: 'joining' } };
  }
}

function rejoin(marks: Marks, left: number, at: string): Marks {
  const { connection } = marks;
  const cursor = connection.state === 'joining' ? left : connection.cursor;
  const key = `rejoined-${left}-${at}`;
  const mark: Mark =
    cursor > left
      ? { kind: 'repaired', key, at, by: 'reconnect', first: left + 1, last: cursor }
      : { kind: 'rejoined', key, at, first: cursor, last: cursor };
  return { ...marks, marks: keepLast([...marks.marks, mark]) };
}

const keepLast = (marks: readonly Mark[]): readonly Mark[] =>
  marks.length <= MOST_MARKS ? marks : marks.slice(-MOST_MARKS);
