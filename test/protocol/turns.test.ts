/** A person's side of the turns: what is sent, asked, stopped and read, and what everybody sees of it. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { caller, freshId, startDeployment } from '../support/deployment.ts';
import type { Caller, Deployment } from '../support/deployment.ts';
import { expectProblem, turnCaller } from '../support/turn-calls.ts';
import type { TurnCaller } from '../support/turn-calls.ts';

let deployment: Deployment;
let call: Caller;
let turns: TurnCaller;
beforeAll(async () => {
  deployment = await startDeployment();
  call = caller(deployment);
  turns = turnCaller(call);
});
afterAll(() => deployment.stop());

const idle = { state: 'idle', turn: null, attempt: null, stop: null };
const completed = { outcome: 'completed', events: [] };

describe('a message', () => {
  it('is stored with its wish for an answer, and is the input of the turn that answers', async () => {
    const session = await call.session();
    expect(await turns.now(session)).toEqual(idle);
    const sent = await turns.message(session, 'Where is order 7731?', { key: 'k-1' });
    expect([sent.status, sent.json]).toEqual([201, { sequence: 1, state: 'ready' }]);
    expect(await turns.now(session)).toEqual({ ...idle, state: 'ready' });
    const data = { key: 'k-1', role: 'user', content: 'Where is order 7731?', by: 'tester', onBusy: 'enqueue' };
    expect(await turns.events(session)).toMatchObject([{ sequence: 1, type: 'message.created', data }]);

    const claimed = await turns.claim(session);
    const { turn, attempt } = claimed;
    expect(claimed).toMatchObject({ session, try: 1, inputs: [{ sequence: 1, data }], decisions: [] });
    expect(await turns.now(session)).toEqual({ state: 'running', turn, attempt, stop: null });
    expect((await turns.settle(claimed, 'finish', completed)).json).toEqual({
      state: 'idle',
      status: 'done',
      sequence: 3,
    });
    expect(await turns.now(session)).toEqual(idle);
    expect((await turns.events(session)).slice(1)).toMatchObject([
      { type: 'turn.started', turn, attempt, data: { turn, attempt, try: 1, inputs: [1] } },
      { type: 'turn.completed', turn, attempt, data: { turn, attempt, inputs: [1] } },
    ]);
  });

  it('that is sent again is the same message, while its turn runs and when it is over [anthropic-sdk-java#370]', async () => {
    const session = await call.session();
    const send = (content: unknown = [{ type: 'text', text: 'hello' }]) =>
      turns.message(session, content, { key: 'once' });
    expect((await send()).status).toBe(201);
    expect([(await send()).status, (await send()).json]).toEqual([200, { sequence: 1, state: 'ready' }]);
    expectProblem(await send('other'), 409, 'request_conflict', { sequence: 1 });
    const claimed = await turns.claim(session);
    expect((await send()).json).toEqual({ sequence: 1, state: 'running' });
    await turns.settle(claimed, 'finish', completed);
    expect((await send()).json).toEqual({ sequence: 1, state: 'idle' });
    expect((await turns.events(session)).filter(({ type }) => type === 'message.created')).toHaveLength(1);
  });

  it('that is sent many times at once is stored once', async () => {
    const session = await call.session();
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => turns.message(session, 'hello', { key: 'at-once' })),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(11);
    expect(answers.every(({ text }) => text === '{"sequence":1,"state":"ready"}')).toBe(true);
    await turns.stop(session);
  });

  it('follows another so closely that both are one turn’s', async () => {
    const session = await call.session();
    await turns.message(session, 'one');
    await turns.message(session, 'two');
    const claimed = await turns.claim(session);
    expect(claimed.inputs.map(({ sequence }) => sequence)).toEqual([1, 2]);
    await turns.settle(claimed, 'finish', completed);
  });

  it('does to a running turn what its sender says', async () => {
    const session = await call.session();
    await turns.message(session, 'first');
    const first = await turns.claim(session);
    const { turn, attempt } = first;

    expectProblem(await turns.message(session, 'no', { onBusy: 'reject' }), 409, 'turn_busy', {
      state: 'running',
      turn,
    });
    expect((await turns.message(session, 'later')).json).toMatchObject({ state: 'running' });
    const steering = (await turns.message(session, 'also this', { onBusy: 'steer' })).json as { sequence: number };
    const joined = await turns.settle(first, 'steer');
    expect(joined.json).toMatchObject({ inputs: [{ sequence: steering.sequence, data: { content: 'also this' } }] });
    expect((await turns.settle(first, 'steer')).json).toEqual({ inputs: [] });

    expect((await turns.message(session, 'stop that', { onBusy: 'interrupt' })).status).toBe(201);
    expect(await turns.now(session)).toEqual({ state: 'running', turn, attempt, stop: 'interrupt' });
    const ended = await turns.settle(first, 'finish', { outcome: 'cancelled', events: [{ type: 'note', data: 1 }] });
    expect(ended.json).toMatchObject({ state: 'ready', status: 'cancelled' });

    const second = await turns.claim(session);
    expect(second.turn).not.toBe(turn);
    expect(second.inputs.map(({ data }) => data['content'])).toEqual(['later', 'stop that']);
    await turns.settle(second, 'finish', completed);
    const told = await turns.events(session);
    expect(told.find(({ type }) => type === 'turn.stopping')?.data).toMatchObject({
      turn,
      attempt,
      by: 'tester',
      mode: 'interrupt',
    });
    expect(told.find(({ type }) => type === 'turn.steered')?.data).toMatchObject({ inputs: [steering.sequence] });
    expect(told.find(({ type }) => type === 'turn.cancelled')?.data).toMatchObject({ turn, reason: 'interrupted' });
  });

  it.each([
    ['content past its limit', { key: 'k', content: 'x'.repeat(limits.contentBytes) }, 413, 'too_large'],
    ['a bad key', { key: 'a b', content: 'x' }, 400, 'malformed'],
    ['a part that is no object', { key: 'k', content: ['x'] }, 400, 'malformed'],
  ])('with %s stores nothing', async (_, body, status, code) => {
    const session = await call.session();
    expectProblem(
      await call.reader('POST', `/sessions/${session}/messages`, { body: JSON.stringify(body) }),
      status,
      code,
    );
    expect(await turns.events(session)).toEqual([]);
    expect(await turns.now(session)).toEqual(idle);
  });

  it('keeps whatever its parts hold', async () => {
    const session = await call.session();
    const content = [{ type: 'text', text: 'a\u0000\u2028\ud83d \u{1f600}', list: [1, null, { '': [] }] }];
    expect((await turns.message(session, content)).status).toBe(201);
    expect((await turns.events(session))[0]?.data['content']).toEqual(content);
    const claimed = await turns.claim(session);
    expect(claimed.inputs[0]?.data['content']).toEqual(content);
    await turns.settle(claimed, 'finish', completed);
  });
});

describe('a decision', () => {
  async function asked(approvals: readonly object[]) {
    const session = await call.session();
    await turns.message(session, 'refund order 7731');
    const claimed = await turns.claim(session);
    const waiting = await turns.settle(claimed, 'wait', { approvals });
    expect(waiting.json).toMatchObject({ state: 'waiting', status: 'waiting' });
    return { session, claimed };
  }

  it('is the first one’s, and the turn goes on with it', async () => {
    const approval = `refund-${randomUUID()}`;
    const { session, claimed } = await asked([{ approval, tool: 'refund', args: { cents: 4_000 }, reason: 'asked' }]);
    expect(await turns.now(session)).toMatchObject({ state: 'waiting', turn: claimed.turn });
    expectProblem(await turns.decide(session, { approval: 'never', decision: 'approved' }), 404, 'approval_unknown');
    const body = { approval, decision: 'approved', comment: 'fine \u0000' };
    const first = await turns.decide(session, body, 'maya');
    const { sequence } = first.json as { sequence: number };
    expect([first.status, first.json]).toEqual([201, { sequence, state: 'ready' }]);
    const repeated = await turns.decide(session, body, 'maya');
    expect([repeated.status, (repeated.json as { sequence: number }).sequence]).toEqual([200, sequence]);
    for (const [decision, subject] of [
      ['approved', 'noor'],
      ['denied', 'maya'],
    ] as const) {
      expectProblem(await turns.decide(session, { approval, decision }, subject), 409, 'approval_decided', {
        decision: 'approved',
        by: 'maya',
        sequence,
      });
    }
    const resumed = await turns.claim(session);
    expect(resumed).toMatchObject({ turn: claimed.turn, inputs: claimed.inputs });
    expect(resumed.attempt).toBeGreaterThan(claimed.attempt);
    expect(resumed.decisions).toEqual([{ ...body, by: 'maya', sequence }]);
    await turns.settle(resumed, 'finish', completed);
    const told = await turns.events(session);
    expect(told.find(({ type }) => type === 'approval.required')?.data).toMatchObject({
      approval,
      tool: 'refund',
      args: { cents: 4_000 },
      reason: 'asked',
    });
    expect(told.find(({ type }) => type === 'approval.decided')?.data).toMatchObject({
      approval,
      decision: 'approved',
      by: 'maya',
    });
  });

  it('leaves its turn waiting until it is the last', async () => {
    const ids = [`a-${randomUUID()}`, `b-${randomUUID()}`] as const;
    const { session } = await asked(ids.map((approval) => ({ approval })));
    expect((await turns.decide(session, { approval: ids[1], decision: 'denied' })).json).toMatchObject({
      state: 'waiting',
    });
    expect((await turns.decide(session, { approval: ids[0], decision: 'approved' })).json).toMatchObject({
      state: 'ready',
    });
    expect((await turns.stop(session)).json).toMatchObject({ stopped: true });
  });

  it('of a turn that was stopped is none any more', async () => {
    const approval = `late-${randomUUID()}`;
    const { session } = await asked([{ approval }]);
    expect((await turns.stop(session)).json).toEqual({ stopping: false, stopped: true, state: 'idle' });
    expectProblem(await turns.decide(session, { approval, decision: 'approved' }), 409, 'approval_decided', {
      decision: null,
      by: null,
      sequence: null,
    });
  });
});

describe('a stop', () => {
  it('of nothing stops nothing', async () => {
    const session = await call.session();
    const answer = await turns.stop(session);
    expect([answer.status, answer.json]).toEqual([200, { stopping: false, stopped: false, state: 'idle' }]);
  });

  it('before a worker has begun takes the messages back', async () => {
    const session = await call.session();
    await turns.message(session, 'never mind');
    const answer = await turns.stop(session);
    expect([answer.status, answer.json]).toEqual([200, { stopping: false, stopped: true, state: 'idle' }]);
    expect((await turns.events(session)).at(-1)).toMatchObject({
      type: 'turn.cancelled',
      data: { inputs: [1], reason: 'stopped' },
    });
  });

  it('of a running turn is heard by its worker, and what was written stays [vercel/ai#6502]', async () => {
    const session = await call.session();
    await turns.message(session, 'write a book');
    const claimed = await turns.claim(session);
    expect((await turns.append(claimed, 'text.delta', '{"text":"Once"}')).status).toBe(201);
    for (const turn of [claimed.turn, undefined]) {
      const answer = await turns.stop(session, turn);
      expect([answer.status, answer.json]).toEqual([202, { stopping: true, stopped: false, state: 'running' }]);
    }
    expect(await turns.now(session)).toMatchObject({ state: 'running', stop: 'stop' });
    expect((await turns.settle(claimed, 'finish', { outcome: 'cancelled', events: [] })).json).toMatchObject({
      state: 'idle',
      status: 'cancelled',
    });
    expect((await turns.events(session)).map(({ type }) => type)).toEqual([
      'message.created',
      'turn.started',
      'text.delta',
      'turn.stopping',
      'turn.cancelled',
    ]);
  });

  it('that comes late hits no newer turn', async () => {
    const session = await call.session();
    await turns.message(session, 'one');
    const older = await turns.claim(session);
    await turns.settle(older, 'finish', completed);
    await turns.message(session, 'two');
    const newer = await turns.claim(session);
    const answer = await turns.stop(session, older.turn);
    expect([answer.status, answer.json]).toEqual([200, { stopping: false, stopped: false, state: 'running' }]);
    expect((await turns.settle(newer, 'finish', completed)).json).toMatchObject({ status: 'done' });
  });
});

describe('whoever may not', () => {
  const asks = [
    ['messages', { key: 'k', content: 'x' }],
    ['decisions', { approval: 'a', decision: 'approved' }],
    ['stop', {}],
    ['read', { sequence: 1 }],
    ['turns/t1/retry', undefined],
    ['turns/t1/rerun', undefined],
    ['turns/t1/acknowledge', undefined],
  ] as const;
  const ask = (session: string, what: string, body: object | undefined, token = {}) =>
    call.reader('POST', `/sessions/${session}/${what}`, {
      token,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });

  it.each(asks)('reach a session is told of /%s what he would be told if it did not exist', async (what, body) => {
    const session = await call.session();
    const foreign = await ask(session, what, body, { sessions: ['mine-*'] });
    const missing = await ask(freshId(), what, body, { sessions: ['mine-*'] });
    expect([foreign.status, foreign.json]).toEqual([missing.status, missing.json]);
    expectProblem(foreign, 404, 'session_unknown');
    expect(await turns.events(session)).toEqual([]);
  });

  it.each(asks)('send to a session that is not there, or was deleted, learns so of /%s', async (what, body) => {
    expectProblem(await ask(freshId(), what, body), 404, 'session_unknown');
    const deleted = await call.session();
    await call.reader('DELETE', `/sessions/${deleted}`);
    expectProblem(await ask(deleted, what, body), 410, 'session_deleted');
  });

  it('write to a closed session may still read it', async () => {
    const session = await call.session();
    await turns.message(session, 'one');
    await call.reader('POST', `/sessions/${session}/close`);
    expectProblem(await turns.message(session, 'two'), 409, 'session_closed');
    expect((await ask(session, 'read', { sequence: 1 })).json).toEqual({ read: 1 });
    expect((await turns.stop(session)).json).toMatchObject({ stopping: false, stopped: false });
  });

  it('work at turns from outside finds no such routes', async () => {
    for (const path of ['/internal/turns/claim', '/internal/turns/renew', '/internal/sessions/s/turns/t/finish']) {
      expectProblem(await call.reader('POST', path, { body: '{}' }), 404, 'not_found');
    }
  });

  it('hold the key works at none', async () => {
    for (const path of ['/internal/turns/claim', '/internal/turns/renew', '/internal/sessions/s/turns/t/finish']) {
      const answer = await call.internal('POST', path, '{}', { authorization: `Bearer ${await deployment.token()}` });
      expectProblem(answer, 401, 'unauthorized');
    }
  });
});
