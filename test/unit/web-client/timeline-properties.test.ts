/** What holds for the timeline of any session, however its events come. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { SessionEvent } from '../../../web-client/src/session-event.ts';
import { cover, lookUp } from '../../../web-client/src/timeline-layers.ts';
import type { Layers } from '../../../web-client/src/timeline-layers.ts';
import { addOlder, dropOlder } from '../../../web-client/src/timeline-window.ts';
import { emptyTimeline, foldEvents } from '../../../web-client/src/timeline.ts';
import type { Timeline } from '../../../web-client/src/timeline.ts';
import { anyEvents, toldSession } from '../../support/told-session.ts';

const told = toldSession().map(({ events }) => events);
const sessions = fc.oneof(told, anyEvents);
const fold = (events: readonly SessionEvent[], from = emptyTimeline): Timeline => foldEvents(from, events);
const cuts = fc.array(fc.nat({ max: 60 }), { maxLength: 8 });

/** In pieces that end at the cuts. */
function pieces(events: readonly SessionEvent[], at: readonly number[]): readonly (readonly SessionEvent[])[] {
  const edges = [0, ...at.toSorted((one, other) => one - other), events.length];
  return edges.slice(1).map((edge, index) => events.slice(edges[index], edge));
}

/** Not by the turn that is open around it, which may have begun before a part does. */
const isNamed = (events: readonly SessionEvent[], sequence: number): boolean =>
  events[sequence - 1]?.turn !== undefined;

/** As an old version is held by somebody who must not see it change. */
function freeze(timeline: Timeline): Timeline {
  timeline.items.forEach((item) => Object.freeze(item));
  Object.freeze(timeline.items);
  return Object.freeze(timeline);
}

describe('the same events give the same timeline', () => {
  test('in whatever batches they come', () => {
    fc.assert(
      fc.property(sessions, cuts, (events, at) => {
        const whole = fold(events);
        let timeline = emptyTimeline;
        for (const piece of pieces(events, at)) timeline = freeze(fold(piece, timeline));
        expect(timeline).toEqual(whole);
      }),
      { numRuns: 100 },
    );
  });

  test('through every cut, with whatever is sent again', () => {
    fc.assert(
      fc.property(
        sessions,
        fc.array(fc.tuple(fc.nat({ max: 60 }), fc.nat({ max: 60 })), { maxLength: 8 }),
        (events, visits) => {
          let timeline = emptyTimeline;
          let reached = 0;
          for (const [back, forth] of visits) {
            const from = Math.max(0, reached - back);
            const to = Math.min(events.length, Math.max(reached, from + forth));
            timeline = fold(events.slice(from, to), timeline);
            reached = to;
          }
          timeline = fold(events, timeline);
          expect(timeline).toEqual(fold(events));
          expect(fold(events, timeline), 'a repeat is nothing new').toBe(timeline);
        },
      ),
      { numRuns: 100 },
    );
  });

  test('also out of a version that others were made from', () => {
    fc.assert(
      fc.property(sessions, anyEvents, fc.nat({ max: 60 }), (events, others, at) => {
        const start = freeze(fold(events.slice(0, at)));
        const once = freeze(fold(events.slice(at), start));
        fold(
          others.map((event) => ({ ...event, sequence: event.sequence + at })),
          start,
        );
        fold(
          others.map((event) => ({ ...event, sequence: event.sequence + events.length })),
          once,
        );
        expect(fold(events.slice(at), start)).toEqual(once);
        expect(once).toEqual(fold(events));
      }),
      { numRuns: 100 },
    );
  });
});

describe('items', () => {
  test('that nothing touches stay the same objects', () => {
    fc.assert(
      fc.property(sessions, (events) => {
        let before = emptyTimeline;
        for (const event of events) {
          const after = fold([event], before);
          before.items.forEach((item, place) => {
            const now = after.items[place];
            if (now !== item) expect(now, 'a new object is a changed one').not.toEqual(item);
          });
          expect(after.items.length - before.items.length).toBeLessThanOrEqual(1);
          before = after;
        }
      }),
      { numRuns: 100 },
    );
  });

  test('have keys of their own, stand in the order of their first events, and share no last one', () => {
    fc.assert(
      fc.property(sessions, (events) => {
        const { items, first, last } = fold(events);
        expect(new Set(items.map(({ key }) => key)).size).toBe(items.length);
        expect(new Set(items.map((item) => item.last)).size).toBe(items.length);
        expect(items.map((item) => item.first)).toEqual(items.map((item) => item.first).toSorted((a, b) => a - b));
        expect(items.every((item) => item.first <= item.last)).toBe(true);
        expect([first, last]).toEqual([events[0]?.sequence ?? 0, events.at(-1)?.sequence ?? 0]);
      }),
      { numRuns: 100 },
    );
  });

  test('of a session that is told properly are what was said, and nothing is missing or twice [vercel/ai#18457]', () => {
    fc.assert(
      fc.property(toldSession(), ({ events, texts }) => {
        const { items } = fold(events);
        const shown = items.flatMap((item) =>
          item.kind === 'message' && item.role === 'assistant' && !item.isAbandoned ? [item.text] : [],
        );
        expect(shown).toEqual(texts);
        const users = items.filter((item) => item.kind === 'message' && item.role === 'user');
        expect(
          users.every(({ isAbandoned }) => !isAbandoned),
          'what people said stands',
        ).toBe(true);
        const tools = items.filter((item) => item.kind === 'tool' && !item.isAbandoned);
        expect(tools.every((item) => item.kind === 'tool' && item.state === 'done')).toBe(true);
        expect(items.some((item) => item.kind === 'other' && item.type !== 'note')).toBe(false);
      }),
      { numRuns: 100 },
    );
  });
});

describe('a timeline of a part of a session', () => {
  const withNames = toldSession(fc.constant(true)).map(({ events }) => events);

  test('shows what lies wholly within it as the whole one does', () => {
    fc.assert(
      fc.property(withNames, fc.nat({ max: 80 }), (events, from) => {
        const part = new Map(fold(events.slice(from)).items.map((item) => [item.key, item]));
        const inside = fold(events).items.filter(({ first }) => first > from && isNamed(events, first));
        expect(inside.map(({ key }) => part.get(key))).toEqual(inside);
      }),
      { numRuns: 100 },
    );
  });

  test('is the whole one when the reader has gone back to the beginning', () => {
    fc.assert(
      fc.property(told, fc.array(fc.nat({ max: 80 }), { maxLength: 4 }), (events, at) => {
        const [start = 0, ...further] = at.toSorted((one, other) => other - one);
        let timeline = fold(events.slice(start));
        let known = start;
        for (const from of [...further, 0]) {
          const before = timeline;
          timeline = freeze(addOlder(timeline, events.slice(from), events[known]?.sequence));
          known = from;
          const held = new Map(before.items.map((item) => [item.key, item]));
          for (const item of timeline.items) {
            const old = held.get(item.key);
            if (old !== item) expect(old).not.toEqual(item);
          }
        }
        expect(timeline).toEqual(fold(events));
      }),
      { numRuns: 100 },
    );
  });

  test('goes on as the whole one when its beginning was dropped, and what reaches over the edge stays whole', () => {
    const places = fc.nat({ max: 80 });
    fc.assert(
      fc.property(withNames, places, places, fc.array(places, { maxLength: 3 }), (events, at, keep, middles) => {
        const seen = fold(events.slice(0, at));
        const edge = Math.max(0, seen.last - keep);
        const whole = fold(events).items;
        const dropped = freeze(dropOlder(seen, edge + 1));
        expect(dropped.items).toEqual(seen.items.filter((item) => dropped.items.includes(item)));
        const after = fold(events.slice(at), dropped);
        const kept = new Set(after.items.map(({ key }) => key));
        expect(after.items).toEqual(whole.filter(({ key }) => kept.has(key)));
        expect(whole.filter(({ key, last }) => last > edge && !kept.has(key))).toEqual([]);

        let timeline = after;
        let known = edge;
        for (const back of [...middles, 0].toSorted((one, other) => other - one)) {
          if (back >= known) continue;
          timeline = freeze(addOlder(timeline, events.slice(back), known + 1));
          known = back;
          const wanted = whole.filter(({ key, first }) => (first > back && isNamed(events, first)) || kept.has(key));
          const shown = new Map(timeline.items.map((item) => [item.key, item]));
          expect(
            wanted.map(({ key }) => shown.get(key)),
            'what came back, and what was there',
          ).toEqual(wanted);
          expect(new Set(timeline.items.map(({ last }) => last)).size, 'no part of an item beside it').toBe(shown.size);
        }
        if (edge > 0) expect(timeline.items).toEqual(whole);
      }),
      { numRuns: 200 },
    );
  });

  test('never holds an item twice, whatever was dropped and came back', () => {
    const moves = fc.array(fc.tuple(fc.boolean(), fc.nat({ max: 30 })), { maxLength: 10 });
    fc.assert(
      fc.property(anyEvents, moves, (events, steps) => {
        let timeline = emptyTimeline;
        let from = 0;
        let to = 0;
        for (const [isForth, count] of steps) {
          if (isForth) {
            timeline = fold(events.slice(to, to + count), timeline);
            to = Math.min(events.length, to + count);
            from = Math.max(from, to - 10);
            timeline = dropOlder(timeline, from + 1);
          } else {
            const back = Math.max(0, from - count);
            if (back < from) timeline = addOlder(timeline, events.slice(back, to), from + 1);
            from = back;
          }
          freeze(timeline);
        }
        const { items } = timeline;
        expect(new Set(items.map(({ key }) => key)).size).toBe(items.length);
        expect(items.map(({ first }) => first)).toEqual(items.map(({ first }) => first).toSorted((a, b) => a - b));
      }),
      { numRuns: 100 },
    );
  });
});

test('an event onto fifty thousand looks at a few layers, and an entry of them is copied a few times', () => {
  const count = 50_000;
  let layers: Layers<number> = [];
  let copied = 0;
  for (let index = 0; index < count; index += 1) {
    const before = new Set(layers);
    layers = cover(layers, new Map([[`name ${index % 40_000}`, index]]));
    for (const layer of layers) copied += before.has(layer) ? 0 : layer.size;
  }
  expect(layers.length).toBeLessThanOrEqual(Math.log2(count) + 1);
  expect(copied).toBeLessThanOrEqual(count * (Math.log2(count) + 1));
  expect([lookUp(layers, 'name 9999'), lookUp(layers, 'name 10000'), lookUp(layers, 'name 40000')]).toEqual([
    49_999,
    10_000,
    undefined,
  ]);
});
