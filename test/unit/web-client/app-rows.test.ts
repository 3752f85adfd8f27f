/** The rows of the conversation: what is folded, where a turn ends, which row shows a sequence. */
import { describe, expect, test } from 'vitest';
import { createRowKeys } from '../../../web-client/app/conversation/row-keys.ts';
import { findAttempt, findRow, toRows } from '../../../web-client/app/conversation/rows.ts';
import type { Row } from '../../../web-client/app/conversation/rows.ts';
import { emptyTimeline, foldEvents } from '../../../web-client/src/timeline.ts';
import type { SessionEvent } from '../../../web-client/src/session-event.ts';

const at = '2026-11-30T04:00:00.000Z';
const numbered = (events: readonly (readonly [string, object])[]): SessionEvent[] =>
  events.map(([type, data], index) => ({ sequence: index + 1, at, type, data }));
const none: ReadonlySet<string> = new Set();
const seen = (rows: readonly Row[]): string[] => rows.map(({ kind, first, last }) => `${kind} ${first}–${last}`);

const story = numbered([
  ['message.created', { key: 'k', role: 'user', content: 'Go' }],
  ['turn.started', { turn: 't', attempt: 1 }],
  ['text.delta', { message: 'm1', text: 'I be' }],
  ['tool.call', { call: 'c1', tool: 'x', args: {} }],
  ['turn.started', { turn: 't', attempt: 2 }],
  ['text.delta', { message: 'm2', text: 'I go' }],
  ['turn.failed', { turn: 't', attempt: 2, error: { code: 'lost', message: 'it is gone' } }],
  ['message.created', { key: 'k2', role: 'user', content: 'Again' }],
  ['turn.started', { turn: 'u', attempt: 1 }],
  ['text.delta', { message: 'm3', text: 'Now' }],
]);
const { items } = foldEvents(emptyTimeline, story);

describe('rows', () => {
  const rows = toRows(items, none);

  test('fold an abandoned attempt into one, and show an ended turn’s end where it ended', () => {
    expect(seen(rows)).toEqual([
      'message 1–1',
      'abandoned 2–4',
      'turn 5–7',
      'message 6–6',
      'turn_end 7–7',
      'message 8–8',
      'turn 9–9',
      'message 10–10',
    ]);
  });

  test('unfold what is opened', () => {
    const fold = rows.find(({ kind }) => kind === 'abandoned')!;
    expect(seen(toRows(items, new Set([fold.key])))).toEqual([
      'message 1–1',
      'abandoned 2–4',
      'turn 2–2',
      'message 3–3',
      'tool 4–4',
      ...seen(rows).slice(2),
    ]);
  });

  test('that did not change stay the same objects while another grows', () => {
    const timeline = foldEvents(emptyTimeline, story);
    const before = toRows(timeline.items, none);
    const more = foldEvents(timeline, [
      { sequence: 11, at, type: 'text.delta', data: { message: 'm3', text: ' then' } },
    ]);
    const after = toRows(more.items, none);
    const changed = after.filter((row, index) => row !== before[index]);
    expect(seen(changed).filter((row) => !row.startsWith('abandoned'))).toEqual(['message 10–11']);
  });

  test('have keys of their own', () => expect(new Set(rows.map(({ key }) => key)).size).toBe(rows.length));

  test.each([
    [1, 'message 1–1'],
    [3, 'abandoned 2–4'],
    [6, 'message 6–6'],
    [7, 'turn_end 7–7'],
    [9, 'turn 9–9'],
    [99, 'message 10–10'],
    [0, 'message 1–1'],
  ])('show the sequence %i in %s', (sequence, row) => expect(seen([rows[findRow(rows, sequence)]!])).toEqual([row]));

  test('show an event that is in none of them near to it, not where its turn began', () => {
    const turn = foldEvents(emptyTimeline, [
      ...numbered([
        ['turn.started', { turn: 't', attempt: 1 }],
        ['billing.note', {}],
      ]),
      { sequence: 9, at, type: 'turn.completed', data: { turn: 't', attempt: 1 } },
    ]);
    const spanned = toRows(turn.items, none);
    expect(seen(spanned)).toEqual(['turn 1–9', 'other 2–2', 'turn_end 9–9']);
    expect(seen([spanned[findRow(spanned, 5)]!])).toEqual(['other 2–2']);
  });

  test('of nothing are none', () => expect(findRow(toRows([], none), 5)).toBe(-1));

  test('tell the fold that hides an item', () => {
    const fold = rows.find(({ kind }) => kind === 'abandoned')!;
    const hidden = items.filter(({ isAbandoned }) => isAbandoned);
    expect(hidden.map(({ key }) => findAttempt(items, key))).toEqual(hidden.map(() => fold.key));
    expect(findAttempt(items, items[0]!.key)).toBeUndefined();
    expect(findAttempt(items, 'unknown')).toBeUndefined();
  });
});

describe('the keys of rows', () => {
  const row = (key: string, first: number, last: number): Row => ({
    kind: 'message',
    key,
    first,
    last,
    at,
    role: 'assistant',
    text: '',
    isComplete: false,
    isAbandoned: false,
  });

  test('stay when an older page holds the first row’s beginning, and tell that it grew in front, once', () => {
    const maker = createRowKeys();
    maker.next([row('part', 50, 60), row('b', 61, 70)]);
    const keys = maker.next([row('a', 1, 39), row('whole', 40, 60), row('b', 61, 70)]);
    expect(keys.keyOf(row('whole', 40, 60))).toBe('part');
    expect(keys.keyOf(row('a', 1, 39))).toBe('a');
    expect([keys.takeGrown('b'), keys.takeGrown('part'), keys.takeGrown('part')]).toEqual([false, true, false]);
  });

  test('stay when it is the only one', () => {
    const maker = createRowKeys();
    maker.next([row('part', 50, 60)]);
    expect(maker.next([row('whole', 40, 60)]).keyOf(row('whole', 40, 60))).toBe('part');
  });

  test('are the rows’ own when a page adds whole rows', () => {
    const maker = createRowKeys();
    maker.next([row('b', 50, 60), row('c', 61, 70)]);
    const keys = maker.next([row('a', 40, 49), row('b', 50, 60), row('c', 61, 70)]);
    expect([keys.keyOf(row('a', 40, 49)), keys.takeGrown('b')]).toEqual(['a', false]);
  });

  test('stay when an older page holds the beginning of a row that is not the first, and what has the focus keeps it', () => {
    const turn = numbered([
      ['message.created', { key: 'k', role: 'user', content: 'Go' }],
      ['turn.started', { turn: 't', attempt: 1 }],
      ['tool.call', { call: 'c', tool: 'x', args: {} }],
      ['text.delta', { message: 'm', text: 'I be' }],
      ['message.completed', { message: 'm', role: 'assistant' }],
      ['tool.result', { call: 'c', result: 1 }],
      ['turn.completed', { turn: 't', attempt: 1 }],
      ['message.created', { key: 'k2', role: 'user', content: 'Again' }],
    ]);
    const rowsOf = (events: readonly SessionEvent[]): readonly Row[] =>
      toRows(foldEvents(emptyTimeline, events).items, none);
    const maker = createRowKeys();
    const part = rowsOf(turn.slice(3));
    expect(seen(part)).toEqual(['message 4–5', 'tool 6–6', 'turn 7–7', 'message 8–8']);
    const keysBefore = part.map(maker.next(part).keyOf);
    const whole = rowsOf(turn);
    expect(seen(whole).slice(1)).toEqual(['turn 2–7', 'tool 3–6', 'message 4–5', 'turn_end 7–7', 'message 8–8']);
    const { keyOf } = maker.next(whole);
    const keys = whole.map(keyOf);
    const [, , tool, message, end, last] = keys;
    expect([message, tool, end, last]).toEqual(keysBefore);
    expect(new Set(keys).size).toBe(keys.length);
  });

  test('are the same keys for the same rows, however often they are asked for', () => {
    const maker = createRowKeys();
    maker.next([row('part', 50, 60)]);
    const rows = [row('whole', 40, 60)];
    const keys = maker.next(rows);
    expect(maker.next(rows)).toBe(keys);
    expect(keys.takeGrown('part')).toBe(true);
  });
});
