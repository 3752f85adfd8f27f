/** The work of a session on the rail: the newest turn's journal, told by events through any cut, and deliveries until they are settled. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createDeliveryPoll, isSettled } from '../../../web-client/app/work/delivery-list.ts';
import type { Delivery, DeliveryPage } from '../../../web-client/app/work/delivery-list.ts';
import { promiseOf, toDeliveryWords, toStepWords } from '../../../web-client/app/work/effect-words.ts';
import { foldWork, newestRows, noWork, workOf } from '../../../web-client/app/work/journal.ts';
import type { JournalRow } from '../../../web-client/app/work/journal.ts';
import { effectClasses } from '../../../src/step/step.ts';
import type { SessionEvent } from '../../../web-client/src/session-event.ts';
import { anyEvents, numbered, toldSession } from '../../support/told-session.ts';

type Line = readonly [type: string, data: object];

const events = (lines: readonly Line[], first = 1): SessionEvent[] =>
  numbered(
    lines.map(([type, data]) => ({ type, data })),
    first,
  );
const rowsAfter = (...lines: readonly Line[]): readonly JournalRow[] => newestRows(foldWork(noWork, events(lines)));

const said: Line = ['message.created', { key: 'k', role: 'user', content: 'Q', onBusy: 'enqueue' }];
const begun = (turn = 't1', attempt = 1, inputs = [1]): Line => ['turn.started', { turn, attempt, try: 1, inputs }];
const model = (index: number, reserved: number, attempt = 1): Line => [
  'step.done',
  { turn: 't1', attempt, step: index, kind: 'model', reserved, fromJournal: false },
];
const step = (state: string, index: number, more: object = {}): Line => [
  `step.${state}`,
  { turn: 't1', attempt: 1, step: index, kind: 'tool', tool: 'refund', effect: 'keyed', ...more },
];
const resolved = (outcome: string, turn = 't1'): Line => [
  'step.resolved',
  { turn, step: 1, tool: 'refund', effect: 'keyed', by: 'maya', outcome },
];

describe('the journal', () => {
  test('has a row for each index, which says what it was, what came of it, and whose it is', () => {
    const rows = rowsAfter(said, begun(), step('started', 1), model(0, 2), step('done', 1), step('failed', 2));
    expect(rows).toMatchObject([
      { index: 0, kind: 'model', state: 'done', attempt: 1, sequence: 4 },
      { index: 1, kind: 'tool', name: 'refund', effect: 'keyed', state: 'done', attempt: 1, sequence: 5 },
      { index: 2, kind: 'tool', state: 'failed', sequence: 6 },
    ]);
  });

  test('says of what a later attempt found who did it and who found it', () => {
    const again = [begun('t1', 2), step('done', 1, { attempt: 2, fromJournal: true })];
    expect(rowsAfter(said, begun(), step('done', 1), ...again)).toMatchObject([{ attempt: 1, foundBy: 2 }]);
    const unknown = foldWork(noWork, events(again, 50));
    expect(newestRows(unknown)).toMatchObject([{ attempt: undefined, foundBy: 2, state: 'done' }]);
  });

  test('has a doubt under the attempt that made the call, and then who resolved it', () => {
    const doubt = [said, begun(), step('started', 1), step('in_doubt', 1, { attempt: 2 })] as const;
    expect(rowsAfter(...doubt)).toMatchObject([{ state: 'in_doubt', attempt: 1 }]);
    expect(rowsAfter(...doubt, resolved('done'))).toMatchObject([{ state: 'done', attempt: 1, resolvedBy: 'maya' }]);
    expect(rowsAfter(...doubt, resolved('not_done'))).toMatchObject([{ state: 'not_done', resolvedBy: 'maya' }]);
  });

  test('knows a call that is made again by the attempt that makes it, and nobody resolved that one', () => {
    const again = [begun('t1', 3), step('started', 1, { attempt: 3 })];
    const [row] = rowsAfter(said, begun(), step('in_doubt', 1), resolved('not_done'), ...again);
    expect(row).toMatchObject({ state: 'started', attempt: 3, resolvedBy: undefined, foundBy: undefined });
  });

  test('has what came from outside at the next free index, as the server counts', () => {
    const decided: Line = ['approval.decided', { turn: 't1', approval: 'a1', decision: 'approved', by: 'maya' }];
    const steered: Line = ['turn.steered', { turn: 't1', attempt: 1, inputs: [9] }];
    const rows = rowsAfter(said, begun(), model(0, 2), step('done', 1), decided, steered, step('done', 2));
    expect(rows.map(({ index, kind, name }) => [index, kind, name])).toEqual([
      [0, 'model', undefined],
      [1, 'tool', 'refund'],
      [2, 'tool', 'refund'],
      [3, 'input', 'a decision'],
      [4, 'input', 'a message'],
    ]);
    expect(rowsAfter(said, begun(), steered), 'alone it is no journal to look at').toEqual([]);
  });

  test('has none of what came from outside where what lies before it is not known', () => {
    const steered: Line = ['turn.steered', { turn: 't1', attempt: 1, inputs: [9] }];
    const late = (...lines: readonly Line[]) => newestRows(foldWork(noWork, events(lines, 50)));
    expect(late(begun(), step('done', 3), steered).map(({ index }) => index)).toEqual([3]);
    expect(late(begun(), model(3, 1), steered).map(({ index }) => index)).toEqual([3, 5]);
  });

  test('is the newest turn’s; of an older one that goes on it is that one’s again', () => {
    const other: Line = ['step.done', { turn: 't2', attempt: 2, step: 0, kind: 'tool', tool: 'search' }];
    const both = [said, begun(), step('in_doubt', 1), begun('t2', 2), other, resolved('done')] as const;
    expect(rowsAfter(...both)).toMatchObject([{ name: 'search' }]);
    expect(rowsAfter(...both, begun('t1', 3))).toMatchObject([{ name: 'refund', resolvedBy: 'maya' }]);
  });

  test('of turns without end does not pile up', () => {
    const lines = Array.from({ length: 100 }, (_, index) => begun(`t${index}`, index));
    expect(foldWork(noWork, events(lines)).journals.size).toBe(16);
  });

  test('knows the highest number of a delivery that it was told of', () => {
    const deliveries = [4, 7].map((number) => ({ number, topic: 'refund.issued' }));
    const lines = [said, begun(), step('done', 1, { deliveries }), step('done', 2, { deliveries: 'no list' })];
    expect(foldWork(noWork, events(lines)).delivered).toBe(7);
  });

  const cuts = fc.array(fc.nat({ max: 60 }), { maxLength: 8 });
  test('is the same through every cut, with whatever is sent again', () => {
    const sessions = fc.oneof(
      toldSession().map((told) => told.events),
      anyEvents,
    );
    fc.assert(
      fc.property(sessions, cuts, (told, at) => {
        const whole = foldWork(noWork, told);
        let work = noWork;
        for (const edge of at.toSorted((one, other) => one - other)) {
          work = foldWork(work, told.slice(Math.max(0, work.last - 3), edge));
        }
        work = foldWork(work, told);
        expect(work).toEqual(whole);
        expect(foldWork(work, told), 'a repeat is nothing new').toBe(work);
      }),
      { numRuns: 200 },
    );
  });

  test('is what all the events tell that are there now, whether older ones came or they are others', () => {
    fc.assert(
      fc.property(anyEvents, fc.nat({ max: 40 }), fc.nat({ max: 40 }), (told, from, to) => {
        const whole = foldWork(noWork, told);
        expect(workOf(workOf(noWork, told.slice(from, to)), told)).toEqual(whole);
        expect(workOf(whole, told.slice(0, to))).toEqual(foldWork(noWork, told.slice(0, to)));
      }),
      { numRuns: 200 },
    );
  });

  test('keeps what it knows of events that are not held any more', () => {
    const told = events([said, begun(), model(0, 1), step('done', 1)]);
    const work = foldWork(noWork, told);
    expect(workOf(work, told.slice(3))).toBe(work);
  });
});

const delivery = (number: number, more: Partial<Delivery> = {}): Delivery => ({
  number,
  topic: 'refund.issued',
  turn: 't1',
  step: 1,
  state: 'published',
  attempts: 0,
  since: '2026-11-30T04:00:00.000Z',
  error: null,
  applied: [],
  ...more,
});
const pageOf = (...deliveries: readonly Delivery[]): DeliveryPage => ({ deliveries, next: null });

describe('deliveries', () => {
  const entries = { applied: ['entries'] };

  test.each([
    ['none', [], true],
    ['one that waits', [delivery(1, { state: 'waiting' })], false],
    ['one that was refused', [delivery(1, { state: 'refused' })], false],
    ['one that was given up', [delivery(1, { state: 'dead' })], true],
    ['one that was applied', [delivery(1, entries)], true],
    ['one that is published, and nobody knows for whom', [delivery(1)], false],
    ['one that another’s consumer has not applied', [delivery(2), delivery(1, entries)], false],
    [
      'one of another topic, which has others who apply',
      [delivery(2, { topic: 'x', applied: ['y'] }), delivery(1, entries)],
      true,
    ],
  ])('are settled or not: %s', (_, deliveries, expected) => {
    expect(isSettled(pageOf(...deliveries), 0)).toBe(expected);
  });

  test('are not waited for without end where nobody applies them, but while they are to be published', async () => {
    const asks = async (...pages: readonly DeliveryPage[]): Promise<number | undefined> => {
      const { ask, isEnough } = createDeliveryPoll(() =>
        Promise.resolve(pages[Math.min(asked, pages.length) - 1] ?? pageOf()),
      );
      let asked = 0;
      while (asked < 100) {
        asked += 1;
        if (isEnough(await ask(new AbortController().signal))) return asked;
      }
      return undefined;
    };
    expect(await asks(pageOf(delivery(1)))).toBe(16);
    expect(await asks(pageOf(delivery(1)), pageOf(delivery(1, entries)))).toBe(2);
    expect(await asks(pageOf(delivery(1, { state: 'waiting' })))).toBeUndefined();
  });
});

describe('words', () => {
  test('say of every class what it promises, and of nothing else', () => {
    expect(effectClasses.map(promiseOf)).not.toContain(undefined);
    expect(promiseOf('constructor')).toBeUndefined();
  });

  test('say of a step what came of it, and of whom that is known', () => {
    const row: JournalRow = { index: 1, kind: 'tool', state: 'done', sequence: 9 };
    expect(toStepWords(row, false)).toEqual({ tone: 'done', label: 'Done' });
    expect(toStepWords({ ...row, foundBy: 4, resolvedBy: 'maya' }, false).detail).toBe(
      'resolved by maya, found by attempt 4',
    );
    expect(toStepWords({ ...row, state: 'started' }, false).label).toBe('Running');
    expect(toStepWords({ ...row, state: 'started' }, true).label).toBe('No result');
    expect(toStepWords({ ...row, state: 'in_doubt' }, true)).toEqual({ tone: 'waiting', label: 'In doubt' });
  });

  test('say of a delivery how far it came, and why no further', () => {
    expect(toDeliveryWords(delivery(1, { applied: ['entries', 'mail'] }))).toEqual({
      tone: 'done',
      label: 'Published',
      detail: 'applied by entries, mail',
    });
    expect(toDeliveryWords(delivery(1, { state: 'refused', attempts: 2, error: 'too large' }))).toEqual({
      tone: 'waiting',
      label: 'Refused 2 times',
      detail: 'too large',
    });
    expect(toDeliveryWords(delivery(1, { state: 'dead', error: 'too large' })).detail).toBe('too large');
    expect(toDeliveryWords(delivery(1)).label).toBe('Published');
  });
});
