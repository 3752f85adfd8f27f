/** What a screen shows of each event that everyone knows, and of those that nobody does. */
import { describe, expect, test } from 'vitest';
import { emptyTimeline, foldEvents } from '../../../web-client/src/timeline.ts';
import type { Timeline, TimelineItem } from '../../../web-client/src/timeline.ts';
import { numbered } from '../../support/told-session.ts';
import type { Draft } from '../../support/told-session.ts';

type Line = readonly [type: string, data: unknown, envelope?: { readonly turn?: string; readonly attempt?: number }];

const drafts = (lines: readonly Line[]): Draft[] =>
  lines.map(([type, data, envelope]) => ({ type, data, ...envelope }));
const fold = (...lines: readonly Line[]): Timeline => foldEvents(emptyTimeline, numbered(drafts(lines)));
const show = (...lines: readonly Line[]): readonly TimelineItem[] => fold(...lines).items;
/** Without what every item has. */
const brief = (items: readonly TimelineItem[]): object[] =>
  items.map(
    ({ key: _key, first: _first, last: _last, at: _at, turn: _turn, attempt: _attempt, isAbandoned, ...rest }) => ({
      ...rest,
      ...(isAbandoned ? { isAbandoned } : {}),
    }),
  );
const texts = (items: readonly TimelineItem[]): string[] =>
  items.flatMap((item) => ('text' in item ? [item.text] : []));

const say = (message: string, text: string): Line => ['text.delta', { message, text }];
const think = (message: string, text: string): Line => ['reasoning.delta', { message, text }];
const turnTo = (state: string, turn: string, attempt: number, more: object = {}): Line => [
  `turn.${state}`,
  { turn, attempt, ...more },
];
const chunk = (type: string, more: object = {}): Line => ['ui.chunk', { type, ...more }];

describe('messages', () => {
  test('that people send are complete, and tell the key they were sent with', () => {
    expect(show(['message.created', { key: 'k1', role: 'user', content: 'Hello' }])).toEqual([
      {
        kind: 'message',
        key: '1',
        first: 1,
        last: 1,
        at: '2026-11-30T04:00:00.001Z',
        role: 'user',
        text: 'Hello',
        isComplete: true,
        request: 'k1',
        isAbandoned: false,
      },
    ]);
  });

  test.each([
    [
      'a list of parts',
      [
        { type: 'text', text: 'Look: ' },
        { type: 'image', url: 'x' },
        { type: 'text', text: 'a cat' },
      ],
      'Look: a cat',
    ],
    ['nothing', null, ''],
    ['parts without text', [{ type: 'image', url: 'x' }], ''],
  ])('may hold %s', (_what, content, text) => {
    expect(brief(show(['message.created', { key: 'k', role: 'user', content }]))).toMatchObject([
      { role: 'user', text },
    ]);
  });

  test('are joined from their deltas, until they are complete', () => {
    const lines = [say('m1', 'Hel'), say('m1', 'lo')];
    expect(show(...lines)).toMatchObject([{ role: 'assistant', text: 'Hello', isComplete: false, first: 1, last: 2 }]);
    const completed: Line = ['message.completed', { message: 'm1', role: 'assistant', content: 'Hello!' }];
    expect(show(...lines, completed)).toMatchObject([{ text: 'Hello!', isComplete: true, first: 1, last: 3 }]);
  });

  test('are the content they are completed with, whatever comes late', () => {
    const completed: Line = ['message.completed', { message: 'm1', content: [{ type: 'text', text: 'Whole' }] }];
    const items = show(say('m1', 'Wh'), completed, say('m1', 'ole'));
    expect(items).toMatchObject([{ text: 'Whole', isComplete: true, last: 2 }]);
    const twice: Line = ['message.completed', { message: 'm1', content: 'Mended' }];
    expect(texts(show(completed, twice))).toEqual(['Mended']);
  });

  test('keep what was joined if they are completed without content', () => {
    expect(brief(show(say('m1', 'Hel'), say('m1', 'lo'), ['message.completed', { message: 'm1' }]))).toEqual([
      { kind: 'message', role: 'assistant', text: 'Hello', isComplete: true },
    ]);
  });

  test('that come whole, without deltas, are shown', () => {
    expect(brief(show(['message.completed', { message: 'm1', role: 'critic', content: 'No.' }]))).toEqual([
      { kind: 'message', role: 'critic', text: 'No.', isComplete: true },
    ]);
  });

  test('join the halves of a surrogate pair', () => {
    const [high = '', low = ''] = '🦊'.split('');
    expect(texts(show(say('m1', `a${high}`), say('m1', `${low}b`)))).toEqual(['a🦊b']);
  });

  test('and thoughts of one id are two items', () => {
    expect(brief(show(think('m1', 'Hm'), say('m1', 'Yes'), think('m1', '…'), say('m1', '!')))).toEqual([
      { kind: 'reasoning', text: 'Hm…', isComplete: true },
      { kind: 'message', role: 'assistant', text: 'Yes!', isComplete: false },
    ]);
  });

  test('with the id of one in an earlier turn are others', () => {
    const lines = [
      turnTo('started', 't1', 1),
      say('m', 'one'),
      turnTo('completed', 't1', 1),
      turnTo('started', 't2', 1),
      say('m', 'two'),
    ];
    expect(texts(show(...lines))).toEqual(['one', 'two']);
  });
});

describe('thoughts', () => {
  test('are complete when their turn goes on to something else', () => {
    const complete = (...lines: readonly Line[]): boolean[] =>
      show(...lines).flatMap((item) => (item.kind === 'reasoning' ? [item.isComplete] : []));
    expect(complete(think('r1', 'a'), think('r1', 'b'))).toEqual([false]);
    expect(complete(think('r1', 'a'), think('r2', 'b'))).toEqual([true, false]);
    expect(complete(think('r1', 'a'), ['tool.call', { call: 'c', tool: 't', args: {} }])).toEqual([true]);
    expect(complete(think('r1', 'a'), ['note', 'progress'])).toEqual([false]);
    expect(complete(turnTo('started', 't1', 1), think('r1', 'a'), turnTo('completed', 't1', 1))).toEqual([true]);
  });
});

describe('tools', () => {
  const call: Line = ['tool.call', { call: 'c1', step: 2, tool: 'search', args: { q: 'x' } }];
  const facts = { kind: 'tool', call: 'c1', step: 2, tool: 'search', args: { q: 'x' } };

  test('run, and are done or failed', () => {
    expect(brief(show(call))).toEqual([{ ...facts, state: 'running' }]);
    expect(brief(show(call, ['tool.result', { call: 'c1', result: null }]))).toEqual([
      { ...facts, state: 'done', result: null },
    ]);
    expect(brief(show(call, ['tool.result', { call: 'c1', error: 'no' }]))).toEqual([
      { ...facts, state: 'failed', error: 'no' },
    ]);
  });

  test('whose call lies before what is there are items of their own', () => {
    expect(brief(show(['tool.result', { call: 'c9', result: 1 }]))).toEqual([
      { kind: 'tool', call: 'c9', state: 'done', result: 1 },
    ]);
  });

  test('find their result in a later turn, and a call id may be used again', () => {
    const items = show(
      turnTo('started', 't1', 1),
      call,
      turnTo('completed', 't1', 1),
      turnTo('started', 't2', 1),
      ['tool.result', { call: 'c1', result: 1 }],
      call,
    );
    expect(items.filter(({ kind }) => kind === 'tool')).toMatchObject([
      { state: 'done', result: 1, turn: 't1' },
      { state: 'running', turn: 't2' },
    ]);
  });

  test('of an abandoned attempt lend the new one what is known of the call', () => {
    const items = show(turnTo('started', 't1', 1), call, turnTo('started', 't1', 2), [
      'tool.result',
      { call: 'c1', result: 1 },
    ]);
    expect(brief(items.filter(({ kind }) => kind === 'tool'))).toEqual([
      { ...facts, state: 'running', isAbandoned: true },
      { ...facts, state: 'done', result: 1 },
    ]);
  });
});

describe('steps of the journal', () => {
  const begin = turnTo('started', 't1', 1);
  const step = (state: string, index: number, more: object = {}, attempt = 1): Line => [
    `step.${state}`,
    { turn: 't1', attempt, step: index, kind: 'tool', tool: 'refund', effect: 'keyed', ...more },
    { turn: 't1', attempt },
  ];
  const called = (index?: number): Line => [
    'tool.call',
    { call: 'c1', step: index, tool: 'refund', args: { amount: 40 } },
  ];
  const refund = { kind: 'tool', step: 1, tool: 'refund', effect: 'keyed' };
  const tools = (...lines: readonly Line[]): object[] =>
    brief(show(begin, ...lines).filter(({ kind }) => kind === 'tool'));

  test('are tools that run, and are done, failed or in doubt', () => {
    expect(tools(step('started', 1))).toEqual([{ ...refund, state: 'running' }]);
    expect(tools(step('started', 1), step('done', 1, { result: 7, fromJournal: false }))).toEqual([
      { ...refund, state: 'done', result: 7 },
    ]);
    const error = { code: 'card_declined', message: 'No.' };
    expect(tools(step('started', 1), step('failed', 1, { error }))).toEqual([{ ...refund, state: 'failed', error }]);
    expect(tools(step('started', 1), step('in_doubt', 1))).toEqual([{ ...refund, state: 'in_doubt' }]);
  });

  test('of a transactional tool come as one event', () => {
    expect(tools(step('done', 1, { effect: 'transactional', result: 7 }))).toEqual([
      { ...refund, effect: 'transactional', state: 'done', result: 7 },
    ]);
  });

  test('that a person resolved say who did, and what became of it', () => {
    const resolved = (more: object): Line => [
      'step.resolved',
      { turn: 't1', step: 1, tool: 'refund', effect: 'keyed', by: 'maya', ...more },
    ];
    const before = [step('started', 1), step('in_doubt', 1), turnTo('in_doubt', 't1', 1, { inputs: [1], step: 1 })];
    expect(tools(...before, resolved({ outcome: 'done', result: 7 }))).toEqual([
      { ...refund, state: 'done', result: 7, resolvedBy: 'maya' },
    ]);
    expect(tools(...before, resolved({ outcome: 'not_done' }))).toEqual([
      { ...refund, state: 'failed', resolvedBy: 'maya' },
    ]);
  });

  test('that a model took are shown by what the agent says of them', () => {
    expect(brief(show(['step.done', { turn: 't1', attempt: 1, step: 0, kind: 'model', reserved: 1 }]))).toEqual([]);
  });

  test.each([
    ['before them', [called(1), step('started', 1), step('done', 1, { result: 7 })]],
    ['between them', [step('started', 1), called(1), step('done', 1, { result: 7 })]],
    ['behind them', [step('started', 1), step('done', 1, { result: 7 }), called(1)]],
    ['with its result', [called(1), step('done', 1, { result: 7 }), ['tool.result', { call: 'c1', result: 7 }]]],
  ] as const)('are one item with the call that the agent tells of %s', (_when, lines) => {
    expect(tools(...lines)).toEqual([{ ...refund, call: 'c1', args: { amount: 40 }, state: 'done', result: 7 }]);
  });

  test('are not mixed up with calls whose agent counts something else', () => {
    const other: Line = ['tool.call', { call: 'c2', step: 1, tool: 'refund', args: { amount: 50 } }];
    const search: Line = ['tool.call', { call: 'c3', step: 2, tool: 'search', args: {} }];
    expect(tools(called(1), other, search, step('done', 1, { result: 7 }), step('done', 2, { result: 8 }))).toEqual([
      { ...refund, call: 'c1', args: { amount: 40 }, state: 'done', result: 7 },
      { kind: 'tool', call: 'c2', step: 1, tool: 'refund', args: { amount: 50 }, state: 'running' },
      { kind: 'tool', call: 'c3', step: 2, tool: 'search', args: {}, state: 'running' },
      { ...refund, step: 2, state: 'done', result: 8 },
    ]);
  });

  test('that are told before a call of another tool, or with its result behind it, are found again', () => {
    const search: Line = ['tool.call', { call: 'c3', step: 1, tool: 'search', args: {} }];
    expect(tools(step('started', 1), search)).toMatchObject([{ tool: 'refund' }, { tool: 'search', call: 'c3' }]);
    const result: Line = ['tool.result', { call: 'c1', result: 7 }];
    expect(tools(step('started', 1), called(1), result)).toEqual([
      { ...refund, call: 'c1', args: { amount: 40 }, state: 'done', result: 7 },
    ]);
  });

  test('that end in doubt under the number of an attempt that never began leave what the last one did', () => {
    const retrying = turnTo('retrying', 't1', 1, { reason: 'failed', inMs: 0 });
    const end = turnTo('in_doubt', 't1', 2, { inputs: [1], step: 1 });
    expect(tools(step('started', 1), retrying, step('in_doubt', 1, {}, 2), end)).toEqual([
      { ...refund, state: 'in_doubt' },
    ]);
  });

  test('mean something in their turn alone', () => {
    const next: Line = ['step.done', { turn: 't2', attempt: 2, step: 1, kind: 'tool', tool: 'refund', result: 8 }];
    expect(tools(step('done', 1, { result: 7 }), turnTo('started', 't2', 2), next)).toMatchObject([
      { result: 7 },
      { result: 8 },
    ]);
  });

  test('that a later attempt meets are from the journal, and what an earlier one told of the call is known', () => {
    const again = [turnTo('started', 't1', 2), step('done', 1, { result: 7, fromJournal: true }, 2)];
    const lost = { ...refund, call: 'c1', args: { amount: 40 } };
    const result: Line = ['tool.result', { call: 'c1', result: 7 }];
    expect(tools(called(1), step('done', 1, { result: 7 }), ...again, result)).toEqual([
      { ...lost, state: 'done', result: 7, isAbandoned: true },
      { ...lost, state: 'done', result: 7, isFromJournal: true },
    ]);
  });

  test('have others told, and who meets them again knows of whom, and who resolved them', () => {
    const deliveries = [{ number: 3, topic: 'refund.issued' }];
    const again = [turnTo('started', 't1', 2), step('done', 1, { result: 7, fromJournal: true }, 2)];
    const told = { ...refund, state: 'done', result: 7, deliveries };
    expect(tools(step('done', 1, { result: 7, deliveries }), ...again)).toEqual([
      { ...told, isAbandoned: true },
      { ...told, isFromJournal: true },
    ]);
    const resolved: Line = ['step.resolved', { turn: 't1', step: 1, tool: 'refund', by: 'maya', outcome: 'done' }];
    expect(tools(step('in_doubt', 1), resolved, ...again)[1]).toMatchObject({
      isFromJournal: true,
      resolvedBy: 'maya',
    });
  });

  test('that are made again have not been resolved', () => {
    const resolved: Line = ['step.resolved', { turn: 't1', step: 1, tool: 'refund', by: 'maya', outcome: 'not_done' }];
    const again = [turnTo('started', 't1', 2), step('started', 1, {}, 2)];
    expect(tools(step('in_doubt', 1), resolved, ...again)[1]).toEqual({ ...refund, state: 'running' });
  });

  test.each([[7], [[7]], [[{ number: '3', topic: 'x' }]], [[{ number: 3 }]], [[null]]])(
    'have nobody told by %j, which is no list of deliveries',
    (deliveries) => {
      expect(tools(step('done', 1, { result: 7, deliveries }))).toEqual([{ ...refund, state: 'done', result: 7 }]);
    },
  );

  test('that stood before a wait are met again as the items that they are', () => {
    const lines = [step('done', 1, { result: 7 }), turnTo('waiting', 't1', 1), turnTo('started', 't1', 2)];
    expect(tools(...lines, step('done', 1, { result: 7, fromJournal: true }, 2))).toEqual([
      { ...refund, state: 'done', result: 7, isFromJournal: true },
    ]);
  });
});

describe('approvals', () => {
  const required: Line = ['approval.required', { approval: 'a1', call: 'c1', reason: 'It costs 40 EUR.' }];
  const decided = (decision: string, by: string): Line => ['approval.decided', { approval: 'a1', decision, by }];

  test('wait for a person, and show the call that they are about', () => {
    const call: Line = ['tool.call', { call: 'c1', tool: 'refund', args: { amount: 40 } }];
    expect(brief(show(call, required))[1]).toEqual({
      kind: 'approval',
      approval: 'a1',
      call: 'c1',
      tool: 'refund',
      args: { amount: 40 },
      reason: 'It costs 40 EUR.',
    });
  });

  test('are decided once: the first decision stands', () => {
    expect(show(required, decided('denied', 'Ada'), decided('approved', 'Bob'))).toMatchObject([
      { decision: 'denied', by: 'Ada', last: 2 },
    ]);
  });

  test('whose requirement lies before what is there are items of their own', () => {
    expect(
      brief(show(['approval.decided', { approval: 'a9', decision: 'approved', by: 'Ada', comment: 'fine' }])),
    ).toEqual([{ kind: 'approval', approval: 'a9', decision: 'approved', by: 'Ada', comment: 'fine' }]);
  });
});

describe('turns', () => {
  const at = (attempt: number, text: string): Line => ['text.delta', { message: 'm', text }, { turn: 't', attempt }];

  test.each(['completed', 'failed', 'cancelled', 'in_doubt'])(
    'that are %s complete their open texts, and theirs alone',
    (state) => {
      const items = show(
        say('before', 'x'),
        turnTo('started', 't1', 1),
        say('m1', 'a'),
        think('r1', 'b'),
        turnTo(state, 't1', 1),
      );
      expect(items.flatMap((item) => ('isComplete' in item ? [item.isComplete] : []))).toEqual([false, true, true]);
      expect(items[1]).toMatchObject({ kind: 'turn', turn: 't1', attempt: 1, state, first: 2, last: 5 });
    },
  );

  test('tell the error that they failed with', () => {
    const error = { code: 'model_unavailable', message: 'no model' };
    expect(brief(show(turnTo('failed', 't1', 1, { error })))).toMatchObject([{ state: 'failed', error }]);
    expect(brief(show(turnTo('failed', 't1', 1, { error: 'no' })))).toMatchObject([
      { state: 'failed', error: undefined },
    ]);
  });

  test('in doubt say which step a person must resolve', () => {
    const message = 'A person must tell what became of step 3.';
    expect(brief(show(turnTo('in_doubt', 't1', 1, { inputs: [1], step: 3 })))).toMatchObject([
      { state: 'in_doubt', error: { code: 'in_doubt', message } },
    ]);
  });

  test('own what comes while they are open, unless an event says itself whose it is', () => {
    const items = show(
      say('m0', 'a'),
      turnTo('started', 't1', 3),
      say('m1', 'b'),
      ['note', 1, { turn: 't7', attempt: 2 }],
      turnTo('started', 't2', 1),
      say('m2', 'c'),
      turnTo('completed', 't2', 1),
      say('m3', 'd'),
      turnTo('completed', 't1', 3),
      say('m4', 'e'),
    );
    expect(items.filter(({ kind }) => kind !== 'turn').map(({ turn, attempt }) => [turn, attempt])).toEqual([
      [undefined, undefined],
      ['t1', 3],
      ['t7', 2],
      ['t2', 1],
      ['t1', 3],
      [undefined, undefined],
    ]);
  });

  test('abandon what a lower attempt did, running tools and approvals included', () => {
    const items = show(
      ['message.created', { key: 'k', role: 'user', content: 'Q' }],
      turnTo('started', 't1', 1),
      say('m1', 'lost'),
      ['tool.call', { call: 'c1', tool: 't', args: {} }],
      ['approval.required', { approval: 'a1', reason: '' }],
      ['message.created', { key: 'k2', role: 'user', content: 'and also' }],
      turnTo('started', 't1', 2),
      say('m1', 'kept'),
    );
    expect(items.map(({ kind, isAbandoned }) => [kind, isAbandoned])).toEqual([
      ['message', false],
      ['turn', true],
      ['message', true],
      ['tool', true],
      ['approval', true],
      ['message', false],
      ['turn', false],
      ['message', false],
    ]);
    expect(texts(items)).toEqual(['Q', 'lost', 'and also', 'kept']);
  });

  test('begin a new attempt by any event that names it', () => {
    const items = show(at(1, 'lost'), ['note', 1, { turn: 't', attempt: 2 }], at(2, 'kept'));
    expect(items.map((item) => [item.kind, item.isAbandoned])).toEqual([
      ['message', true],
      ['other', false],
      ['message', false],
    ]);
  });

  test('never join what an attempt says that was abandoned before', () => {
    const items = show(at(1, 'a'), at(2, 'b'), at(1, 'x'), at(2, 'c'), at(1, 'y'));
    expect(items.map((item) => [('text' in item && item.text) || '', item.attempt, item.isAbandoned])).toEqual([
      ['a', 1, true],
      ['bc', 2, false],
      ['xy', 1, true],
    ]);
  });

  test('that waited go on as they are: what they did stands, whichever attempt goes on', () => {
    const items = show(
      turnTo('started', 't1', 1),
      say('m1', 'I ask.'),
      ['tool.call', { call: 'c1', tool: 'refund', args: {} }],
      ['approval.required', { approval: 'a1', call: 'c1', reason: '' }],
      turnTo('waiting', 't1', 1),
      ['approval.decided', { approval: 'a1', decision: 'approved', by: 'Ada' }],
      turnTo('started', 't1', 2),
      ['tool.result', { call: 'c1', result: 'paid' }],
      say('m2', 'Done.'),
    );
    expect(brief(items)).toMatchObject([
      { kind: 'turn', state: 'running' },
      { kind: 'message', text: 'I ask.', isComplete: true },
      { kind: 'tool', state: 'done' },
      { kind: 'approval', decision: 'approved' },
      { kind: 'message', text: 'Done.', isComplete: false },
    ]);
    expect(items[0]).toMatchObject({ attempt: 2, last: 7 });
    expect(items.some(({ isAbandoned }) => isAbandoned)).toBe(false);
  });

  test('that end before what is there began are shown all the same', () => {
    expect(brief(show(turnTo('completed', 't1', 4)))).toEqual([{ kind: 'turn', state: 'completed' }]);
  });

  test('that never end do not pile up', () => {
    const started = Array.from({ length: 5_000 }, (_, index) => turnTo('started', `t${index}`, 1));
    expect(show(...started, ['note', 1]).at(-1)?.turn).toBe('t4999');
    expect(
      show(...started, ...Array.from({ length: 16 }, (_, back) => turnTo('completed', `t${4999 - back}`, 1)), [
        'note',
        1,
      ]).at(-1)?.turn,
    ).toBeUndefined();
  });
});

describe('turns of the server', () => {
  const of = (type: string, turn: string, attempt: number, more: object = {}): Line => [
    type,
    { turn, attempt, ...more },
    { turn, attempt },
  ];
  const said = (turn: string, attempt: number, message: string, text: string): Line => [
    'text.delta',
    { message, text },
    { turn, attempt },
  ];

  test('may begin at any attempt, and nothing of another turn is void by it', () => {
    const items = show(
      of('turn.started', 't1', 4, { try: 1, inputs: [] }),
      said('t1', 4, 'm1', 'one'),
      of('turn.completed', 't1', 4, { inputs: [] }),
      of('turn.started', 't2', 9, { try: 2, inputs: [] }),
      said('t2', 9, 'm2', 'two'),
    );
    expect(items.map(({ isAbandoned }) => isAbandoned)).toEqual([false, false, false, false]);
    expect(items.filter(({ kind }) => kind === 'turn')).toMatchObject([
      { turn: 't1', attempt: 4, try: 1 },
      { turn: 't2', attempt: 9, try: 2 },
    ]);
  });

  test('that are tried again fold what the lost attempt left unfinished, when the next one begins, and not before', () => {
    const lines: Line[] = [
      of('turn.started', 't1', 4, { try: 1, inputs: [] }),
      said('t1', 4, 'm1', 'lost'),
      of('turn.retrying', 't1', 4, { reason: 'lost', inMs: 500 }),
    ];
    expect(show(...lines)).toMatchObject([
      { kind: 'turn', state: 'running' },
      { text: 'lost', isComplete: true, isAbandoned: false },
    ]);
    const next = of('turn.started', 't1', 5, { try: 2, inputs: [] });
    expect(show(...lines, next, said('t1', 5, 'm1', 'kept'))).toMatchObject([
      { kind: 'turn', isAbandoned: true },
      { text: 'lost', isAbandoned: true },
      { kind: 'turn', isAbandoned: false, attempt: 5, try: 2 },
      { text: 'kept', isAbandoned: false },
    ]);
  });

  test.each([4, 5])('that are stopped keep what was written, by whichever number their end has: %i', (attempt) => {
    for (const type of ['turn.cancelled', 'turn.failed', 'turn.completed']) {
      const items = show(
        of('turn.started', 't1', 4, { try: 1, inputs: [] }),
        said('t1', 4, 'm1', 'so far'),
        of('turn.stopping', 't1', attempt, { by: 'me', mode: 'stop' }),
        of(type, 't1', attempt, { inputs: [], reason: 'forced' }),
      );
      expect(items).toMatchObject([
        { kind: 'turn', state: type.slice(5) },
        { text: 'so far', isComplete: true, isAbandoned: false },
      ]);
      expect(items).toHaveLength(2);
    }
  });

  test('that nobody began are one that was cancelled, and touch none that is open', () => {
    const items = show(
      of('turn.started', 't1', 4, { try: 1, inputs: [] }),
      ['turn.cancelled', { inputs: [1], reason: 'stopped', by: 'me' }],
      ['turn.cancelled', { inputs: [2], reason: 'stopped', by: 'me' }],
    );
    expect(items).toMatchObject([
      { kind: 'turn', turn: 't1', state: 'running' },
      { kind: 'turn', turn: '', state: 'cancelled' },
      { kind: 'turn', turn: '', state: 'cancelled' },
    ]);
  });

  test('say what they do without an item of its own', () => {
    const lines: Line[] = [
      of('turn.started', 't1', 4, { inputs: [] }),
      of('turn.steered', 't1', 4, { inputs: [1] }),
      of('turn.stopping', 't1', 4, { by: 'me', mode: 'stop' }),
      ['turn.requested', { turn: 't1', by: 'me', inputs: [] }],
    ];
    expect(show(...lines).map(({ kind }) => kind)).toEqual(['turn']);
  });

  test('that are over make what they asked void, unless it was decided, or asked by the AI SDK', () => {
    const ask = (approval: string): Line => of('approval.required', 't1', 4, { approval, reason: 'why' });
    const lines: Line[] = [
      of('turn.started', 't1', 4, { inputs: [] }),
      ask('a'),
      ask('b'),
      of('turn.waiting', 't1', 4, { approvals: ['a', 'b'] }),
      ['approval.decided', { turn: 't1', approval: 'b', decision: 'approved', by: 'Ada' }],
      ['ui.chunk', { type: 'tool-approval-request', approvalId: 'c', toolCallId: 'x' }, { turn: 't1', attempt: 4 }],
    ];
    const voids = (...more: readonly Line[]): (boolean | undefined)[] =>
      show(...lines, ...more).flatMap((item) => (item.kind === 'approval' ? [item.isVoid] : []));
    expect(voids()).toEqual([undefined, undefined, undefined]);
    expect(voids(of('turn.cancelled', 't1', 4, { inputs: [] }))).toEqual([true, undefined, undefined]);
    expect(voids(of('turn.completed', 't2', 9, { inputs: [] }))).toEqual([undefined, undefined, undefined]);
  });

  test('whose decision is all that is there know whose it is', () => {
    expect(show(['approval.decided', { turn: 't1', approval: 'a', decision: 'denied', by: 'Ada' }])).toMatchObject([
      { kind: 'approval', turn: 't1', decision: 'denied' },
    ]);
  });
});

describe('chunks of the AI SDK', () => {
  test('are the same items as the events', () => {
    const items = show(
      chunk('start', { messageId: 'msg1' }),
      chunk('start-step'),
      chunk('reasoning-start', { id: 'r' }),
      chunk('reasoning-delta', { id: 'r', delta: 'Hm' }),
      chunk('reasoning-end', { id: 'r' }),
      chunk('text-start', { id: '0' }),
      chunk('text-delta', { id: '0', delta: 'Let me ' }),
      chunk('text-delta', { id: '0', delta: 'look.' }),
      chunk('text-end', { id: '0' }),
      chunk('tool-input-start', { toolCallId: 'c1', toolName: 'search' }),
      chunk('tool-input-delta', { toolCallId: 'c1', inputTextDelta: '{"q":' }),
      chunk('tool-input-available', { toolCallId: 'c1', toolName: 'search', input: { q: 'x' } }),
      chunk('tool-output-available', { toolCallId: 'c1', output: [1] }),
      chunk('finish-step'),
      chunk('start-step'),
      chunk('text-start', { id: '0' }),
      chunk('text-delta', { id: '0', delta: 'Found.' }),
      chunk('finish-step'),
      chunk('message-metadata', { messageMetadata: { tokens: 9 } }),
      chunk('finish'),
    );
    expect(brief(items)).toEqual([
      { kind: 'reasoning', text: 'Hm', isComplete: true },
      { kind: 'message', role: 'assistant', text: 'Let me look.', isComplete: true },
      { kind: 'tool', call: 'c1', tool: 'search', args: { q: 'x' }, state: 'done', result: [1] },
      { kind: 'message', role: 'assistant', text: 'Found.', isComplete: true },
    ]);
  });

  test('show the arguments of a call as they are being written', () => {
    const start = chunk('tool-input-start', { toolCallId: 'c1', toolName: 'search' });
    const delta = (inputTextDelta: string): Line => chunk('tool-input-delta', { toolCallId: 'c1', inputTextDelta });
    expect(brief(show(start, delta('{"q"'), delta(':1')))).toEqual([
      { kind: 'tool', call: 'c1', tool: 'search', args: '{"q":1', state: 'running' },
    ]);
  });

  test('show how a call failed, was denied, or what it has so far', () => {
    const call = chunk('tool-input-available', { toolCallId: 'c1', toolName: 'search', input: 1 });
    const after = (type: string, more: object): object | undefined =>
      brief(show(call, chunk(type, { toolCallId: 'c1', ...more })))[0];
    expect(after('tool-output-error', { errorText: 'no' })).toMatchObject({ state: 'failed', error: 'no' });
    expect(after('tool-output-denied', {})).toMatchObject({ state: 'failed', error: 'denied' });
    expect(after('tool-output-available', { output: 1, preliminary: true })).toMatchObject({
      state: 'running',
      result: 1,
    });
    expect(after('tool-input-error', { toolName: 'search', input: '?', errorText: 'bad' })).toMatchObject({
      state: 'failed',
      error: 'bad',
      args: '?',
    });
  });

  test('ask for approval, and are answered', () => {
    const lines = [
      chunk('tool-input-available', { toolCallId: 'c1', toolName: 'refund', input: { amount: 1 } }),
      chunk('tool-approval-request', { approvalId: 'a1', toolCallId: 'c1', reason: 'money' }),
      chunk('tool-approval-response', { approvalId: 'a1', approved: false, reason: 'too much' }),
    ];
    expect(brief(show(...lines))[1]).toEqual({
      kind: 'approval',
      approval: 'a1',
      call: 'c1',
      tool: 'refund',
      args: { amount: 1 },
      reason: 'money',
      decision: 'denied',
      comment: 'too much',
    });
  });

  test('that fail or abort end the turn around them, or one that the message is by itself', () => {
    const turn = turnTo('started', 't1', 1);
    const delta = chunk('text-delta', { id: '0', delta: 'half' });
    expect(brief(show(turn, delta, chunk('error', { errorText: 'no model' })))).toMatchObject([
      { kind: 'turn', state: 'failed', error: { code: 'error', message: 'no model' } },
      { text: 'half', isComplete: true },
    ]);
    expect(show(chunk('start', { messageId: 'msg1' }), delta, chunk('abort'))).toMatchObject([
      { text: 'half', isComplete: true },
      { kind: 'turn', turn: 'msg1', attempt: 1, state: 'cancelled' },
    ]);
  });

  test('that fail without an id and a turn are as many failures', () => {
    const failing = (start: object, error: string): Line[] => [
      chunk('start', start),
      chunk('text-delta', { id: '0', delta: 'half' }),
      chunk('text-end', { id: '0' }),
      chunk('error', { errorText: error }),
    ];
    const again: Line = ['message.created', { role: 'user', content: 'again' }];
    const items = show(...failing({}, 'one'), again, ...failing({ messageId: '' }, 'two'));
    expect(items.map((item) => (item.kind === 'turn' ? [item.turn, item.error?.message] : item.kind))).toEqual([
      'message',
      ['message-1', 'one'],
      'message',
      'message',
      ['message-6', 'two'],
    ]);
    const late = show(chunk('error', { errorText: 'one' }), again, chunk('abort'));
    expect(late.map((item) => (item.kind === 'turn' ? item.turn : item.kind))).toEqual([
      'message-1',
      'message',
      'message-3',
    ]);
  });

  test.each(['start', 'finish', 'abort', 'error', 'start-step', 'reset-step', 'text-delta', 'reasoning-delta'])(
    'of a %s that an abandoned attempt says late touch nothing of the one that runs',
    (type) => {
      const of = (attempt: number, name: string, more: object = {}): Line => [
        'ui.chunk',
        { type: name, id: '0', errorText: 'late', delta: 'x', ...more },
        { turn: 't', attempt },
      ];
      const before = [
        turnTo('started', 't', 1),
        turnTo('started', 't', 2),
        of(2, 'start', { messageId: 'm' }),
        of(2, 'start-step'),
        of(2, 'text-delta'),
        ['reasoning.delta', { message: 'r', text: 'Hm' }, { turn: 't', attempt: 2 }] as const,
      ];
      const after = [of(2, 'text-delta', { id: '1' }), of(2, 'reset-step'), of(2, 'finish')];
      const running = (items: readonly TimelineItem[]): object[] =>
        items
          .filter(({ attempt }) => attempt === 2)
          .map(({ key: _key, first: _first, last: _last, at: _at, ...rest }) => rest);
      expect(running(show(...before, of(1, type)))).toEqual(running(show(...before)));
      expect(running(show(...before, of(1, type), ...after))).toEqual(running(show(...before, ...after)));
    },
  );

  test('that reset a step take back its parts', () => {
    const text = (delta: string): Line => chunk('text-delta', { id: '0', delta });
    const items = show(
      chunk('start'),
      chunk('start-step'),
      text('a'),
      chunk('text-end', { id: '0' }),
      chunk('start-step'),
      text('wrong'),
      chunk('reset-step'),
      text('right'),
    );
    expect(items.map((item) => [('text' in item && item.text) || '', item.isAbandoned])).toEqual([
      ['a', false],
      ['wrong', true],
      ['right', false],
    ]);
  });

  test('with data replace the part of the same id in their message', () => {
    const data = (id: string | undefined, value: number): Line => chunk('data-weather', { id, data: value });
    const items = show(chunk('start'), data('w', 1), data('w', 2), data(undefined, 3), chunk('start'), data('w', 4));
    expect(items.map((item) => item.kind === 'other' && (item.data as { data: number }).data)).toEqual([2, 3, 4]);
    expect(show(chunk('data-weather', { data: 1, transient: true }))).toEqual([]);
  });

  test('that steer are what a person said', () => {
    expect(brief(show(chunk('steering-message', { id: 's', parts: [{ type: 'text', text: 'Stop' }] })))).toEqual([
      { kind: 'message', role: 'user', text: 'Stop', isComplete: true },
    ]);
  });

  test.each(['source-url', 'source-document', 'file', 'custom', 'whatever-comes-next'])(
    'of type %s are kept as they came',
    (type) => {
      expect(brief(show(chunk(type, { url: 'x' })))).toEqual([
        { kind: 'other', type: 'ui.chunk', data: { type, url: 'x' } },
      ]);
    },
  );
});

describe('what is not understood is kept as it came', () => {
  test.each([
    ['order.shipped', { parcel: 7 }],
    ['session.snapshot', { any: 1 }],
    ['constructor', {}],
    ['turn.paused', { turn: 't1' }],
    ['text.delta', 'text'],
    ['text.delta', null],
    ['text.delta', { text: 'x' }],
    ['text.delta', { message: 7, text: 'x' }],
    ['text.delta', { message: 'm' }],
    ['reasoning.delta', { message: 'm', text: 1 }],
    ['message.created', { key: 'k', content: 'x' }],
    ['message.created', { key: 'k', role: 'user', content: 7 }],
    ['message.completed', { content: 'x' }],
    ['message.completed', { message: 'm', content: { text: 'x' } }],
    ['tool.call', { tool: 'x' }],
    ['tool.call', { call: 'c' }],
    ['tool.result', { result: 1 }],
    ['step.started', { turn: 't1', tool: 'x' }],
    ['step.started', { step: 1, tool: 'x' }],
    ['step.done', { turn: 't1', step: 1, kind: 'tool' }],
    ['approval.required', { reason: 'x' }],
    ['approval.decided', { approval: 'a' }],
    ['turn.started', {}],
    ['turn.completed', [1]],
    ['ui.chunk', 'text-delta'],
    ['ui.chunk', {}],
    ['ui.chunk', { type: 7 }],
    ['ui.chunk', { type: 'text-delta', id: '0' }],
    ['ui.chunk', { type: 'text-delta', delta: 'x' }],
    ['ui.chunk', { type: 'tool-input-start', toolCallId: 'c' }],
    ['ui.chunk', { type: 'tool-output-available' }],
    ['ui.chunk', { type: 'tool-approval-request', toolCallId: 'c' }],
    ['ui.chunk', { type: 'error' }],
    ['ui.chunk', { type: 'steering-message', id: 's', parts: 7 }],
  ])('%s %j', (type, data) => {
    expect(brief(show([type, data]))).toEqual([{ kind: 'other', type, data }]);
  });

  test('and a malformed event leaves what is there alone', () => {
    const before = fold(say('m1', 'a'), turnTo('started', 't1', 1));
    const after = foldEvents(before, numbered(drafts([['text.delta', { message: 'm1' }]]), 3));
    expect(after.items.slice(0, -1)).toEqual(before.items);
    expect(after.items.slice(0, -1).every((item, place) => item === before.items[place])).toBe(true);
  });
});

test('a copy of a timeline cannot be folded on, for it has lost what it remembered', () => {
  const timeline = fold(say('m1', 'a'));
  expect(() => foldEvents({ ...timeline }, [])).toThrow('not a timeline');
  expect(foldEvents({ ...emptyTimeline }, [])).toEqual(emptyTimeline);
});
