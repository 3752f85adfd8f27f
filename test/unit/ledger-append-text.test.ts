/** Appends as text: what may be joined, what reads as one run, what a receipt says. */
import { describe, expect, it } from 'vitest';
import { AssertionFailed } from '../../src/base/assert.ts';
import { isOneRun } from '../../src/ledger/append-statement.ts';
import { assertSeparable, joinPayloads, joinTypes, joinValues } from '../../src/ledger/append-text.ts';
import type { AppendRequest } from '../../src/ledger/ledger.ts';
import { isReceipt, parseReceipt, verdicts, verdictsInARow } from '../../src/ledger/receipt.ts';
import { toCursor } from '../../src/event/sequence.ts';

const event = (data: string, type = 't') => ({ type, data, bytes: data.length });
const request = (more: Partial<AppendRequest> = {}): AppendRequest => ({ session: 's', events: [event('1')], ...more });

describe('lists in text', () => {
  it('separate what no value can hold', () => {
    expect(joinTypes([event('1', 'a.b'), event('2', 'c-d')])).toBe('a.b,c-d');
    expect(joinPayloads([event('[1,2]'), event('"*"')])).toBe('[1,2]\n"*"');
    expect(joinValues(['p', undefined, 3])).toBe('p,*,3');
  });

  it.each([
    ['a session', request({ session: 'a,b' })],
    ['a null', request({ session: '*' })],
    ['a type', request({ events: [event('1', 'a,b')] })],
    ['a line feed', request({ events: [event('[1,\n2]')] })],
    ['a carriage return, which would end a frame', request({ events: [event('[1,\r2]')] })],
    ['a producer', request({ producer: { id: 'a,b', sequence: 1 } })],
    ['a turn', request({ fence: { turn: 'a"b', attempt: 1 } })],
    ['an append of nothing', request({ events: [] })],
  ])('refuse %s that would shift another', (_, bad) => {
    expect(() => assertSeparable(bad)).toThrow(AssertionFailed);
    expect(() => assertSeparable(request())).not.toThrow(AssertionFailed);
  });
});

describe('a run', () => {
  const counting = (sequence: number, length = 1): AppendRequest =>
    request({ producer: { id: 'p', sequence }, events: Array.from({ length }, () => event('1')) });

  it.each<[string, AppendRequest[], boolean]>([
    ['appends without a producer', [request(), request()], true],
    ['one producer that counts on', [counting(1, 3), counting(4), counting(5)], true],
    ['a producer that skips', [counting(1), counting(3)], false],
    ['a producer that repeats', [counting(1, 2), counting(2)], false],
    ['two producers', [counting(1), request({ producer: { id: 'q', sequence: 2 } })], false],
    ['a producer and none', [counting(1), request()], false],
    ['a first condition', [request({ expectedHead: toCursor(3) }), request()], true],
    ['a later condition', [request(), request({ expectedHead: toCursor(3) })], false],
    ['one fence', [request({ fence: { turn: 't', attempt: 1 } }), request({ fence: { turn: 't', attempt: 1 } })], true],
    [
      'two attempts',
      [request({ fence: { turn: 't', attempt: 1 } }), request({ fence: { turn: 't', attempt: 2 } })],
      false,
    ],
    ['an attempt and none', [request({ fence: { turn: 't', attempt: 1 } }), request()], false],
  ])('%s', (_, requests, expected) => {
    expect(isOneRun(requests)).toBe(expected);
  });
});

describe('a receipt', () => {
  const text = `{"transaction" : "771", "at" : "2026-11-30T04:00:00.000Z", "firsts" : [8,null,10,null,null,null,null], "refused" : [
    {"append": 1, "code": "wrong_head", "head": 9}, {"append": 3, "code": "duplicate", "first": 2, "last": 3},
    {"append": 4, "code": "overlap", "counter": 5}, {"append": 5, "code": "skipped"}, {"append": 6, "code": "unknown_session"}]}`;
  const two = request({ events: [event('1'), event('2')] });
  const requests = [two, two, two, two, two, two, two];
  const at = '2026-11-30T04:00:00.000Z';

  it('is told from other notices', () => {
    expect(isReceipt(text)).toBe(true);
    expect(isReceipt('table "x" does not exist, skipping')).toBe(false);
  });

  it('gives every append its verdict', () => {
    expect(verdicts(parseReceipt(text), requests)).toEqual([
      { kind: 'appended', first: 8, last: 9, at, transaction: '771' },
      { kind: 'wrong_head', head: 9 },
      { kind: 'appended', first: 10, last: 11, at, transaction: '771' },
      { kind: 'duplicate', first: 2, last: 3 },
      { kind: 'overlap', counter: 5 },
      { kind: 'skipped' },
      { kind: 'unknown_session' },
    ]);
  });

  it('that says nothing of an append is a fault', () => {
    expect(() => verdicts(parseReceipt(text), [...requests, two])).toThrow(AssertionFailed);
    expect(() => verdicts({ transaction: '1', at, firsts: [null], refused: [] }, [two])).toThrow(AssertionFailed);
  });

  it('of a run numbers its appends one behind the other', () => {
    expect(verdictsInARow({ transaction: '1', at, firsts: [5], refused: [] }, [two, request(), two])).toEqual([
      { kind: 'appended', first: 5, last: 6, at, transaction: '1' },
      { kind: 'appended', first: 7, last: 7, at, transaction: '1' },
      { kind: 'appended', first: 8, last: 9, at, transaction: '1' },
    ]);
  });
});
