/** What an agent does step by step, at whichever attempt: one answer from the model, one effect of each call, or somebody who says why not. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { limits } from '../../src/base/limits.ts';
import { LedgerlineError } from '../../src/base/errors.ts';
import type { EffectClass, Intent, JournaledStep } from '../../src/step/step.ts';
import type { ModelCall } from '../../src/turn/steps.ts';
import type { CallOutcome, ModelStep } from '../../src/worker/agent-steps.ts';
import type { AgentTurn } from '../../src/worker/agent-turn.ts';
import { ToolError, TurnAborted, defineAgent } from '../../src/worker/define-agent.ts';
import type { AgentDefinition } from '../../src/worker/define-agent.ts';
import type { Tools } from '../../src/worker/tool.ts';
import { away, gate, workerWorld } from '../support/worker-world.ts';
import type { WorkerWorld } from '../support/worker-world.ts';

let unhandled: unknown[];
const onUnhandled = (thrown: unknown): void => void unhandled.push(thrown);
beforeEach(() => {
  unhandled = [];
  process.on('unhandledRejection', onUnhandled);
});
afterEach(() => {
  process.off('unhandledRejection', onUnhandled);
  if (unhandled.length > 0) throw new Error('a rejection was left unhandled', { cause: unhandled[0] });
});

type Run = (turn: AgentTurn, world: WorkerWorld) => ReturnType<AgentDefinition['run']>;

/** A worker at the newest attempt, the second unless said otherwise, of the turn of s1. */
async function atWork<const Taken extends Readonly<Record<string, z.ZodType>>>(
  tools: Tools<Taken>,
  run: Run,
  seed: (world: WorkerWorld) => void = () => undefined,
  attempt = 2,
): Promise<WorkerWorld> {
  const world: WorkerWorld = workerWorld({ tools, run: (turn) => run(turn, world), concurrency: 4 });
  seed(world);
  await world.worker.start();
  world.claimable('s1', { attempt });
  await world.clock.settle();
  return world;
}

const cents = z.strictObject({ cents: z.int().min(1) });
const refund: ModelCall = { call: 'c1', tool: 'refund', args: { cents: 4_000 } };
const KEY = 'v1:turn-of-s1:1';
const intentOf = (effect: EffectClass, { tool, args }: ModelCall = refund): Intent => ({ tool, effect, args });

/** The answer at index 0 is in the journal, and asks for these calls. */
function answered(world: WorkerWorld, calls: readonly ModelCall[] = [refund]): void {
  const result = JSON.stringify({ result: 'said', calls });
  world.steps.seed(0, { kind: 'model', result, reserved: calls.length });
}

const never = () => Promise.reject(new Error('the model was asked again'));
const ask = (turn: AgentTurn): Promise<ModelStep> => turn.model('a prompt', never);
const whyOf = (thrown: unknown): string => (thrown instanceof TurnAborted ? thrown.why : String(thrown));

/** An agent that runs its one call, and what it gets of it. */
function refunding(outcomes: (CallOutcome | string)[]): Run {
  return async (turn) => {
    const answer = await ask(turn);
    outcomes.push(...(await turn.calls(answer).catch((thrown: unknown) => [whyOf(thrown)])));
  };
}

/** A tool of each class that writes down what it is asked for. */
function toolOf(effect: EffectClass, asked: string[], result: () => unknown = () => ({ refund: 're_1' })): Tools {
  const run = async (_args: unknown, { key }: { key: string }) => {
    asked.push(`run ${key}`);
    return await result();
  };
  if (effect !== 'lookup') return { refund: { effect, args: cents, run } };
  const find = (_args: unknown, { key }: { key: string }) => {
    asked.push(`find ${key}`);
    return Promise.resolve(undefined);
  };
  return { refund: { effect, args: cents, run, find } };
}

describe('a model', () => {
  test('is asked once for each answer: what the journal has is returned as it was, whatever the prompt says now', async () => {
    const got: unknown[] = [];
    let asked = 0;
    const run: Run = async (turn) => {
      for (const prompt of ['first', 'second']) {
        got.push(
          await turn.model({ prompt, at: got.length }, () => {
            asked += 1;
            return Promise.resolve({ result: { text: `to ${prompt}` }, calls: [refund] });
          }),
        );
      }
    };
    const kept: unknown[] = [];
    const noting = ({ steps }: WorkerWorld): void => {
      steps.before = (what, index) => Promise.resolve(what === 'model' ? void kept.push(index) : undefined);
    };
    const world = await atWork({}, run, noting, 1);
    world.claimable('s1', { attempt: 2 });
    await world.clock.settle();
    expect([asked, kept]).toEqual([2, [0, 2]]);
    const first = { index: 0, result: { text: 'to first' }, calls: [refund] };
    const second = { index: 2, result: { text: 'to second' }, calls: [refund] };
    expect(got).toEqual([
      { ...first, isFromJournal: false },
      { ...second, isFromJournal: false },
      { ...first, isFromJournal: true },
      { ...second, isFromJournal: true },
    ]);
    expect(world.endings.map(({ kind }) => kind)).toEqual(['finished', 'finished']);
  });

  test('that has answered is not asked again because the answer of the journal was lost', async () => {
    let asked = 0;
    let lost = 0;
    const run: Run = async (turn) => {
      await turn.model('x', () => Promise.resolve({ result: (asked += 1) }));
    };
    const world = await atWork({}, run, ({ steps }) => {
      steps.after = (what) => (what === 'model' && (lost += 1) === 1 ? Promise.reject(away()) : Promise.resolve());
    });
    await world.clock.advance(1_000);
    expect([asked, lost, world.steps.rows.size]).toEqual([1, 2, 1]);
    expect(world.endings).toMatchObject([{ kind: 'finished' }]);
  });

  test('has its answer journaled behind what came into the turn meanwhile', async () => {
    let answer: ModelStep | undefined;
    const run: Run = async (turn, { steps }) => {
      answer = await turn.model('x', async () => {
        steps.seed(0, { kind: 'input' });
        return { result: 'said' };
      });
      steps.seed(2, { kind: 'input' });
      await turn.steering();
      answer = await turn.model('y', () => Promise.resolve({ result: 'more' }));
    };
    const tried: unknown[] = [];
    const noting = ({ steps }: WorkerWorld): void => {
      steps.before = (what, index) => Promise.resolve(what === 'model' ? void tried.push(index) : undefined);
    };
    const world = await atWork({}, run, noting, 1);
    expect(answer).toMatchObject({ index: 3, result: 'more' });
    // It looks before it keeps an answer where it asked for steering itself.
    expect(tried).toEqual([0, 1, 3]);
    expect([...world.steps.rows.values()].map(({ kind }) => kind)).toEqual(['input', 'model', 'input', 'model']);
  });

  test('is one at a time, and what it says must be JSON', async () => {
    const faults: unknown[] = [];
    const run: Run = async (turn) => {
      const first = turn.model('x', () => Promise.resolve({ result: 1n }));
      faults.push(await turn.model('y', never).catch((thrown: unknown) => thrown));
      faults.push(await first.catch((thrown: unknown) => thrown));
    };
    const world = await atWork({}, run);
    expect(faults).toMatchObject([{ code: 'malformed' }, { code: 'malformed' }]);
    expect(world.steps.rows.size).toBe(0);
  });

  test('is asked when all calls have come back, and not before', async () => {
    const [held, faults] = [gate(), [] as unknown[]];
    const run: Run = async (turn) => {
      const answer = await ask(turn);
      const called = turn.calls(answer);
      faults.push(await turn.model('y', never).catch((thrown: unknown) => thrown));
      held.open();
      await called;
      await turn.model('y', () => Promise.resolve({ result: 'and more' }));
    };
    const asked: string[] = [];
    const world = await atWork(
      toolOf('once', asked, () => held.opened),
      run,
      (one) => answered(one),
    );
    expect(faults).toMatchObject([{ code: 'malformed', message: expect.stringContaining('await them') as unknown }]);
    expect(asked).toHaveLength(1);
    expect(world.endings).toMatchObject([{ kind: 'finished' }]);
    expect([...world.steps.rows.values()].map(({ state }) => state)).toEqual(['done', 'done', 'done']);
  });

  test('whose answer finds a call that an attempt before has left open fails the turn for good', async () => {
    const run: Run = async (turn) => {
      await ask(turn);
      await turn.model('y', () => Promise.resolve({ result: 'and more' })); // it has left out the call
    };
    const world = await atWork(toolOf('keyed', []), run, (one) => {
      answered(one);
      one.steps.seed(1, { state: 'started' }, intentOf('keyed'));
    });
    expect(world.endings).toMatchObject([{ kind: 'failed', error: { code: 'step_conflict' }, isRetryable: false }]);
  });

  test('whose turn has no room for another step fails it for good, and is not paid again', async () => {
    let asked = 0;
    const run: Run = async (turn) => {
      await turn.model('x', () => Promise.resolve({ result: (asked += 1) }));
    };
    const world = await atWork({}, run, (one) => {
      const full = new LedgerlineError('too_large', 'a turn has at most 10000 steps', { limit: 'stepsPerTurn' });
      one.steps.before = (what) => (what === 'model' ? Promise.reject(full) : Promise.resolve());
    });
    expect(world.endings).toMatchObject([{ kind: 'failed', error: { code: 'too_large' }, isRetryable: false }]);
    expect(asked).toBe(1);
  });

  test('whose answer was under way when the attempt lost its turn is not kept', async () => {
    let fate = '';
    const run: Run = async (turn, { taken }) => {
      const fated = turn.model('x', async () => {
        taken.add('s1');
        return { result: 'too late' };
      });
      fate = await fated.then(String, whyOf);
    };
    const world = await atWork({}, run);
    expect(fate).toBe('lost');
    expect([world.steps.rows.size, world.endings]).toEqual([0, []]);
  });
});

describe('a call', () => {
  const none = undefined;
  const started = { state: 'started' } as const;
  const expired = { ...started, isKeyExpired: true };
  const done = { state: 'done', result: '{"refund":"before"}' } as const;
  const failed = { state: 'failed', error: { code: 'declined', message: 'No.' } } as const;
  const doubtful = { state: 'in_doubt' } as const;

  const first = { refund: 're_1' };
  const before = { refund: 'before' };
  const runs = [`run ${KEY}`];
  const finds = [`find ${KEY}`, `run ${KEY}`];

  test.each<[EffectClass, Partial<JournaledStep> | undefined, readonly string[], unknown]>([
    ...(['read', 'idempotent', 'transactional', 'keyed', 'lookup', 'once'] as const).flatMap(
      (effect): [EffectClass, Partial<JournaledStep> | undefined, readonly string[], unknown][] => [
        [effect, none, runs, first],
        [effect, done, [], before],
        [effect, failed, [], failed.error],
      ],
    ),
    ['read', started, runs, first],
    ['idempotent', started, runs, first],
    ['keyed', started, runs, first],
    ['keyed', expired, [], 'in_doubt'],
    ['lookup', started, finds, first],
    ['once', started, [], 'in_doubt'],
    ['once', doubtful, [], 'in_doubt'],
  ])('of a tool that is %s, of which the journal has %j, does %j', async (effect, row, expected, outcome) => {
    const asked: string[] = [];
    const outcomes: (CallOutcome | string)[] = [];
    const world = await atWork(toolOf(effect, asked), refunding(outcomes), (one) => {
      answered(one);
      if (row !== undefined) one.steps.seed(1, row, intentOf(effect));
    });
    expect(asked).toEqual(expected);
    const [got] = outcomes;
    expect(
      typeof got === 'object' && got.state === 'done' ? got.result : typeof got === 'object' ? got.error : got,
    ).toEqual(outcome);
    // A step in doubt has ended the turn in the journal's own transaction.
    expect(world.endings).toMatchObject(outcome === 'in_doubt' ? [] : [{ kind: 'finished' }]);
  });

  test('whose tool finds what it did is settled by that, and not made again', async () => {
    const outcomes: (CallOutcome | string)[] = [];
    const world = await atWork(
      {
        refund: {
          effect: 'lookup',
          args: cents,
          find: (_args, { key }) => Promise.resolve({ result: `found by ${key}` }),
          run: () => Promise.reject(new Error('run again')),
        },
      },
      refunding(outcomes),
      (one) => {
        answered(one);
        one.steps.seed(1, started, intentOf('lookup'));
      },
    );
    expect(outcomes).toMatchObject([{ state: 'done', result: `found by ${KEY}` }]);
    expect(world.steps.rows.get(1)).toMatchObject({ state: 'done', result: `"found by ${KEY}"` });
  });

  test.each([true, 0, -1, 40.5, '40', 2 ** 53, null])(
    'of an amount of %j is refused before anything is written, in words for the model',
    async (amount) => {
      const asked: string[] = [];
      const outcomes: (CallOutcome | string)[] = [];
      const world = await atWork(toolOf('transactional', asked), refunding(outcomes), (one) =>
        answered(one, [{ ...refund, args: { cents: amount } }]),
      );
      expect(asked).toEqual([]);
      expect(outcomes).toMatchObject([
        {
          state: 'failed',
          error: { code: 'invalid_arguments', message: expect.stringContaining('cents: ') as string },
        },
      ]);
      expect([...world.steps.rows.keys()]).toEqual([0]);
    },
  );

  test.each(['reimburse', 'toString', '__proto__'])('of a tool %s that nobody declared is refused', async (name) => {
    const outcomes: (CallOutcome | string)[] = [];
    const world = await atWork(toolOf('once', []), refunding(outcomes), (one) =>
      answered(one, [{ ...refund, tool: name }]),
    );
    expect(outcomes).toMatchObject([{ state: 'failed', error: { code: 'unknown_tool' } }]);
    expect([...world.steps.rows.keys()]).toEqual([0]);
  });

  test.each<EffectClass>(['read', 'keyed', 'transactional'])(
    'of a %s tool that says that it failed is failed for the model, at this attempt and the next',
    async (effect) => {
      const asked: string[] = [];
      const outcomes: (CallOutcome | string)[] = [];
      const refuse = () => Promise.reject(new ToolError('declined', 'The card was declined.'));
      const world = await atWork(toolOf(effect, asked, refuse), refunding(outcomes), answered);
      world.claimable('s1', { attempt: 3 });
      await world.clock.settle();
      const outcome = { call: refund, state: 'failed', error: { code: 'declined', message: 'The card was declined.' } };
      expect(outcomes).toEqual([outcome, outcome]);
      expect(asked).toEqual(runs);
      expect(world.endings.map(({ kind }) => kind)).toEqual(['finished', 'finished']);
    },
  );

  test.each<EffectClass>(['read', 'idempotent', 'keyed', 'lookup', 'once', 'transactional'])(
    'of a %s tool that throws anything else ends the attempt, and no model hears of it',
    async (effect) => {
      const heard: unknown[] = [];
      const run: Run = async (turn) => {
        const answer = await ask(turn);
        const outcome = await turn.call(answer, refund).catch(whyOf);
        heard.push(outcome, await turn.model('It failed: what now?', never).catch(whyOf));
      };
      const world = await atWork(
        toolOf(effect, [], () => Promise.reject(new Error('ETIMEDOUT'))),
        run,
        answered,
      );
      expect(heard).toEqual(['unsettled', 'unsettled']);
      expect(world.endings).toMatchObject([{ kind: 'failed', error: { code: 'agent_failed' }, isRetryable: true }]);
      expect(world.lines()).toContain('ETIMEDOUT');
      expect(world.steps.rows.get(1)?.state).toBe(effect === 'transactional' ? undefined : 'started');
    },
  );

  const giant = () => Promise.resolve('x'.repeat(limits.stepBytes));
  test.each<EffectClass>(['keyed', 'lookup', 'once', 'idempotent'])(
    'of a %s tool whose result is too large to be kept was made: it ends the turn, open, and is not made again',
    async (effect) => {
      const asked: string[] = [];
      const world = await atWork(toolOf(effect, asked, giant), refunding([]), answered);
      expect(asked).toEqual(runs);
      expect(world.endings).toMatchObject([{ kind: 'failed', error: { code: 'too_large' }, isRetryable: false }]);
      expect(world.steps.rows.get(1)?.state).toBe('started');
    },
  );

  test.each<EffectClass>(['read', 'transactional'])(
    'of a %s tool whose result is too large to be kept has changed nothing: the model hears that it failed',
    async (effect) => {
      const outcomes: Parameters<typeof refunding>[0] = [];
      const world = await atWork(toolOf(effect, [], giant), refunding(outcomes), answered);
      expect(outcomes).toMatchObject([{ state: 'failed', error: { code: 'too_large' } }]);
      expect(world.steps.rows.get(1)?.state).toBe('failed');
    },
  );

  test('whose provider calls its failure final is settled by another attempt all the same', async () => {
    const final = () => Promise.reject(Object.assign(new Error('409: in progress'), { isRetryable: false }));
    const world = await atWork(toolOf('keyed', [], final), refunding([]), answered);
    expect(world.endings).toMatchObject([{ kind: 'failed', isRetryable: true }]);
  });

  test.each<[string, () => Promise<never>]>([
    ['rejects', () => Promise.reject(new ToolError('busy', 'Ask later.'))],
    [
      'throws',
      () => {
        throw new ToolError('busy', 'Ask later.');
      },
    ],
  ])('of a tool that cannot ask what it did, and %s, is not failed [stripe-ruby#431]', async (_, find) => {
    const tools: Tools = { refund: { effect: 'lookup', args: cents, find, run: find } };
    const world = await atWork(tools, refunding([]), (one) => {
      answered(one);
      one.steps.seed(1, started, intentOf('lookup'));
    });
    expect(world.endings).toMatchObject([{ kind: 'failed', isRetryable: true }]);
    expect(world.steps.rows.get(1)?.state).toBe('started');
  });

  test.each<[EffectClass, readonly string[]]>([
    ['once', runs],
    ['lookup', finds],
  ])('of a %s tool whose start was answered too late is made once', async (effect, expected) => {
    const asked: string[] = [];
    let starts = 0;
    const world = await atWork(toolOf(effect, asked), refunding([]), (one) => {
      answered(one);
      one.steps.after = (what) =>
        what === 'start' && (starts += 1) === 1 ? Promise.reject(away()) : Promise.resolve();
    });
    await world.clock.advance(1_000);
    expect([starts, asked]).toEqual([2, expected]);
    expect(world.endings).toMatchObject([{ kind: 'finished' }]);
  });

  describe.each<[string, Tools]>([
    ['a tool that the release no longer has', {}],
    ['arguments that its tool no longer takes', { refund: { args: z.strictObject({ euros: z.int() }), run: never } }],
  ])('of %s', (_, tools) => {
    test('is in the journal all the same, with what came of it', async () => {
      const outcomes: (CallOutcome | string)[] = [];
      const error = { code: 'declined', message: 'No.' };
      await atWork(tools, refunding(outcomes), (one) => {
        answered(one, [refund, { ...refund, call: 'c2' }, { ...refund, call: 'c3' }]);
        one.steps.seed(1, { state: 'done', result: '{"refund":"re_1"}' }, intentOf('once'));
        one.steps.seed(2, { state: 'failed', error }, intentOf('once'));
      });
      expect(outcomes).toMatchObject([
        { state: 'done', result: { refund: 're_1' } },
        { state: 'failed', error },
        { state: 'failed', error: { code: expect.stringMatching(/^(?:unknown_tool|invalid_arguments)$/) as string } },
      ]);
    });

    test('has not failed while it is open what it did: no model hears so', async () => {
      const outcomes: (CallOutcome | string)[] = [];
      const world = await atWork(tools, refunding(outcomes), (one) => {
        answered(one);
        one.steps.seed(1, started, intentOf('once'));
      });
      expect(outcomes).toEqual(['unsettled']);
      expect(world.endings).toMatchObject([{ kind: 'failed', isRetryable: true }]);
      expect(world.steps.rows.get(1)?.state).toBe('started');
    });
  });

  test('that the journal knows with another intent fails the turn for good, where everybody sees it [temporalio/sdk-rust#443]', async () => {
    const asked: string[] = [];
    const world = await atWork(toolOf('keyed', asked), refunding([]), (one) => {
      answered(one);
      one.steps.seed(1, done, intentOf('keyed', { ...refund, args: { cents: 1 } }));
    });
    expect(asked).toEqual([]);
    expect(world.endings).toMatchObject([{ kind: 'failed', error: { code: 'step_conflict' }, isRetryable: false }]);
    expect(world.steps.rows.get(1)).toMatchObject(done);
  });

  test('that takes too long in its transaction is rolled back and has failed, which the model hears', async () => {
    const outcomes: (CallOutcome | string)[] = [];
    const forever = () => new Promise<never>(() => undefined);
    const world = await atWork(toolOf('transactional', [], forever), refunding(outcomes), (one) => answered(one));
    await world.clock.advance(limits.toolMs - 1_000);
    expect(outcomes).toEqual([]);
    await world.clock.advance(1_000);
    expect(outcomes).toMatchObject([{ state: 'failed', error: { code: 'too_slow' } }]);
    expect(world.steps.rows.get(1)).toMatchObject({ state: 'failed' });
    expect(world.endings).toMatchObject([{ kind: 'finished' }]);
  });

  test('whose transaction is given up behind that is not made again', async () => {
    const [outcomes, asked] = [[] as (CallOutcome | string)[], [] as string[]];
    const tools = toolOf('transactional', asked, () => new Promise<never>(() => undefined));
    const world = await atWork(tools, refunding(outcomes), (one) => {
      answered(one);
      const { transactional } = one.steps;
      // Its statement outlasts the tool: the pool has given the connection up, and says no more than that.
      Object.assign(one.steps, {
        transactional: (...given: Parameters<typeof transactional>) =>
          transactional(...given).catch(() => Promise.reject(away())),
      });
    });
    await world.clock.advance(2 * limits.toolMs);
    expect(outcomes).toMatchObject([{ state: 'failed', error: { code: 'too_slow' } }]);
    expect(asked).toHaveLength(1);
  });

  test('has its deliveries committed with it, and none when it is rolled back', async () => {
    let isFirst = true;
    const tools: Tools = {
      refund: {
        effect: 'transactional',
        args: cents,
        run: (args, { deliver }) => {
          deliver('refund.issued', args);
          if (!isFirst) return Promise.resolve(undefined);
          isFirst = false;
          return Promise.reject(away());
        },
      },
    };
    const outcomes: (CallOutcome | string)[] = [];
    const world = await atWork(tools, refunding(outcomes), answered);
    await world.clock.advance(1_000);
    expect(world.steps.deliveries).toEqual([{ topic: 'refund.issued', payload: { cents: 4_000 } }]);
    expect(outcomes).toEqual([{ call: refund, state: 'done', result: null }]);
  });

  test('is an answer’s own, by itself or by a name that is its alone', async () => {
    const asked: string[] = [];
    const faults: unknown[] = [];
    const twins = [refund, { ...refund }];
    const run: Run = async (turn) => {
      const answer = await ask(turn);
      for (const one of [{ ...refund, call: 'c2' }, { ...refund }]) {
        faults.push(await turn.call(answer, one).catch((thrown: unknown) => thrown));
      }
      const [one, other] = answer.calls as [ModelCall, ModelCall];
      await Promise.all([turn.call(answer, one), turn.call(answer, one), turn.call(answer, other)]);
    };
    const world = await atWork(toolOf('once', asked), run, (one) => answered(one, twins));
    expect(faults).toMatchObject([{ code: 'malformed' }, { code: 'malformed' }]);
    // The same arguments twice are two effects; the same call twice is one.
    expect(asked).toEqual([KEY, 'v1:turn-of-s1:2'].map((key) => `run ${key}`));
    expect(world.endings).toMatchObject([{ kind: 'finished' }]);
  });
});

describe('calls side by side', () => {
  const names = ['a', 'b', 'c'] as const;
  const calls = names.map((name) => ({ ...refund, call: name, args: { cents: name.charCodeAt(0) } }));

  test('are each settled before one of unknown outcome ends the attempt', async () => {
    const slow = gate();
    const run = async ({ cents: which }: { cents: number }) => {
      if (which === 97) throw new Error('timeout');
      await slow.opened;
      return which;
    };
    const world = await atWork({ refund: { args: cents, run } }, refunding([]), (one) => answered(one, calls));
    expect(world.endings).toEqual([]);
    slow.open();
    await world.clock.settle();
    expect([1, 2, 3].map((index) => world.steps.rows.get(index)?.state)).toEqual(['started', 'done', 'done']);
    expect(world.endings).toMatchObject([{ kind: 'failed' }]);
  });

  test('are each settled before one in doubt ends the attempt', async () => {
    const slow = gate();
    const outcomes: (CallOutcome | string)[] = [];
    const run = ({ cents: which }: { cents: number }) => slow.opened.then(() => which);
    const world = await atWork({ refund: { args: cents, run } }, refunding(outcomes), (one) => {
      answered(one, calls);
      one.steps.seed(1, { state: 'started' }, intentOf('once', calls[0]));
    });
    expect(outcomes).toEqual([]);
    slow.open();
    await world.clock.settle();
    expect([1, 2, 3].map((index) => world.steps.rows.get(index)?.state)).toEqual(['in_doubt', 'done', 'done']);
    expect([outcomes, world.endings]).toEqual([['in_doubt'], []]);
  });

  test('that nobody waits for are settled before the turn is completed, or a question is asked', async () => {
    const slow = gate();
    const run: Run = async (turn) => {
      const answer = await ask(turn);
      void turn.calls(answer);
      if (turn.attempt === 2) await turn.approve('sure', {});
    };
    const tools: Tools = { refund: { args: cents, run: () => slow.opened } };
    for (const attempt of [2, 3]) {
      const world = await atWork(tools, run, (one) => answered(one, calls), attempt);
      if (attempt === 2) {
        expect(world.endings).toEqual([]);
        slow.open();
        await world.clock.settle();
      }
      expect(world.endings).toMatchObject([{ kind: attempt === 2 ? 'waiting' : 'finished' }]);
      expect([1, 2, 3].map((index) => world.steps.rows.get(index)?.state)).toEqual(['done', 'done', 'done']);
    }
  });
});

describe('an attempt that ends', () => {
  /** A call that the test lets go, and what its signal says. */
  function held(effect: 'keyed' | 'read') {
    const go = gate();
    const signals: AbortSignal[] = [];
    const run = async (_args: unknown, { signal }: { signal: AbortSignal }) => {
      signals.push(signal);
      await go.opened;
      return 'refunded';
    };
    return { go, signals, tools: { refund: { effect, args: cents, run } } satisfies Tools };
  }

  test.each(['keyed', 'read'] as const)('by a stop lets a %s call settle, and begins no other', async (effect) => {
    const { go, signals, tools } = held(effect);
    const fates: string[] = [];
    const run: Run = async (turn) => {
      const answer = await ask(turn);
      const [one, other] = answer.calls as [ModelCall, ModelCall];
      await turn.call(answer, one);
      fates.push(await turn.call(answer, other).then(String, whyOf));
      fates.push(await turn.model('x', never).then(String, whyOf));
    };
    const world = await atWork(tools, run, (one) => answered(one, [refund, { ...refund, call: 'c2' }]));
    world.stops.set('s1', 'stop');
    world.hint({ kind: 'stop', session: 's1', turn: 'turn-of-s1' });
    await world.clock.settle();
    // What has no effect need not be waited for.
    expect(signals.map(({ aborted }) => aborted)).toEqual([effect === 'read']);
    expect(world.endings).toEqual([]);
    go.open();
    await world.clock.settle();
    expect(fates).toEqual(['stopped', 'stopped']);
    expect(world.steps.rows.get(1)).toMatchObject({ state: 'done', result: '"refunded"' });
    expect(world.steps.rows.size).toBe(2);
    expect(world.endings).toMatchObject([{ kind: 'finished', outcome: 'cancelled' }]);
  });

  test('by a stop is cancelled also when its call then throws', async () => {
    const broken = gate();
    const run = () => broken.opened.then(() => Promise.reject(new Error('aborted')));
    const world = await atWork({ refund: { effect: 'read', args: cents, run } }, refunding([]), answered);
    world.stops.set('s1', 'stop');
    world.hint({ kind: 'stop', session: 's1', turn: 'turn-of-s1' });
    await world.clock.settle();
    broken.open();
    await world.clock.settle();
    expect(world.endings).toMatchObject([{ kind: 'finished', outcome: 'cancelled' }]);
  });

  test('before it hears that it may begin a call does not make it', async () => {
    const asked: string[] = [];
    const outcomes: (CallOutcome | string)[] = [];
    const world = await atWork(toolOf('once', asked), refunding(outcomes), (one) => {
      answered(one);
      one.steps.after = async (what) => {
        if (what !== 'start') return;
        one.taken.add('s1');
        one.hint({ kind: 'stop', session: 's1', turn: 'turn-of-s1' });
        await one.clock.settle();
      };
    });
    await world.clock.settle();
    expect([asked, outcomes]).toEqual([[], ['lost']]);
  });

  test('by the loss of its turn still tells what came of its call', async () => {
    const { go, tools } = held('keyed');
    const outcomes: (CallOutcome | string)[] = [];
    const world = await atWork(tools, refunding(outcomes), answered);
    world.taken.add('s1');
    await world.clock.advance(10_000);
    let isAway = true;
    world.steps.before = () => (isAway ? Promise.reject(away()) : Promise.resolve());
    go.open();
    await world.clock.settle();
    expect(world.steps.rows.get(1)?.state).toBe('started');
    isAway = false;
    await world.clock.advance(5_000);
    expect(world.steps.rows.get(1)).toMatchObject({ state: 'done', result: '"refunded"' });
    expect(world.endings).toEqual([]);
  });

  test('because its worker goes away is given back when its call is settled', async () => {
    const { go, signals, tools } = held('keyed');
    const world = await atWork(tools, refunding([]), answered);
    const stopped = world.worker.stop();
    await world.clock.advance(10_000);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect(world.endings).toEqual([]);
    go.open();
    await world.clock.settle();
    await stopped;
    expect(world.steps.rows.get(1)?.state).toBe('done');
    expect(world.endings).toMatchObject([{ kind: 'released' }]);
  });

  test('because its worker goes away is given back all the same when its call does not end', async () => {
    const { go, tools } = held('keyed');
    const world = await atWork(tools, refunding([]), answered);
    const stopped = world.worker.stop();
    await world.clock.advance(10_000);
    await world.clock.advance(2_000);
    await stopped;
    expect(world.endings).toMatchObject([{ kind: 'released' }]);
    // What it then has to tell, it tries to tell once: the process must end.
    let tries = 0;
    world.steps.before = () => Promise.reject(((tries += 1), away()));
    go.open();
    await world.clock.settle();
    await world.clock.advance(5_000);
    expect(tries).toBe(1);
  });

  test('does nothing more', async () => {
    const fates: string[] = [];
    const asked: string[] = [];
    const run: Run = async (turn, { taken }) => {
      const answer = await ask(turn);
      taken.add('s1');
      await turn.flush();
      fates.push(await turn.call(answer, refund).then(String, whyOf));
      fates.push(await turn.model('x', never).then(String, whyOf));
    };
    const world = await atWork(toolOf('once', asked), run, answered);
    expect(fates).toEqual(['lost', 'lost']);
    expect([asked, [...world.steps.rows.keys()], world.endings]).toEqual([[], [0], []]);
  });
});

describe('a tool', () => {
  const run = () => Promise.resolve();
  test.each<[object, string]>([
    [{ effect: 'maybe', args: cents, run }, 'tools.refund.effect: is one of read, '],
    [{ effect: 'read', run }, 'tools.refund.args: is a zod schema'],
    [{ args: cents }, 'tools.refund.run: is a function'],
    [{ effect: 'lookup', args: cents, run }, 'tools.refund.find: goes with the effect lookup'],
    [{ effect: 'keyed', args: cents, run, find: run }, 'tools.refund.find: goes with the effect lookup'],
    [{ effect: 'once', args: cents, run, keySeconds: 60 }, 'tools.refund.keySeconds: goes with the effect keyed'],
    [{ effect: 'keyed', args: cents, run, keySeconds: 0 }, 'tools.refund.keySeconds'],
    [{ args: cents, run, retries: 3 }, 'tools.refund'],
  ])('declared as %j is refused, and what is wrong is named', (declared, message) => {
    const define = () => defineAgent({ name: 'test', run, tools: { refund: declared as Tools[string] } });
    expect(define).toThrow(LedgerlineError);
    expect(define).toThrow(message);
  });

  test('has a name that the journal takes', () => {
    expect(() => defineAgent({ name: 'test', run, tools: { 'two words': { args: cents, run } } })).toThrow('tools');
  });
});
