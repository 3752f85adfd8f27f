/** The demo's agent plays its part of the story: at a pace, asking before it acts, broken off once, for the visitor alone. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { COLLEAGUE, VISITOR, exchangeOf, messageKey, storyApproval } from '../../src/cli/demo-cast.ts';
import { demoAgent } from '../../src/cli/demo-agent.ts';
import { demoScript } from '../../src/cli/demo-script.ts';
import { eventTypeShape } from '../../src/event/event.ts';
import { toSequence } from '../../src/event/sequence.ts';
import type { ClaimedTurn, Decision, Input } from '../../src/turn/turns.ts';
import { anyTransaction } from '../support/fake-steps.ts';
import { input, workerWorld } from '../support/worker-world.ts';
import type { WorkerWorld } from '../support/worker-world.ts';

const TURN = 'turn-of-demo';

/** What one attempt told, and how it ended. */
interface Played extends Pick<WorkerWorld, 'told' | 'endings'> {
  /** All its pauses together. */
  readonly tookMs: number;
}

/** A message of the story as the visitor sends it, or somebody who found out its key. */
function storyInput(position: number, by = VISITOR): Input {
  const content = demoScript[position - 1]?.question;
  const data = JSON.stringify({ key: messageKey('one', position), role: 'user', content, by });
  return { ...input(position, ''), data };
}

interface Stage {
  /** Messages that somebody throws in. */
  readonly steering?: WorkerWorld['steering'];
  readonly model?: Parameters<typeof demoAgent>[0];
}

/** The attempts of one turn, on one journal. */
async function playedBy(attempts: readonly Partial<ClaimedTurn>[], { steering = [], model }: Stage = {}) {
  let tookMs = 0;
  const { run, tools } = demoAgent(model, (delayMs, signal) => {
    signal.throwIfAborted();
    tookMs += delayMs;
    return Promise.resolve();
  });
  const world = workerWorld({ run, tools });
  world.steps.tx = anyTransaction;
  world.steering.push(...steering);
  await world.worker.start();
  const results: Played[] = [];
  for (const attempt of attempts) {
    const before = tookMs;
    world.claimable('demo', attempt);
    await world.clock.settle();
    results.push({ told: world.told.splice(0), endings: world.endings.splice(0), tookMs: tookMs - before });
  }
  return results;
}

const played = async (attempt: Partial<ClaimedTurn>, stage?: Stage): Promise<Played> =>
  (await playedBy([attempt], stage))[0]!;

const decided = (decision: 'approved' | 'denied'): Decision[] => [
  { approval: storyApproval(TURN), decision, by: COLLEAGUE, comment: undefined, sequence: toSequence(9) },
];

/** The story as it goes when everything is approved: the question, the rest of its turn, the one that breaks off, its next try. */
const parts: readonly Partial<ClaimedTurn>[] = [
  { inputs: [storyInput(1)] },
  { inputs: [storyInput(1)], attempt: 2, decisions: decided('approved') },
  { inputs: [storyInput(2)], attempt: 3 },
  { inputs: [storyInput(2)], attempt: 4, tryNumber: 2 },
];
const wholeStory = async (): Promise<Played[]> => [
  ...(await playedBy(parts.slice(0, 2))),
  ...(await playedBy(parts.slice(2))),
];

/** Messages by id, as their deltas tell them. */
function spoken({ told }: Played): ReadonlyMap<string, string> {
  const deltaShape = z.object({ message: z.string(), text: z.string() });
  const texts = new Map<string, string>();
  for (const { type, data } of told) {
    if (type !== 'text.delta') continue;
    const { message, text } = deltaShape.parse(data);
    texts.set(message, (texts.get(message) ?? '') + text);
  }
  return texts;
}

const dataOf = ({ told }: Played, type: string) =>
  told.filter((event) => event.type === type).map(({ data }) => data as Record<string, unknown>);
const toolsOf = (world: Played) => dataOf(world, 'tool.call').map(({ tool }) => tool);

describe('the story', () => {
  test('takes about a minute and a half, a model’s pace, when its question is answered at once', async () => {
    const seconds = (await wholeStory()).reduce((sum, part) => sum + part.tookMs, 0) / 1_000;
    expect(seconds).toBeGreaterThan(60);
    expect(seconds).toBeLessThan(100);
  });

  test('thinks, uses tools, asks, and goes on in the same turn with what was approved', async () => {
    const [asking, acting] = await wholeStory();
    expect(toolsOf(asking!)).toEqual(['lookup_order', 'check_stock', 'search_policy']);
    expect(asking!.endings).toMatchObject([
      {
        kind: 'waiting',
        questions: [
          { approval: storyApproval(TURN), data: { tool: 'issue_refund', args: { order: '7731', cents: 40 } } },
        ],
      },
    ]);
    expect(toolsOf(acting!)).toEqual(['issue_refund', 'book_courier']);
    expect(dataOf(acting!, 'reasoning.delta')).toEqual([]);
    expect([...spoken(acting!).values()].join('')).toContain('is refunded to the card');
    expect(acting!.endings).toMatchObject([{ kind: 'finished', outcome: 'completed', events: ['message.completed'] }]);
  });

  test('refunds nothing that was denied, and sends the tank all the same', async () => {
    const world = (await playedBy([parts[0]!, { ...parts[1], decisions: decided('denied') }]))[1]!;
    expect(toolsOf(world)).toEqual(['book_courier']);
    const text = [...spoken(world).values()].join('');
    expect(text).toContain('is on its way');
    expect(text).not.toContain('refunded');
    expect(world.endings).toMatchObject([{ kind: 'finished', outcome: 'completed' }]);
  });

  test('fails once in the middle of an answer, and is told anew by the next try, whose way there is shorter', async () => {
    const [, , broken, again] = await wholeStory();
    expect(broken!.endings).toMatchObject([{ kind: 'failed', isRetryable: true, error: { code: 'model_cut' } }]);
    expect(again!.endings).toMatchObject([{ kind: 'finished', outcome: 'completed', events: ['message.completed'] }]);
    const [fragment] = [...spoken(broken!).values()];
    const [answer] = [...spoken(again!).values()];
    expect(answer).toMatch(new RegExp(`^${fragment} .+$`));
    expect(toolsOf(again!)).toEqual(toolsOf(broken!));
    const thought = (world: Played) =>
      dataOf(world, 'reasoning.delta')
        .map(({ text }) => text)
        .join('');
    expect(thought(again!)).toEqual(thought(broken!));
  });

  test('completes each message with the text of its deltas, and each tool with a result', async () => {
    for (const world of await wholeStory()) {
      const texts = spoken(world);
      for (const { message, content } of dataOf(world, 'message.completed'))
        expect(content).toBe(texts.get(String(message)));
      const calls = dataOf(world, 'tool.call').map(({ call }) => call);
      expect(dataOf(world, 'tool.result').map(({ call }) => call)).toEqual(calls);
      expect(new Set(calls).size).toBe(calls.length);
      for (const { type } of world.told) expect(eventTypeShape.parse(type)).toBe(type);
    }
  });

  test('is over as soon as somebody steers it, between two steps or two sentences', async () => {
    const early = await played(parts[0]!, { steering: [{ sequence: 8, content: 'hello' }] });
    expect(toolsOf(early)).toEqual([]);
    expect([...spoken(early).values()].join('')).toContain('You wrote: “hello”.');
    expect(early.endings).toMatchObject([{ kind: 'finished', outcome: 'completed' }]);
  });

  test('does not go on where somebody steered it, whichever attempt it is', async () => {
    const world = await played({ ...parts[0], attempt: 2, inputs: [storyInput(1), input(8, 'hello')] });
    expect(toolsOf(world)).toEqual([]);
    expect([...spoken(world).values()].join('')).toContain('You wrote: “hello”.');
  });

  test('asks no model', async () => {
    const nowhere = { baseUrl: 'http://127.0.0.1:9/v1', key: 'k', model: 'm' };
    const world = await played(parts[3]!, { model: nowhere });
    expect(world.endings).toMatchObject([{ kind: 'finished', outcome: 'completed' }]);
    expect([...spoken(world).values()].join('')).toContain('Enjoy Saturday');
  });

  test('is played for the visitor alone: whoever else sends its words is answered like anybody', async () => {
    const world = await played({ inputs: [storyInput(2, 'maya')] });
    expect([...spoken(world).values()].join('')).toContain('You wrote: “That was quick');
  });
});

test.each([
  [messageKey('one', 1), 0],
  [messageKey('0a9f', 2), 1],
  [messageKey('one', demoScript.length + 1), undefined],
  ['demo-one-0', undefined],
  ['demo-one-two-1', undefined],
  ['another', undefined],
])('the visitor’s message %s is part %s of the story', (key, index) => {
  expect(exchangeOf({ key, by: VISITOR })).toBe(index === undefined ? undefined : demoScript[index]);
  expect(exchangeOf({ key, by: 'maya' })).toBeUndefined();
});
