/** The list of sessions as the page shows it. */
import { describe, expect, test } from 'vitest';
import { arrange, findSessions, titleOf, toRowWords } from '../../../web-client/app/sessions/session-list.ts';
import type { ListedSession } from '../../../web-client/src/session-list.ts';

const NOW_MS = Date.parse('2026-11-30T04:10:00.000Z');
const idle = { state: 'idle', turn: null, attempt: null, stop: null } as const;

const listed = (session: string, more: Partial<ListedSession> = {}): ListedSession => ({
  session,
  metadata: null,
  state: 'open',
  head: 42,
  turn: idle,
  activity: '2026-11-30T04:00:00.000Z',
  notable: 0,
  read: 0,
  unread: false,
  ...more,
});

describe('the list of sessions', () => {
  test('stays in its order while it is held, says what is new, and puts a new one behind', () => {
    const held = [listed('a'), listed('b'), listed('c')];
    const fresh = [listed('new'), listed('c', { unread: true }), listed('a'), listed('b')];
    expect(arrange(held, fresh).map(({ session, unread }) => [session, unread])).toEqual([
      ['a', false],
      ['b', false],
      ['c', true],
      ['new', false],
    ]);
  });

  test('keeps what is gone in its place while it is held', () => {
    expect(arrange([listed('a'), listed('b')], [listed('b')]).map(({ session }) => session)).toEqual(['a', 'b']);
  });

  test('is searched by id and by title, in any case', () => {
    const sessions = [listed('order-7731'), listed('s2', { metadata: { title: 'Refund of an Order' } }), listed('s3')];
    const found = (words: string): string[] => findSessions(sessions, words).map(({ session }) => session);
    expect(found('ORDER')).toEqual(['order-7731', 's2']);
    expect(found('  ')).toEqual(['order-7731', 's2', 's3']);
    expect(found('nothing')).toEqual([]);
  });

  test('takes a title from any metadata, and only a text', () => {
    const titles = [{ title: ' Tanks ' }, { title: '' }, { title: 7 }, null, 'title', [1]].map((metadata) =>
      titleOf(listed('s', { metadata })),
    );
    expect(titles).toEqual(['Tanks', undefined, undefined, undefined, undefined, undefined]);
  });
});

describe('a row', () => {
  const words = (more: Partial<ListedSession>, hasFailed = false): string =>
    toRowWords(listed('s', more), hasFailed, NOW_MS).words;

  test('says what the agent does, else the head, else what became of the session', () => {
    expect(words({ turn: { ...idle, state: 'running', turn: 't' } })).toBe('working');
    expect(words({ turn: { ...idle, state: 'running', turn: 't', stop: 'stop' } })).toBe('stopping');
    expect(words({ turn: { ...idle, state: 'waiting', turn: 't' } })).toBe('waits for you');
    expect(words({ turn: { ...idle, state: 'ready' } })).toBe('queued');
    expect(words({ turn: { ...idle, state: 'ready', turn: 't' } })).toBe('to go on');
    expect(words({})).toBe('head 42');
    expect(words({ state: 'closed' })).toBe('closed');
  });

  test('says that the last turn failed, until another one is under way', () => {
    expect(words({}, true)).toBe('failed');
    expect(words({ turn: { ...idle, state: 'running', turn: 't' } }, true)).toBe('working');
  });

  test('says how long ago', () => expect(toRowWords(listed('s'), false, NOW_MS).age).toBe('10 min ago'));
});
