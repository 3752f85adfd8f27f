/** The demo's agent talks, asks before it refunds, hears what is thrown in, goes on by its journal, and tells a model what it should know. */
import { describe, expect, test } from 'vitest';
import { toSequence } from '../../src/event/sequence.ts';
import type { Round } from '../../src/cli/demo-agent-ask.ts';
import { conversationOf } from '../../src/cli/demo-agent-conversation.ts';
import { readModelConfig } from '../../src/cli/demo-agent-config.ts';
import { asksForRefund, planFor } from '../../src/cli/demo-agent-plan.ts';
import { demoAgent } from '../../src/cli/demo-agent.ts';
import type { Decision } from '../../src/turn/turns.ts';
import type { AgentInput, HistoryEvent } from '../../src/worker/agent-turn.ts';
import { anyTransaction } from '../support/fake-steps.ts';
import { input, workerWorld } from '../support/worker-world.ts';
import type { WorkerWorld } from '../support/worker-world.ts';

const atOnce = (_delayMs: number, signal: AbortSignal): Promise<void> => {
  signal.throwIfAborted();
  return Promise.resolve();
};

type Claim = Parameters<WorkerWorld['claimable']>[1];

async function answered(content: string, more: Claim = {}, steering: WorkerWorld['steering'] = []) {
  const { run, tools } = demoAgent(undefined, atOnce);
  const world = workerWorld({ run, tools });
  world.steps.tx = anyTransaction;
  world.steering.push(...steering);
  await world.worker.start();
  world.claimable('s1', { inputs: [input(7, content)], ...more });
  await world.clock.settle();
  return world;
}

/** The next attempt of the same turn, on the same journal; what it tells alone. */
async function again(world: WorkerWorld, more: Claim): Promise<WorkerWorld> {
  world.told.length = 0;
  world.endings.length = 0;
  world.claimable('s1', more);
  await world.clock.settle();
  return world;
}

const decided = (decision: Decision['decision']): Decision[] => [
  { approval: 'turn-of-s1:2', decision, by: 'maya', comment: undefined, sequence: toSequence(9) },
];

const spoken = ({ told }: WorkerWorld): string =>
  told
    .filter(({ type }) => type === 'text.delta')
    .map(({ data }) => (data as { text: string }).text)
    .join('');

const typesOf = ({ told }: WorkerWorld): string[] =>
  told.filter(({ type }) => !type.endsWith('.delta')).map(({ type }) => type);

const dataOf = ({ told }: WorkerWorld, type: string) =>
  told.filter((event) => event.type === type).map(({ data }) => data as Record<string, unknown>);

describe('the script', () => {
  test('answers any message with words that quote it, and ends with the whole of them', async () => {
    const world = await answered('  hello\nthere ');
    expect(spoken(world)).toContain('“hello there”');
    expect(spoken(world)).toBe(planFor('hello there').text);
    expect(world.endings).toMatchObject([{ kind: 'finished', outcome: 'completed', events: ['message.completed'] }]);
  });

  test('says why, looks the order up, and asks before it refunds', async () => {
    const world = await answered('please refund order 7731');
    expect(typesOf(world)).toEqual(['message.completed', 'tool.call', 'tool.result']);
    expect(dataOf(world, 'tool.call')).toMatchObject([{ tool: 'lookup_order', args: { order: '7731' }, step: 1 }]);
    expect(dataOf(world, 'tool.result')).toMatchObject([{ result: { depositCents: 40 }, step: 1 }]);
    const reason = 'The agent wants to refund €0.40 of order 7731.';
    expect(world.endings).toMatchObject([
      {
        kind: 'waiting',
        questions: [
          { approval: 'turn-of-s1:2', data: { tool: 'issue_refund', args: { order: '7731', cents: 40 }, reason } },
        ],
      },
    ]);
  });

  test.each([
    ['approved', ['tool.call', 'tool.result'], 'Done: €0.40 of order 7731'],
    ['denied', [], 'maya did not approve it'],
  ] as const)('does what was %s and no more, and tells nothing of it twice', async (decision, types, words) => {
    const world = await again(await answered('please refund order 7731'), {
      inputs: [input(7, 'please refund order 7731')],
      decisions: decided(decision),
      attempt: 2,
    });
    expect(typesOf(world)).toEqual(types);
    expect(dataOf(world, 'tool.call').map(({ step }) => step)).toEqual(decision === 'approved' ? [2] : []);
    expect(spoken(world)).toContain(words);
    expect(world.endings).toMatchObject([{ kind: 'finished', outcome: 'completed' }]);
  });

  test('tells again by its journal what an attempt said that was lost', async () => {
    const inputs = [input(7, 'please refund order 7731')];
    const world = await answered('please refund order 7731');
    const first = dataOf(world, 'message.completed').map(({ content }) => content);
    await again(world, { inputs, attempt: 2, tryNumber: 2 });
    expect(dataOf(world, 'message.completed').map(({ content }) => content)).toEqual(first);
    expect(dataOf(world, 'tool.call')).toMatchObject([{ step: 1 }]);
    expect(spoken(world)).toBe('');
    expect(world.endings).toMatchObject([{ kind: 'waiting', questions: [{ approval: 'turn-of-s1:2' }] }]);
  });

  test('asks nobody about an order that is not there, and refunds nothing', async () => {
    const world = await answered('refund order 12345');
    expect(dataOf(world, 'tool.call')).toMatchObject([{ tool: 'lookup_order' }]);
    expect(spoken(world)).toContain('There is no order 12345. So I refund nothing.');
    expect(world.endings).toMatchObject([{ kind: 'finished', outcome: 'completed' }]);
  });

  test('hears between two sentences what steers it, and goes on with that', async () => {
    const world = await answered('hello', {}, [{ sequence: 8, content: 'refund order 7732' }]);
    expect(dataOf(world, 'message.completed')[0]).toMatchObject({ content: 'You wrote: “hello”.' });
    // 0 is the answer that was cut short, 1 the next, 2 and 3 are its calls; in the real journal the message takes one, too
    expect(world.endings).toMatchObject([
      { kind: 'waiting', questions: [{ data: { args: { order: '7732', cents: 15 } } }] },
    ]);
  });

  test('answers at a later attempt what steered it, and not again what it had answered before', async () => {
    const inputs = [input(7, 'please refund order 7731'), input(10, 'hello')];
    const world = await answered('please refund order 7731');
    world.steering.push({ sequence: 10, content: 'hello' });
    await again(world, { inputs: inputs.slice(0, 1), decisions: decided('approved'), attempt: 2 });
    expect(spoken(world)).toContain('“hello”');
    world.steps.rows.delete(4); // its process died while it answered that
    await again(world, { inputs, decisions: decided('approved'), attempt: 3, tryNumber: 2 });
    expect(dataOf(world, 'tool.call')).toMatchObject([{ tool: 'issue_refund', step: 2 }]);
    expect(spoken(world)).toContain('“hello”');
    expect(world.endings).toMatchObject([{ kind: 'finished', outcome: 'completed' }]);
  });

  test.each([
    ['Refund me', true],
    ['I feel refunded', true],
    ['cancel it', false],
    ['Where is my border collie?', false],
    ['Where is order 7731?', false],
    ['hello', false],
  ])('takes %j for a wish for money: %s', (text, isAct) => {
    expect([asksForRefund(text), planFor(text).calls.length > 0]).toEqual([isAct, isAct]);
  });

  test('is honest about what it has no tool for', () => {
    expect(planFor('delete order 7731')).toMatchObject({
      calls: [],
      text: expect.stringContaining('That I cannot do'),
    });
  });
});

describe('the settings of a model', () => {
  test('need both an address and a key, so that a key alone costs nothing', () => {
    expect(readModelConfig({ OPENAI_API_KEY: 'k' })).toBeUndefined();
    expect(readModelConfig({ OPENAI_BASE_URL: 'http://127.0.0.1:1/v1' })).toBeUndefined();
    expect(
      readModelConfig({ OPENAI_API_KEY: 'k', OPENAI_BASE_URL: 'http://127.0.0.1:1/v1/', OPENAI_MODEL: 'm' }),
    ).toEqual({
      baseUrl: 'http://127.0.0.1:1/v1',
      key: 'k',
      model: 'm',
    });
    expect(() => readModelConfig({ OPENAI_BASE_URL: 'nowhere' })).toThrow('OPENAI_BASE_URL is not an address');
  });
});

describe('a conversation', () => {
  const messageOf = (sequence: number, content: string): HistoryEvent =>
    event(sequence, 'message.created', { role: 'user', content });
  function event(sequence: number, type: string, data: object, turn?: string, attempt?: number): HistoryEvent {
    const of = turn === undefined || attempt === undefined ? {} : { turn, attempt };
    return { sequence, type, at: '2026-11-30T04:00:00.000Z', ...of, data: { ...of, ...data } };
  }
  const said = (sequence: number, content: string, turn: string, attempt: number) =>
    event(sequence, 'message.completed', { message: 'm', role: 'assistant', content }, turn, attempt);
  const asked = (sequence: number, content: string): AgentInput => ({
    sequence,
    at: '',
    key: 'k',
    content,
    by: 'maya',
  });

  test('is what was said before, then the questions, whenever they came', () => {
    const events = [
      messageOf(1, 'one'),
      messageOf(2, 'two'),
      said(3, 'first', 't1', 1),
      messageOf(4, 'of a later turn'),
    ];
    expect(conversationOf(events, { turn: 't2', inputs: [asked(2, 'two')], rounds: [] })).toEqual([
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'first' },
      { role: 'user', content: 'two' },
    ]);
  });

  test('leaves out what an attempt wrote that was tried again', () => {
    const events = [
      messageOf(1, 'one'),
      said(2, 'abandoned', 't1', 1),
      event(3, 'turn.retrying', { reason: 'lost' }, 't1', 1),
      said(4, 'kept', 't1', 2),
      messageOf(5, 'two'),
      said(6, 'abandoned, too', 't2', 3),
      event(7, 'turn.retrying', { reason: 'failed' }, 't2', 3),
    ];
    const messages = conversationOf(events, { turn: 't2', inputs: [asked(5, 'two')], rounds: [] });
    expect(messages.map(({ content }) => content)).toEqual(['one', 'kept', 'two']);
  });

  test('goes on behind what the turn has answered: by its journal, each message before the answer that knew of it', () => {
    const call = { call: 'c1', tool: 'issue_refund', args: { cents: 40 } };
    const other = { ...call, call: 'c2' };
    const rounds: Round[] = [
      {
        said: { text: 'I ask', heard: 1, isCut: false },
        outcomes: [
          { call, state: 'done', result: { ok: true } },
          { call: other, state: 'failed', error: { code: 'denied', message: 'no' } },
        ],
      },
    ];
    const inputs = [asked(1, 'refund both'), asked(8, 'and hurry')];
    const own = said(2, 'as an event it counts no more', 't1', 1);
    const messages = conversationOf([messageOf(1, 'refund both'), own], { turn: 't1', inputs, rounds });
    expect(messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'assistant',
      'tool',
      'assistant',
      'tool',
      'user',
    ]);
    expect(messages[5]).toMatchObject({
      content: [{ toolCallId: 'c2', output: { value: { error: { code: 'denied', message: 'no' } } } }],
    });
  });
});
