/** The sessions that a browser knows. */
import { describe, expect, test } from 'vitest';
import { addSession, forgetSession, parseSessions } from '../../../web-client/app/sessions/session-list.ts';

describe('the list of sessions', () => {
  test('takes a new one on top and leaves a known one in its place', () => {
    expect(addSession(['a', 'b'], 'c')).toEqual(['c', 'a', 'b']);
    const known = ['a', 'b'];
    expect(addSession(known, 'b')).toBe(known);
  });

  test('keeps the newest fifty', () => {
    const full = Array.from({ length: 50 }, (_, index) => `s${index}`);
    const more = addSession(full, 'new');
    expect(more).toHaveLength(50);
    expect(more[0]).toBe('new');
    expect(more).not.toContain('s49');
  });

  test('forgets one and no other', () => expect(forgetSession(['a', 'b', 'a-b'], 'a')).toEqual(['b', 'a-b']));

  test('is read from whatever storage holds', () => {
    expect(parseSessions(JSON.stringify(['a', 'b']))).toEqual(['a', 'b']);
    expect(parseSessions(JSON.stringify(['a', 7, null, 'a b', 'a', 'b']))).toEqual(['a', 'b']);
    expect(['{', '{"a":1}', 'null', '7', undefined].map(parseSessions)).toEqual([[], [], [], [], []]);
  });
});
