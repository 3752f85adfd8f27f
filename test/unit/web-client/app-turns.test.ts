/** What the page says of an agent and of a turn, and what it offers to do about them. */
import { describe, expect, test } from 'vitest';
import { toAgentWords, toSpokenAgent } from '../../../web-client/app/agent/agent-words.ts';
import { endingOf, findDoubt, findQuestion, lastTurnOf } from '../../../web-client/app/agent/last-turn.ts';
import type { ListedTurn } from '../../../web-client/app/attention/turn-list.ts';
import { actionsFor, toTryWords, toTurnWords } from '../../../web-client/app/attention/turn-words.ts';
import { toContentText } from '../../../web-client/app/composer/content-text.ts';
import { emptyTimeline, foldEvents } from '../../../web-client/src/timeline.ts';
import type { TurnNow } from '../../../web-client/src/turn-now.ts';

const since = '2026-11-30T04:00:00.000Z';
const after = (ms: number): number => Date.parse(since) + ms;
const error = { code: 'model', message: 'overloaded' };

describe('the agent', () => {
  const words = (turn: TurnNow, ms = 0): unknown => toAgentWords(turn, after(ms));

  test('is queued, and after a while says that nobody has come', () => {
    expect(words({ state: 'queued', since }, 1_000)).toEqual({ tone: 'busy', label: 'Queued', time: '1 s' });
    expect(words({ state: 'queued', since }, 6_000)).toMatchObject({ detail: 'No agent has taken it yet.' });
  });

  test('works for a time, and says which try it is beyond the first', () => {
    expect(words({ state: 'running', try: 1, since }, 61_000)).toEqual({
      tone: 'busy',
      label: 'Working',
      time: '1 min 1 s',
    });
    expect(words({ state: 'running', try: 2, since })).toMatchObject({ detail: 'Try 2.' });
  });

  test('counts down to its next try in whole seconds, and says why', () => {
    const retryAt = new Date(after(3_500)).toISOString();
    expect(words({ state: 'retrying', since, retryAt, error })).toEqual({
      tone: 'waiting',
      label: 'Tries again',
      time: 'in 4 s',
      detail: 'model: overloaded',
    });
    expect(words({ state: 'retrying', since, retryAt }, 9_000)).toMatchObject({ time: 'now' });
  });

  test('waits, stops, is idle, has failed, was cancelled', () => {
    expect(words({ state: 'waiting', since })).toMatchObject({ tone: 'waiting', label: 'Waits for a decision' });
    expect(words({ state: 'stopping', since })).toMatchObject({ label: 'Stopping' });
    expect(words({ state: 'idle', since })).toEqual({ tone: 'quiet', label: 'Idle' });
    expect(words({ state: 'idle', since, error })).toEqual({
      tone: 'failed',
      label: 'Failed',
      detail: 'model: overloaded',
    });
    expect(toAgentWords({ state: 'idle', since }, after(0), 'cancelled').label).toBe('Cancelled');
  });

  test('has left a doubt, until somebody resolves it, and then waits to be asked to go on', () => {
    const turn: TurnNow = { state: 'idle', since, error: { code: 'in_doubt', message: 'A person must tell.' } };
    expect(toAgentWords(turn, after(0), 'in_doubt')).toEqual({
      tone: 'waiting',
      label: 'In doubt',
      detail: 'A person must tell.',
    });
    expect(toAgentWords(turn, after(0), 'resolved')).toMatchObject({ tone: 'quiet', label: 'Resolved' });
    expect(toAgentWords({ state: 'queued', since }, after(0), 'in_doubt').label).toBe('Queued');
  });

  test('is spoken of without a time', () => {
    expect(toSpokenAgent({ state: 'running', since, try: 1 })).toBe('The agent: Working');
    expect(toSpokenAgent({ state: 'idle', since, error }, 'failed')).toBe('The agent: Failed. model: overloaded');
  });

  test('shows no time where nobody knows since when', () => {
    expect(words({ state: 'running' }, 9_000)).toEqual({ tone: 'busy', label: 'Working' });
  });
});

describe('the last turn', () => {
  const fold = (...lines: readonly (readonly [type: string, data: object])[]) =>
    foldEvents(
      emptyTimeline,
      lines.map(([type, data], index) => ({ sequence: index + 1, at: since, type, data })),
    ).items;
  const asked = fold(
    ['turn.started', { turn: 't1', attempt: 1 }],
    ['approval.required', { approval: 'a1', turn: 't1' }],
    ['turn.cancelled', { turn: 't1', attempt: 1 }],
    ['turn.started', { turn: 't2', attempt: 2 }],
    ['approval.required', { approval: 'a2', turn: 't2' }],
    ['approval.required', { approval: 'a3', turn: 't2' }],
    ['approval.decided', { approval: 'a2', turn: 't2', decision: 'approved' }],
  );

  test('is the newest, whatever became of the ones before', () => expect(lastTurnOf(asked)?.turn).toBe('t2'));
  test('has its open question, and not one of a turn before', () => expect(findQuestion(asked)).toBe(6));

  const inDoubt = (turn: string) => {
    const step = { turn, attempt: 1, step: 1, kind: 'tool', tool: 'charge', effect: 'once' };
    return [
      ['turn.started', { turn, attempt: 1 }],
      ['step.in_doubt', step],
      ['turn.in_doubt', { turn, attempt: 1, inputs: [1], step: 1 }],
    ] as const;
  };
  const resolved = ['step.resolved', { turn: 't2', step: 1, tool: 'charge', by: 'maya', outcome: 'done' }] as const;

  test('is in doubt until its steps are resolved; what an older one left is not its own', () => {
    expect(endingOf(fold(...inDoubt('t1'), ...inDoubt('t2')))).toBe('in_doubt');
    const items = fold(...inDoubt('t1'), ...inDoubt('t2'), resolved);
    expect([endingOf(items), findDoubt(items)]).toEqual(['resolved', undefined]);
    expect(findDoubt(fold(...inDoubt('t1')))?.first).toBe(2);
  });

  test('ended as it did', () => {
    const ended = (type: string) => endingOf(fold(['turn.started', { turn: 't', attempt: 1 }], [type, { turn: 't' }]));
    expect(['turn.failed', 'turn.cancelled', 'turn.completed', 'note'].map(ended)).toEqual([
      'failed',
      'cancelled',
      'other',
      'other',
    ]);
    expect(endingOf([])).toBe('other');
  });
});

describe('a listed turn', () => {
  const listed = (more: Partial<ListedTurn>): ListedTurn => ({
    session: 's1',
    turn: 't1',
    status: 'failed',
    state: 'idle',
    worker: null,
    tries: 3,
    maxAttempts: 3,
    since,
    error,
    doubts: [],
    ...more,
  });
  const all = { send: true, write: true };

  test('is told apart from a retry that waits', () => {
    expect(toTurnWords(listed({ status: 'open', state: 'running' })).label).toBe('Running');
    expect(toTurnWords(listed({ status: 'open', state: 'ready' })).label).toBe('To be tried again');
  });

  test('says how often it was tried', () => {
    expect(toTryWords(listed({}))).toBe('3 of 3 tries');
    expect(toTryWords(listed({ tries: 1, maxAttempts: null }))).toBe('try 1');
    expect(toTryWords(listed({ tries: 0 }))).toBeUndefined();
  });

  test('offers what can be done about it, and to nobody what is not theirs to do', () => {
    expect(actionsFor(listed({}), all)).toEqual(['retry', 'rerun', 'acknowledge']);
    expect(actionsFor(listed({ status: 'in_doubt' }), all)).toEqual(['retry', 'rerun', 'acknowledge']);
    expect(actionsFor(listed({ status: 'waiting' }), all)).toEqual(['stop']);
    expect(actionsFor(listed({ status: 'queued', turn: null }), all)).toEqual(['stop']);
    expect(actionsFor(listed({}), { send: true, write: false })).toEqual([]);
    expect(actionsFor(listed({ status: 'open' }), { send: false, write: true })).toEqual([]);
    expect(actionsFor(listed({ status: 'done' }), all)).toEqual([]);
  });
});

test('what is in doubt is resolved before it is done again', () => {
  const doubts = [{ step: 2, tool: 'charge', effect: 'once' }];
  const listed = { status: 'in_doubt', state: 'idle', doubts } as unknown as ListedTurn;
  expect(actionsFor(listed, { send: true, write: true })).toEqual(['acknowledge']);
  expect(actionsFor(listed, { send: true, write: false })).toEqual([]);
});

test('the text of a message on its way is its text, or that of its parts', () => {
  expect(toContentText('Hello')).toBe('Hello');
  expect(toContentText([{ type: 'text', text: 'One' }, { type: 'file' }, { type: 'text', text: 'Two' }])).toBe(
    'One\nTwo',
  );
});
