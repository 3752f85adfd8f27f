/** The demo's agent talks, asks before it acts, hears what is thrown in, and takes from a session what a model should know. */
import { describe, expect, test } from 'vitest';
import { toSequence } from '../../src/event/sequence.ts';
import { conversationOf } from '../../src/cli/demo-agent-conversation.ts';
import { readModelConfig } from '../../src/cli/demo-agent-config.ts';
import { asksForAct, planFor } from '../../src/cli/demo-agent-plan.ts';
import { demoAgent } from '../../src/cli/demo-agent.ts';
import type { AgentInput, HistoryEvent } from '../../src/worker/agent-turn.ts';
import { input, workerWorld } from '../support/worker-world.ts';
import type { WorkerWorld } from '../support/worker-world.ts';

const atOnce = (_delayMs: number, signal: AbortSignal): Promise<void> => {
  signal.throwIfAborted();
  return Promise.resolve();
};

async function answered(
  content: string,
  more: Parameters<WorkerWorld['claimable']>[1] = {},
  steering: WorkerWorld['steering'] = [],
): Promise<WorkerWorld> {
  const { run } = demoAgent(undefined, atOnce);
  const world = workerWorld({ run });
  world.steering.push(...steering);
  await world.worker.start();
  world.claimable('s1', { inputs: [input(7, content)], ...more });
  await world.clock.settle();
  return world;
}

const spoken = ({ told }: WorkerWorld): string =>
  told
    .filter(({ type }) => type === 'text.delta')
    .map(({ data }) => (data as { text: string }).text)
    .join('');

const typesOf = ({ told }: WorkerWorld): string[] => [
  ...new Set(told.filter(({ type }) => !type.endsWith('.delta')).map(({ type }) => type)),
];

describe('the script', () => {
  test('answers any message with words that quote it, and ends with the whole of them', async () => {
    const world = await answered('  hello\nthere ');
    expect(spoken(world)).toContain('“hello there”');
    expect(spoken(world)).toBe((planFor('hello there') as { text: string }).text);
    expect(world.endings).toMatchObject([{ kind: 'finished', outcome: 'completed', events: ['message.completed'] }]);
  });

  test('looks up, says why, and asks before it acts', async () => {
    const world = await answered('please refund order 7731');
    expect(typesOf(world)).toEqual(['tool.call', 'tool.result', 'message.completed']);
    expect(world.endings).toMatchObject([
      {
        kind: 'waiting',
        questions: [
          {
            approval: 'turn-of-s1:7',
            data: { tool: 'refunds.create', args: { order: '7731' }, reason: 'The agent wants to refund order 7731.' },
          },
        ],
      },
    ]);
  });

  test.each([
    ['approved', ['tool.call', 'tool.result'], 'Done: order 7731'],
    ['denied', [], 'I leave order 7731 as it is'],
  ] as const)('does what was %s and no more, and nothing of it twice', async (decision, types, words) => {
    const decided = { approval: 'turn-of-s1:7', decision, by: 'maya', comment: undefined, sequence: toSequence(9) };
    const world = await answered('please refund order 7731', { decisions: [decided], attempt: 2 });
    expect(typesOf(world)).toEqual(types);
    expect(spoken(world)).toContain(words);
    expect(world.endings).toMatchObject([{ kind: 'finished', outcome: 'completed' }]);
  });

  test('hears between two sentences what steers it, and goes on with that', async () => {
    const world = await answered('hello', {}, [{ sequence: 8, content: 'cancel order 12345' }]);
    const completed = world.told.find(({ type }) => type === 'message.completed');
    const { content } = (completed?.data ?? {}) as { content: string };
    expect(content).toBe('You wrote: “hello”.');
    expect(world.endings).toMatchObject([
      { kind: 'waiting', questions: [{ approval: 'turn-of-s1:8', data: { tool: 'orders.cancel' } }] },
    ]);
  });

  test.each([
    ['Refund me', true],
    ['cancel it', true],
    ['Where is my border collie?', false],
    ['I feel refunded', true],
    ['Where is order 7731?', false],
    ['hello', false],
  ])('takes %j for something to be done: %s', (text, isAct) => {
    expect([asksForAct(text), planFor(text).kind]).toEqual([isAct, isAct ? 'act' : 'talk']);
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
    expect(conversationOf(events, 't2', [asked(2, 'two')]).messages).toEqual([
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
    expect(conversationOf(events, 't2', [asked(5, 'two')]).messages.map(({ content }) => content)).toEqual([
      'one',
      'kept',
      'two',
    ]);
  });

  test('goes on behind a decision: what was said stands, what was asked for is open, what was done is told', () => {
    const call = (sequence: number, id: string) =>
      event(sequence, 'tool.call', { call: id, tool: 'refund', args: { id } }, 't1', 1);
    const events = [
      messageOf(1, 'refund both'),
      said(2, 'I ask', 't1', 1),
      call(3, 'c1'),
      call(4, 'c2'),
      event(5, 'tool.result', { call: 'c1', result: { ok: true } }, 't1', 1),
      event(6, 'turn.waiting', { approvals: ['a'] }, 't1', 1),
    ];
    const { messages, open } = conversationOf(events, 't1', [asked(1, 'refund both')]);
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'assistant', 'tool']);
    expect(open).toEqual([{ call: 'c2', tool: 'refund', args: { id: 'c2' } }]);
  });
});
