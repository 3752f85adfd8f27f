/** An agent whose attempts die beside a real journal: each later one goes on where the one before ended, and nothing happens twice. */
import { onTestFinished, expect, test } from 'vitest';
import { z } from 'zod';
import { silentLog } from '../../src/base/log.ts';
import type { Service } from '../../src/base/service.ts';
import type { ModelCall } from '../../src/turn/steps.ts';
import type { CallOutcome, ModelStep } from '../../src/worker/agent-steps.ts';
import type { AgentTurn } from '../../src/worker/agent-turn.ts';
import { ToolError, TurnAborted, defineAgent } from '../../src/worker/define-agent.ts';
import type { AgentDefinition } from '../../src/worker/define-agent.ts';
import type { Tools, TransactionalCall } from '../../src/worker/tool.ts';
import { createWorker } from '../../src/worker/worker.ts';
import { turnStage } from '../support/turn-stage.ts';
import type { TurnStage } from '../support/turn-stage.ts';
import { eventually } from '../support/waits.ts';
import { gate } from '../support/worker-world.ts';

const cents = z.strictObject({ cents: z.int().min(1) });
const call = (name: string, tool: string, amount = 4_000): ModelCall => ({
  call: name,
  tool,
  args: { cents: amount },
});

/** A stage with the business's own table, and a session in which somebody has said something. */
async function spoken(): Promise<{ stage: TurnStage; session: string }> {
  const stage = await turnStage();
  await stage.sql((sql) => sql`create table refund (key text primary key, cents integer not null)`);
  const session = await stage.session();
  await stage.say(session, 'Refund me');
  return { stage, session };
}

/** A worker that never learns that it has lost a turn: to everybody else it is dead. */
async function employ<const Taken extends Readonly<Record<string, z.ZodType>>>(
  stage: TurnStage,
  tools: Tools<Taken>,
  run: AgentDefinition['run'],
): Promise<Service> {
  const { turns, sessions, bus } = stage;
  const worker = createWorker({
    agent: defineAgent({ name: 'test', concurrency: 4, tools, run }),
    turns,
    sessions,
    bus,
    log: silentLog,
    drainMs: 0,
    renewMs: 60_000,
    selfStopMs: 60_000,
  });
  await worker.start();
  onTestFinished(() => worker.stop());
  return worker;
}

const until = (stage: TurnStage, session: string, type: string, count = 1) =>
  eventually(
    `${count} of ${type}`,
    async () => (await stage.types(session)).filter((one) => one === type).length >= count,
  );

/** As if its process had been killed: the next attempt is due at once. */
async function bury(stage: TurnStage, session: string): Promise<void> {
  await stage.expire(session);
  await stage.turns.recover();
  await stage.hurry(session);
}

/** What an attempt does that is killed here: nothing more, for as long as anybody looks. */
const die = (turn: AgentTurn): Promise<never> =>
  new Promise((_, reject) => turn.signal.addEventListener('abort', () => reject(turn.signal.reason as Error)));

const whyOf = (thrown: unknown): string => (thrown instanceof TurnAborted ? thrown.why : JSON.stringify(thrown));

const refundsOf = (stage: TurnStage) =>
  stage.sql((sql) => sql<{ key: string; cents: number }[]>`select key, cents from refund order by key`);
const deliveriesOf = (stage: TurnStage) =>
  stage.sql(
    (sql) => sql<{ topic: string; n: number }[]>`
    select topic, outbox_sequence as n from ledgerline.outbox order by outbox_sequence`,
  );
const stepsOf = async (stage: TurnStage, session: string) => {
  const turn = (await stage.events(session)).find(({ type }) => type === 'turn.started')?.turn ?? '';
  const journal = await stage.turns.steps.journal(session, turn);
  return journal.map(({ index, kind, tool, state }) => `${index} ${tool ?? kind} ${state}`);
};

/** In this database, in the journal's own transaction. */
const refund = {
  effect: 'transactional',
  args: cents,
  async run({ cents: amount }, { tx, key, deliver }) {
    await tx`insert into refund (key, cents) values (${key}, ${amount})`;
    deliver('refund.issued', { cents: amount });
    return { refunded: amount };
  },
} satisfies Tools<{ refund: typeof cents }>['refund'];

/** A model that counts what it is asked. */
function model(...answers: readonly (readonly ModelCall[])[]) {
  const asked: unknown[] = [];
  const ask = (turn: AgentTurn): Promise<ModelStep> =>
    turn.model({ attempt: turn.attempt }, () => {
      const calls = answers[asked.length] ?? [];
      asked.push(calls);
      return Promise.resolve({ result: `answer ${asked.length}`, calls });
    });
  return { asked, ask };
}

test('an attempt that dies behind the model’s answer leaves it to the next, and nobody asks again', async () => {
  const { stage, session } = await spoken();
  const { asked, ask } = model([call('c1', 'refund')]);
  const answers: ModelStep[] = [];
  let isFirst = true;
  await employ(stage, { refund }, async (turn) => {
    answers.push(await ask(turn));
    if (!isFirst) return;
    isFirst = false;
    await die(turn);
  });
  await until(stage, session, 'step.done');
  await bury(stage, session);
  await until(stage, session, 'turn.completed');
  expect(asked).toHaveLength(1);
  const same = { index: 0, result: 'answer 1', calls: [call('c1', 'refund')] };
  expect(answers).toEqual([
    { ...same, isFromJournal: false },
    { ...same, isFromJournal: true },
  ]);
});

test('an attempt that dies behind an effect leaves it to the journal, with its one delivery [langgraph#6208]', async () => {
  const { stage, session } = await spoken();
  const { asked, ask } = model([call('c1', 'refund'), call('c2', 'refund')]);
  const outcomes: (readonly CallOutcome[])[] = [];
  let isFirst = true;
  await employ(stage, { refund }, async (turn) => {
    outcomes.push(await turn.calls(await ask(turn)));
    if (!isFirst) return;
    isFirst = false;
    await die(turn);
  });
  await eventually('both are refunded', () => outcomes.length === 1);
  await bury(stage, session);
  await until(stage, session, 'turn.completed');
  expect(asked).toHaveLength(1);
  expect(outcomes[1]).toEqual(outcomes[0]);
  // The same arguments twice in one answer are two effects, at two keys.
  const refunds = await refundsOf(stage);
  expect(refunds.map(({ key, cents: amount }) => [key.split(':').at(-1), amount])).toEqual([
    ['1', 4_000],
    ['2', 4_000],
  ]);
  expect(await deliveriesOf(stage)).toEqual([
    { topic: 'refund.issued', n: 1 },
    { topic: 'refund.issued', n: 2 },
  ]);
});

test('of five calls, the three that had ended come from the journal, and the other two are made once [inngest#2775]', async () => {
  const { stage, session } = await spoken();
  const calls = [1, 2, 3, 4, 5].map((amount) => call(`c${amount}`, 'charge', amount));
  const { asked, ask } = model(calls);
  const made: string[] = [];
  let outcomes: readonly CallOutcome[] = [];
  let isFirst = true;
  const charge = {
    effect: 'once',
    args: cents,
    run: ({ cents: amount }: { cents: number }, { key }: { key: string }) => {
      made.push(`${amount} ${key.split(':').at(-1)}`);
      return Promise.resolve({ amount });
    },
  } as const;
  await employ(stage, { charge }, async (turn) => {
    const answer = await ask(turn);
    if (isFirst) {
      isFirst = false;
      await Promise.all(answer.calls.slice(0, 3).map((one) => turn.call(answer, one)));
      await die(turn);
    }
    outcomes = await turn.calls(answer);
  });
  await until(stage, session, 'step.done', 4);
  await bury(stage, session);
  await until(stage, session, 'turn.completed');
  expect(asked).toHaveLength(1);
  expect(made.toSorted()).toEqual(['1 1', '2 2', '3 3', '4 4', '5 5']);
  expect(outcomes).toEqual(
    calls.map((one) => ({ call: one, state: 'done', result: { amount: (one.args as { cents: number }).cents } })),
  );
  const done = (await stage.events(session)).filter(({ type }) => type === 'step.done');
  expect(done.filter(({ data }) => (data as { fromJournal: boolean }).fromJournal)).toHaveLength(3);
});

test('an attempt that dies within a call that promises nothing leaves it in doubt, and a person settles it', async () => {
  const { stage, session } = await spoken();
  const { asked, ask } = model([call('c1', 'charge')]);
  let made = 0;
  const outcomes: CallOutcome[] = [];
  const stuck = gate();
  const run = async () => {
    made += 1;
    await stuck.opened;
  };
  await employ(stage, { charge: { args: cents, run } }, async (turn) => {
    if (turn.inputs[0]?.content !== 'Refund me') return;
    outcomes.push(...(await turn.calls(await ask(turn))));
  });
  await until(stage, session, 'step.started');
  await bury(stage, session);
  await until(stage, session, 'turn.in_doubt');
  expect(await stepsOf(stage, session)).toEqual(['0 model done', '1 charge in_doubt']);
  // The session goes on meanwhile.
  await stage.say(session, 'And now?');
  await until(stage, session, 'turn.completed');

  const [doubt] = await stage.turns.steps.doubts(10);
  const { turn = '' } = doubt ?? {};
  await stage.turns.steps.resolve(session, turn, 1, { outcome: 'done', result: 'by hand' }, 'maya', true);
  await until(stage, session, 'turn.completed', 2);
  expect([asked.length, made]).toEqual([1, 1]);
  expect(outcomes).toEqual([{ call: call('c1', 'charge'), state: 'done', result: 'by hand' }]);
  stuck.open();
});

test('a call of which a worker cannot tell is in doubt with the next attempt, and no agent copes with that', async () => {
  const { stage, session } = await spoken();
  const { asked, ask } = model([call('c1', 'charge')]);
  const heard: string[] = [];
  const run = () => Promise.reject(new Error('ETIMEDOUT'));
  await employ(stage, { charge: { args: cents, run } }, async (turn) => {
    const answer = await ask(turn);
    heard.push(...(await turn.calls(answer).catch((thrown: unknown) => [thrown])).map(whyOf));
  });
  await until(stage, session, 'turn.retrying');
  await stage.hurry(session);
  await until(stage, session, 'turn.in_doubt');
  await eventually('the second attempt has heard of it', () => heard.length === 2);
  expect(heard).toEqual(['unsettled', 'in_doubt']);
  expect(asked).toHaveLength(1);
});

test('a provider that knows the key is asked with the same one after a timeout, and the model hears of its answer alone [stripe-ruby#431]', async () => {
  const { stage, session } = await spoken();
  const { ask } = model([call('c1', 'charge')]);
  const keys: string[] = [];
  let outcomes: readonly CallOutcome[] = [];
  const charge = {
    effect: 'keyed',
    args: cents,
    run: (_args: unknown, { key }: { key: string }) => {
      keys.push(key);
      return keys.length === 1 ? Promise.reject(new Error('409: in progress')) : Promise.resolve('charged');
    },
  } as const;
  await employ(stage, { charge }, async (turn) => {
    outcomes = await turn.calls(await ask(turn));
  });
  await until(stage, session, 'turn.retrying');
  await stage.hurry(session);
  await until(stage, session, 'turn.completed');
  expect([keys.length, new Set(keys).size]).toEqual([2, 1]);
  expect(outcomes).toMatchObject([{ state: 'done', result: 'charged' }]);
});

test('a transactional tool that says that it failed is rolled back, and stays failed though it might succeed now', async () => {
  const { stage, session } = await spoken();
  const { ask } = model([call('c1', 'refund')]);
  let runs = 0;
  const outcomes: CallOutcome[] = [];
  let isFirst = true;
  const declined = {
    ...refund,
    async run(args: z.output<typeof cents>, context: TransactionalCall) {
      runs += 1;
      await refund.run(args, context);
      throw new ToolError('declined', 'Not\u0000 today.');
    },
  };
  await employ(stage, { refund: declined }, async (turn) => {
    outcomes.push(...(await turn.calls(await ask(turn))));
    if (!isFirst) return;
    isFirst = false;
    await die(turn);
  });
  await until(stage, session, 'step.failed');
  await bury(stage, session);
  await until(stage, session, 'turn.completed');
  expect(runs).toBe(1);
  expect([await refundsOf(stage), await deliveriesOf(stage)]).toEqual([[], []]);
  expect(await stepsOf(stage, session)).toEqual(['0 model done', '1 refund failed']);
  expect(outcomes).toMatchObject([
    { state: 'failed', error: { code: 'declined' } },
    { state: 'failed', error: { code: 'declined' } },
  ]);
});

test('a worker that has lost its turn still records what came of its call, and the next attempt uses it', async () => {
  const { stage, session } = await spoken();
  const { ask } = model([call('c1', 'charge')]);
  const answered = gate();
  let made = 0;
  const outcomes: CallOutcome[] = [];
  const charge = {
    effect: 'keyed',
    args: cents,
    run: async () => {
      made += 1;
      await answered.opened;
      return 'charged';
    },
  } as const;
  await employ(stage, { charge }, async (turn) => {
    outcomes.push(...(await turn.calls(await ask(turn))));
  });
  await until(stage, session, 'step.started');
  await stage.expire(session);
  await stage.turns.recover();
  answered.open();
  await eventually('it is recorded', async () => (await stepsOf(stage, session))[1] === '1 charge done');
  await stage.hurry(session);
  await until(stage, session, 'turn.completed');
  expect(made).toBe(1);
  expect(outcomes.at(-1)).toEqual({ call: call('c1', 'charge'), state: 'done', result: 'charged' });
});

test('order 7731 is looked up, approved and refunded at the indices that its model’s answer has reserved', async () => {
  const { stage, session } = await spoken();
  const { asked, ask } = model([call('c1', 'lookup_order', 7_731), call('c2', 'refund')], []);
  let lookups = 0;
  const lookup = {
    effect: 'read',
    args: cents,
    run: () => Promise.resolve({ looked: (lookups += 1) }),
  } as const;
  await employ(stage, { refund, lookup_order: lookup }, async (turn) => {
    const answer = await ask(turn);
    const [order, money] = answer.calls as [ModelCall, ModelCall];
    await turn.call(answer, order);
    const { decision } = await turn.approve('refund-7731', { tool: 'refund', args: money.args });
    if (decision === 'approved') await turn.call(answer, money);
    const { result } = await ask(turn);
    return [{ type: 'message.completed', data: { message: 'm', role: 'assistant', content: result } }];
  });
  await until(stage, session, 'turn.waiting');
  const decision = { approval: 'refund-7731', decision: 'approved', by: 'maya', comment: undefined } as const;
  await stage.turns.decide(session, decision);
  await until(stage, session, 'turn.completed');
  expect([asked.length, lookups]).toEqual([2, 1]);
  expect(await stepsOf(stage, session)).toEqual([
    '0 model done',
    '1 lookup_order done',
    '2 refund done',
    '3 input done',
    '4 model done',
  ]);
  expect(await refundsOf(stage)).toHaveLength(1);
});

test('a message that steers the turn takes an index, and the answers behind it go on from there', async () => {
  const { stage, session } = await spoken();
  const { ask } = model([], [], []);
  const indices: number[] = [];
  const steered = gate();
  await employ(stage, {}, async (turn) => {
    indices.push((await ask(turn)).index);
    await steered.opened;
    await eventually('it is steered', async () => (await turn.steering()).length > 0);
    indices.push((await ask(turn)).index, (await ask(turn)).index);
  });
  await until(stage, session, 'step.done');
  await stage.say(session, 'but in euros', { onBusy: 'steer' });
  steered.open();
  await until(stage, session, 'turn.completed');
  expect(indices).toEqual([0, 2, 3]);
  expect(await stepsOf(stage, session)).toEqual(['0 model done', '1 input done', '2 model done', '3 model done']);
});
