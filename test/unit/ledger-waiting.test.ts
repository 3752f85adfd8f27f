/** Which appends go into a flush: order inside a session, fairness between sessions, bounds. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createWaitingRoom } from '../../src/ledger/waiting.ts';
import type { Group, GroupBounds, Waiting } from '../../src/ledger/waiting.ts';

interface Named extends Waiting {
  readonly name: string;
}

const bounds: GroupBounds = { groupAppends: 4, groupEvents: 10, groupBytes: 100 };

function waiting(
  session: string,
  name: string,
  more: { events?: number; bytes?: number; counter?: number } = {},
): Named {
  const { events = 1, bytes = 1, counter } = more;
  return {
    name,
    bytes,
    request: {
      session,
      events: Array.from({ length: events }, () => ({ type: 't', data: '1', bytes: 1 })),
      ...(counter !== undefined && { producer: { id: 'p', sequence: counter } }),
    },
  };
}
const namesOf = (group: Group<Named>): string[] => group.flatMap(({ appends }) => appends.map((append) => append.name));

describe('a flush', () => {
  it('takes all that waits, sessions sorted and appends in order of arrival', () => {
    const room = createWaitingRoom<Named>(bounds);
    for (const [session, name] of [['b', 'b1'], ['a', 'a1'], ['B', 'B1'], ['b', 'b2']] as const) room.add(waiting(session, name)); // prettier-ignore
    expect(namesOf(room.take())).toEqual(['B1', 'a1', 'b1', 'b2']);
    expect(room.appends).toBe(0);
    expect(room.take()).toEqual([]);
  });

  it('gives every session a place before it gives any session two', () => {
    const room = createWaitingRoom<Named>(bounds);
    for (let index = 0; index < 100; index++) room.add(waiting('hot', `hot${index}`));
    for (const session of ['x', 'y']) room.add(waiting(session, session));
    expect(namesOf(room.take())).toEqual(['hot0', 'hot1', 'x', 'y']);
  });

  it('serves those first that the last one had no place for', () => {
    const room = createWaitingRoom<Named>(bounds);
    for (const session of ['a', 'b', 'c', 'd', 'e', 'f']) for (const turn of [1, 2]) room.add(waiting(session, session + turn)); // prettier-ignore
    expect(namesOf(room.take())).toEqual(['a1', 'b1', 'c1', 'd1']);
    expect(namesOf(room.take())).toEqual(['a2', 'b2', 'e1', 'f1']);
  });

  it('stays within its events and bytes, and takes one append however large', () => {
    const room = createWaitingRoom<Named>(bounds);
    room.add(waiting('a', 'large', { bytes: 1_000 }));
    room.add(waiting('b', 'long', { events: 50 }));
    room.add(waiting('c', 'half', { events: 5 }));
    room.add(waiting('d', 'other half', { events: 5 }));
    expect(namesOf(room.take())).toEqual(['large']);
    expect(namesOf(room.take())).toEqual(['long']);
    expect(namesOf(room.take())).toEqual(['half', 'other half']);
  });

  it('ends for a session at an append that may repeat one that the flush holds', () => {
    const room = createWaitingRoom<Named>({ ...bounds, groupAppends: 100 });
    room.add(waiting('a', 'a1', { counter: 1, events: 2 }));
    room.add(waiting('a', 'a3', { counter: 3 }));
    room.add(waiting('a', 'again', { counter: 2 }));
    room.add(waiting('a', 'behind'));
    room.add(waiting('b', 'b1', { counter: 1 }));
    expect(namesOf(room.take())).toEqual(['a1', 'a3', 'b1']);
    expect(namesOf(room.take())).toEqual(['again', 'behind']);
  });

  it('leaves a held session out until it is released', () => {
    const room = createWaitingRoom<Named>(bounds);
    room.add(waiting('held', 'h1'));
    room.add(waiting('free', 'f1'));
    room.hold('held');
    expect(namesOf(room.take())).toEqual(['f1']);
    expect(room.take()).toEqual([]);
    expect(namesOf(room.takeOf('held'))).toEqual(['h1']);
    room.add(waiting('held', 'h2'));
    room.release('held');
    expect(namesOf(room.take())).toEqual(['h2']);
  });

  it('finds what was put back before what came later', () => {
    const room = createWaitingRoom<Named>(bounds);
    room.add(waiting('a', 'a1'));
    const [part] = room.take();
    room.add(waiting('a', 'a2'));
    room.putBack('a', part?.appends ?? []);
    expect(room.appends).toBe(2);
    expect(namesOf(room.take())).toEqual(['a1', 'a2']);
  });
});

it('loses nothing, repeats nothing, keeps the order of each session and counts right, whatever comes', () => {
  const step = fc.oneof(
    fc.record({
      do: fc.constant('add' as const),
      session: fc.constantFrom('a', 'b', 'c'),
      events: fc.integer({ min: 1, max: 12 }),
      bytes: fc.integer({ min: 0, max: 120 }),
      counter: fc.option(fc.integer({ min: 1, max: 20 }), { nil: undefined }),
    }),
    fc.record({ do: fc.constant('take' as const), back: fc.boolean() }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const room = createWaitingRoom<Named>(bounds);
      const added = new Map<string, string[]>();
      const served = new Map<string, string[]>();
      let [name, pending, bytes] = [0, 0, 0];
      const take = (back: boolean): number => {
        const group = room.take();
        const size = group.reduce((sum, part) => sum + part.appends.length, 0);
        expect(size).toBeLessThanOrEqual(bounds.groupAppends);
        for (const { session, appends } of group) {
          if (back) room.putBack(session, appends);
          else {
            served.set(session, [...(served.get(session) ?? []), ...appends.map((append) => append.name)]);
            pending -= appends.length;
            for (const append of appends) bytes -= append.bytes;
          }
        }
        return size;
      };
      for (const each of steps) {
        if (each.do === 'take') take(each.back);
        else {
          const { counter, ...rest } = each;
          const append = waiting(
            each.session,
            String((name += 1)),
            counter === undefined ? rest : { ...rest, counter },
          );
          room.add(append);
          added.set(each.session, [...(added.get(each.session) ?? []), append.name]);
          pending += 1;
          bytes += append.bytes;
        }
        expect([room.appends, room.bytes]).toEqual([pending, bytes]);
      }
      while (take(false) > 0);
      expect(served).toEqual(added);
    }),
  );
});
