/** What the page says: states, refusals of the lab, announcements, numbers. */
import { describe, expect, test } from 'vitest';
import { findAnnouncement } from '../../../web-client/app/conversation/announcement.ts';
import { toChunks } from '../../../web-client/app/conversation/chunks.ts';
import { toSpokenStatus, toStatusWords } from '../../../web-client/app/conversation/status-words.ts';
import {
  formatAge,
  formatBytes,
  formatElapsed,
  formatMilliseconds,
  formatRange,
  jsonBytes,
  plural,
} from '../../../web-client/app/base/format.ts';
import { refusalOf, trials } from '../../../web-client/app/lab/lab-faults.ts';
import type { Situation } from '../../../web-client/app/lab/lab-faults.ts';
import { FollowError } from '../../../web-client/src/follow-error.ts';
import type { FollowerStatus } from '../../../web-client/src/follower.ts';
import { emptyTimeline, foldEvents } from '../../../web-client/src/timeline.ts';

describe('the state', () => {
  const waiting: FollowerStatus = { state: 'waiting', cause: 'unreachable', until: 10_000, attempt: 2 };

  test('counts down in whole seconds and never says 0', () => {
    expect([7_000, 7_001, 9_990, 10_000, 12_000].map((nowMs) => toStatusWords(waiting, nowMs).label)).toEqual([
      'Retry in 3 s',
      'Retry in 3 s',
      'Retry in 1 s',
      'Retry in 1 s',
      'Retry in 1 s',
    ]);
  });

  test('says why it waits, and to the ear without the countdown', () => {
    expect(toStatusWords(waiting, 0).detail).toBe('The gateway cannot be reached.');
    expect(toSpokenStatus(waiting)).toBe('Waiting to come back. The gateway cannot be reached.');
  });

  test('tells an end from a refusal', () => {
    const error = new FollowError('refused', 'no such session');
    expect(toStatusWords({ state: 'stopped', end: { kind: 'ended', reason: 'closed' } }, 0).tone).toBe('ended');
    expect(toStatusWords({ state: 'stopped', end: { kind: 'ended', reason: 'deleted' } }, 0).label).toBe('Deleted');
    expect(toStatusWords({ state: 'stopped', end: { kind: 'refused', error } }, 0)).toEqual({
      tone: 'refused',
      label: 'Refused',
      detail: 'no such session',
    });
  });
});

describe('the lab', () => {
  const lab = { isHeadCheckPaused: false, isBusStopped: false, dropsNext: false };
  const usual: Situation = { lab, isLive: true, session: 'open' };
  const refused = (situation: Situation): string[] =>
    trials.filter(({ trial }) => refusalOf(trial, situation) !== undefined).map(({ trial }) => trial);

  test('refuses nothing on a live session', () => expect(refused(usual)).toEqual([]));
  test('severs only what lives', () => expect(refused({ ...usual, isLive: false })).toEqual(['sever']));
  test('drops no second one before the first', () => {
    expect(refused({ ...usual, lab: { ...lab, dropsNext: true } })).toEqual(['drop_next']);
  });
  test('loses nothing more on a bus that is stopped', () => {
    expect(refused({ ...usual, lab: { ...lab, isBusStopped: true } })).toEqual([
      'drop_next',
      'drop_last_of_burst',
      'stop_bus',
    ]);
  });
  test('loses nothing of a session that is over or that is none', () => {
    const expected = ['drop_next', 'drop_last_of_burst', 'stop_bus'];
    expect(refused({ ...usual, session: 'over' })).toEqual(expected);
    expect(refused({ ...usual, session: 'absent' })).toEqual(expected);
  });
  test('does nothing while the gateway is away, but severing', () => {
    expect(refused({ ...usual, lab: undefined })).toEqual([
      'drop_next',
      'drop_last_of_burst',
      'stop_bus',
      'restart_gateway',
    ]);
  });
});

describe('an announcement', () => {
  const at = '2026-11-30T04:00:00.000Z';
  const { items } = foldEvents(
    emptyTimeline,
    [
      ['text.delta', { message: 'm1', text: 'Hel' }],
      ['tool.call', { call: 'c', tool: 'x', args: {} }],
      ['message.completed', { message: 'm1', role: 'assistant', content: 'Hello' }],
      ['approval.required', { approval: 'a', reason: 'May I?' }],
      ['text.delta', { message: 'm2', text: 'Now' }],
    ].map(([type, data], index) => ({ sequence: index + 1, at, type: type as string, data })),
  );
  test('is of a whole message, though others began after it', () => {
    expect(findAnnouncement(items.slice(0, 2), 2)).toBe('assistant: Hello');
  });
  test('is of the newest, and not of what was heard or is still being written', () => {
    expect(findAnnouncement(items, 2)).toBe('Approval asked for: May I?');
    expect(findAnnouncement(items, 4)).toBeUndefined();
  });
});

test('a call in doubt is announced: it waits for a person', () => {
  const data = { turn: 't1', attempt: 1, step: 1, kind: 'tool', tool: 'charge', effect: 'once' };
  const at = '2026-11-30T04:00:00.000Z';
  const { items } = foldEvents(emptyTimeline, [{ sequence: 1, at, type: 'step.in_doubt', data }]);
  expect(findAnnouncement(items, 0)).toBe('In doubt: charge. Nobody but a person can tell whether it happened.');
});

test('a long text is cut behind line breaks, at the same places while it grows, and joins to itself', () => {
  const line = `${'word '.repeat(200)}\n`;
  const text = line.repeat(20);
  const chunks = toChunks(text);
  expect(chunks.length).toBeGreaterThan(3);
  expect(chunks.join('')).toBe(text);
  expect(chunks.every((chunk) => chunk.endsWith('\n'))).toBe(true);
  const grown = toChunks(text + line.repeat(5));
  expect(grown.slice(0, chunks.length - 1)).toEqual(chunks.slice(0, -1));
  expect(toChunks('short\ntext')).toEqual(['short\ntext']);
});

test('numbers are written for people', () => {
  expect([0, 999, 1_234, 2_500_000].map(formatBytes)).toEqual(['0 B', '999 B', '1.2 kB', '2.5 MB']);
  expect([0.4, 14.6, 999.4, 1_240, -3].map(formatMilliseconds)).toEqual(['0 ms', '15 ms', '999 ms', '1.2 s', '-3 ms']);
  expect([formatRange(42, 42), formatRange(1_204, 1_310)]).toEqual(['42', '1,204–1,310']);
  expect([plural(1, 'match', 'matches'), plural(0, 'match', 'matches'), plural(2, 'reader')]).toEqual([
    '1 match',
    '0 matches',
    '2 readers',
  ]);
  expect([jsonBytes({ text: 'é' }), jsonBytes(undefined)]).toEqual([13, 0]);
});

test('times are written for people, whatever the clocks say', () => {
  const at = '2026-11-30T04:00:00.000Z';
  const ages = [-5_000, 59_000, 60_000, 3_599_000, 2 * 3_600_000, 50 * 3_600_000].map((ms) =>
    formatAge(at, Date.parse(at) + ms),
  );
  expect(ages).toEqual(['now', 'now', '1 min ago', '59 min ago', '2 h ago', '2 d ago']);
  expect(formatAge('no time', 0)).toBe('');
  expect([-1, 8_900, 200_000, 7_500_000].map(formatElapsed)).toEqual(['0 s', '8 s', '3 min 20 s', '2 h 5 min']);
});
