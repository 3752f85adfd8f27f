/** A turn's journal over HTTP: a worker in any language goes on where another one died, and an effect happens once. */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { caller, startDeployment } from '../support/deployment.ts';
import type { Answer, Caller, Deployment } from '../support/deployment.ts';
import { expectProblem, turnCaller } from '../support/turn-calls.ts';
import type { Claimed, TurnCaller } from '../support/turn-calls.ts';

let deployment: Deployment;
let call: Caller;
let turns: TurnCaller;
beforeAll(async () => {
  deployment = await startDeployment();
  call = caller(deployment);
  turns = turnCaller(call);
});
afterAll(() => deployment.stop());

/** A turn that was just claimed, whose model has asked for so many refunds. */
async function asked(calls = 1): Promise<Claimed> {
  const session = await call.session();
  await turns.message(session, 'Refund me');
  const one = await turns.claim(session);
  const body = {
    request: { prompt: 'x' },
    result: { text: 'Of course.' },
    calls: Array.from({ length: calls }, callOf),
  };
  const answer = await turns.step(one, 0, 'model', body);
  expect([answer.status, answer.json]).toEqual([200, { state: 'done', sequence: 3 }]);
  return one;
}
const callOf = (_: unknown, index: number) => ({ call: `c${index}`, tool: 'refund', args: { cents: 4_000 } });

const intent = (effect: string, cents = 4_000) => ({ tool: 'refund', effect, args: { cents } });
const keyOf = ({ turn }: Claimed, index: number): string => `v1:${turn}:${index}`;
const saysTo = (answer: Answer): unknown => {
  expect(answer.status).toBe(200);
  return answer.json;
};

/** The turn as another worker gets it, when the one that has it goes away. */
async function inherited(one: Claimed): Promise<Claimed> {
  expect((await turns.settle(one, 'release')).status).toBe(200);
  return turns.claim(one.session);
}

describe("a model's answer", () => {
  it('is in the journal as it was sent, with the calls that it asks for, and is not taken twice [I2]', async () => {
    const session = await call.session();
    await turns.message(session, 'hello');
    const { turn, attempt } = await turns.claim(session);
    const odd = '{"n": 9007199254740993,"u":"\\u0000"}';
    const calls = '[{"call":"c1","tool":"refund","args":{"cents":4000}}]';
    const path = `/internal/sessions/${session}/turns/${turn}/steps`;
    const say = (result: string, index = 0): Promise<Answer> =>
      call.internal(
        'POST',
        `${path}/${index}/model`,
        `{"attempt":${attempt},"request":{"prompt":"x"},"result":${result},"calls":${calls}}`,
      );
    expect((await say(odd)).json).toEqual({ state: 'done', sequence: 3 });
    expect((await say(odd)).json).toEqual({ state: 'done', sequence: null });
    expectProblem(await say('"another"'), 409, 'step_conflict', { state: 'done' });
    expectProblem(await say('"the index of its call"', 1), 409, 'step_conflict');
    const journal = (await call.internal('GET', path)).text;
    expect(journal).toContain(`"result":{"result":${odd},"calls":${calls}}`);
    expect(JSON.parse(journal)).toMatchObject({
      steps: [{ index: 0, kind: 'model', state: 'done', reserved: 1, request: { prompt: 'x' }, attempt }],
    });
    expect((await say('"the next"', 2)).json).toMatchObject({ state: 'done' });
  });

  it('asks for so many calls, and a call delivers so much, and not more', async () => {
    const one = await asked();
    const many = { request: 1, result: 1, calls: Array.from({ length: 129 }, callOf) };
    expectProblem(await turns.step(one, 2, 'model', many), 413, 'too_large', { limit: 'callsPerAnswer', max: 128 });
    expect((await turns.step(one, 1, 'start', intent('keyed'))).status).toBe(200);
    const deliveries = Array.from({ length: 17 }, (_, index) => ({ topic: `t${index}`, payload: 1 }));
    const settling = await turns.step(one, 1, 'settle', { ...intent('keyed'), result: 1, deliveries });
    expectProblem(settling, 413, 'too_large', { limit: 'deliveriesPerStep', max: 16 });
  });

  it('of a turn that another worker has is refused', async () => {
    const one = await asked(0);
    await inherited(one);
    expectProblem(await turns.step(one, 1, 'model', { request: 1, result: 1 }), 409, 'fenced');
  });
});

describe('a call', () => {
  it('is begun under its key, settled once, and used by whoever comes to it again', async () => {
    const one = await asked();
    const run = { do: 'run', key: keyOf(one, 1), again: false };
    expect(saysTo(await turns.step(one, 1, 'start', intent('keyed')))).toEqual(run);
    expect(saysTo(await turns.step(one, 1, 'start', intent('keyed')))).toEqual({ do: 'wait' });
    const settling = { ...intent('keyed'), result: { id: 're_1' } };
    expect(saysTo(await turns.step(one, 1, 'settle', settling))).toMatchObject({ state: 'done' });
    // A repeat, whatever it says now.
    expect(saysTo(await turns.step(one, 1, 'settle', { ...settling, result: 'no' }))).toEqual({
      state: 'done',
      sequence: null,
    });
    const next = await inherited(one);
    expect(saysTo(await turns.step(next, 1, 'start', intent('keyed')))).toEqual({ do: 'use', result: { id: 're_1' } });
    const events = (await turns.events(one.session)).filter(({ type }) => type.startsWith('step.'));
    const facts = { step: 1, kind: 'tool', tool: 'refund', effect: 'keyed' };
    expect(events.slice(1).map(({ type, data }) => ({ type, ...data }))).toMatchObject([
      { type: 'step.started', ...facts },
      { type: 'step.done', ...facts, result: { id: 're_1' }, fromJournal: false },
      { type: 'step.done', ...facts, result: { id: 're_1' }, fromJournal: true },
    ]);
  });

  it('is one intent, whose hash anybody can make', async () => {
    const one = await asked();
    await turns.step(one, 1, 'start', { tool: 'refund', effect: 'keyed', args: { b: 'é', a: 1.0 } });
    const [, step] = await turns.journal(one);
    const canonical = '{"args":{"a":1,"b":"é"},"tool":"refund","v":1}';
    expect(step).toMatchObject({
      requestHash: createHash('sha256').update(canonical).digest('hex'),
      state: 'started',
      effect: 'keyed',
    });
    expectProblem(await turns.step(one, 1, 'start', intent('keyed', 1)), 409, 'step_conflict', { state: 'started' });
    expectProblem(await turns.step(one, 1, 'settle', { ...intent('keyed', 1), result: 1 }), 409, 'step_conflict');
    expectProblem(await turns.step(one, 7, 'start', intent('keyed')), 409, 'step_conflict');
  });

  it.each(['read', 'idempotent', 'keyed', 'lookup'])(
    'of a %s tool that its worker has left begun is done again, or looked for, under the same key',
    async (effect) => {
      const one = await asked();
      await turns.step(one, 1, 'start', intent(effect));
      const next = await inherited(one);
      expect(saysTo(await turns.step(next, 1, 'start', intent(effect)))).toEqual(
        effect === 'lookup' ? { do: 'find', key: keyOf(one, 1) } : { do: 'run', key: keyOf(one, 1), again: true },
      );
    },
  );

  it('that failed is failed for every attempt', async () => {
    const one = await asked();
    await turns.step(one, 1, 'start', intent('once'));
    const error = { code: 'declined', message: 'No.' };
    expect(saysTo(await turns.step(one, 1, 'settle', { ...intent('once'), error }))).toMatchObject({ state: 'failed' });
    const next = await inherited(one);
    expect(saysTo(await turns.step(next, 1, 'start', intent('once')))).toEqual({ do: 'use', error });
  });

  it('that came to its end after its worker had lost the turn is recorded, and begins nothing', async () => {
    const one = await asked(2);
    await turns.step(one, 1, 'start', intent('keyed'));
    const next = await inherited(one);
    expect(saysTo(await turns.step(one, 1, 'settle', { ...intent('keyed'), result: 'late' }))).toEqual({
      state: 'done',
      sequence: null,
    });
    expectProblem(await turns.step(one, 2, 'start', intent('keyed')), 409, 'fenced');
    expect(saysTo(await turns.step(next, 1, 'start', intent('keyed')))).toEqual({ do: 'use', result: 'late' });
  });

  it('of a tool that shares a transaction with its journal is for workers beside the database', async () => {
    const one = await asked();
    expectProblem(await turns.step(one, 1, 'start', intent('transactional')), 400, 'malformed', { where: 'effect' });
  });

  it('with an amount that no other language reads as the same is refused before anything is written', async () => {
    const one = await asked();
    const { session, turn, attempt } = one;
    const path = `/internal/sessions/${session}/turns/${turn}/steps/1/start`;
    const body = `{"attempt":${attempt},"tool":"refund","effect":"once","args":{"cents":9007199254740993}}`;
    expectProblem(await call.internal('POST', path, body), 400, 'malformed', { where: 'args.cents' });
    expect(await turns.journal(one)).toHaveLength(1);
  });
});

describe('a step in doubt', () => {
  async function inDoubt(): Promise<Claimed> {
    const one = await asked();
    await turns.step(one, 1, 'start', intent('once'));
    const next = await inherited(one);
    expect(saysTo(await turns.step(next, 1, 'start', intent('once')))).toEqual({ do: 'stop' });
    return next;
  }
  const resolve = ({ session, turn }: Claimed, body: object): Promise<Answer> =>
    call.reader('POST', `/sessions/${session}/turns/${turn}/steps/1/resolve`, { body: JSON.stringify(body) });

  it('ends the attempt, the session goes on, and a person has the turn go on with what happened', async () => {
    const one = await inDoubt();
    expect(await turns.journal(one)).toMatchObject([{ state: 'done' }, { state: 'in_doubt' }]);
    expectProblem(await turns.settle(one, 'finish', { outcome: 'completed' }), 409, 'fenced');
    await turns.message(one.session, 'And now?');
    const other = await turns.claim(one.session);
    expect(other.turn).not.toBe(one.turn);
    expectProblem(await resolve(one, { outcome: 'not_done', resume: true }), 409, 'turn_busy');
    await turns.settle(other, 'finish', { outcome: 'completed' });

    expect(saysTo(await resolve(one, { outcome: 'done', result: { id: 're_1' }, resume: true }))).toEqual({});
    expectProblem(await resolve(one, { outcome: 'not_done', resume: false }), 409, 'step_settled', { state: 'done' });
    const resumed = await turns.claim(one.session);
    expect(resumed.turn).toBe(one.turn);
    expect(saysTo(await turns.step(resumed, 1, 'start', intent('once')))).toEqual({
      do: 'use',
      result: { id: 're_1' },
    });
    const types = (await turns.events(one.session)).map(({ type }) => type);
    expect(types).toEqual(expect.arrayContaining(['step.in_doubt', 'turn.in_doubt', 'step.resolved']));
  });

  it('that never happened runs when its turn goes on', async () => {
    const one = await inDoubt();
    expect(saysTo(await resolve(one, { outcome: 'not_done', resume: true }))).toEqual({});
    const resumed = await turns.claim(one.session);
    expect(saysTo(await turns.step(resumed, 1, 'start', intent('once')))).toEqual({
      do: 'run',
      key: keyOf(one, 1),
      again: false,
    });
  });
});

describe('a turn that has had effects', () => {
  it('is done anew by force alone', async () => {
    const one = await asked();
    await turns.step(one, 1, 'start', intent('keyed'));
    await turns.step(one, 1, 'settle', { ...intent('keyed'), result: 1 });
    await turns.settle(one, 'finish', { outcome: 'completed' });
    const rerun = (body?: string): Promise<Answer> =>
      call.reader('POST', `/sessions/${one.session}/turns/${one.turn}/rerun`, body === undefined ? {} : { body });
    expectProblem(await rerun(), 409, 'turn_over', { turnStatus: 'done' });
    expect(saysTo(await rerun('{"force":true}'))).toMatchObject({ state: 'ready' });
    const again = await turns.claim(one.session);
    expect(await turns.journal(again)).toEqual([]);
  });
});

describe('a journal', () => {
  it('of a turn that is not there is unknown', async () => {
    const session = await call.session();
    const answer = await call.internal('GET', `/internal/sessions/${session}/turns/none/steps`);
    expectProblem(answer, 404, 'turn_unknown');
  });
});
