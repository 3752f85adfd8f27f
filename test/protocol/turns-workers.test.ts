/** A worker's side of the turns, in any language: it claims, writes under its fence, and ends each turn once. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { caller, startDeployment } from '../support/deployment.ts';
import type { Caller, Deployment } from '../support/deployment.ts';
import { head, open } from '../support/raw-http.ts';
import { expectProblem, turnCaller } from '../support/turn-calls.ts';
import type { Claimed, TurnCaller } from '../support/turn-calls.ts';
import { eventually } from '../support/waits.ts';

let deployment: Deployment;
let call: Caller;
let turns: TurnCaller;
beforeAll(async () => {
  deployment = await startDeployment();
  call = caller(deployment);
  turns = turnCaller(call);
});
afterAll(() => deployment.stop());

const completed = { outcome: 'completed', events: [] };

/** A session with a turn that was just claimed. */
async function claimed(more?: object): Promise<Claimed> {
  const session = await call.session();
  await turns.message(session, 'hello');
  return turns.claim(session, more);
}
const renew = async (...attempts: readonly Claimed[]): Promise<unknown[]> => {
  const body = JSON.stringify({ attempts: attempts.map(({ session, turn, attempt }) => ({ session, turn, attempt })) });
  return ((await call.internal('POST', '/internal/turns/renew', body)).json as { renewed: unknown[] }).renewed;
};

describe('a claim', () => {
  it('is empty when there is nothing to do', async () => {
    const answer = await call.internal('POST', '/internal/turns/claim', '{"worker":"w"}');
    expect([answer.status, answer.text]).toEqual([200, '{"turns":[]}']);
  });

  it('tells all that a worker needs, with the inputs as they are stored [I2]', async () => {
    const session = await call.session();
    await turns.message(session, 'hello', { key: 'k' });
    const one = await turns.claim(session, { maxAttempts: 2, turnMs: 60_000 });
    expect(one).toEqual({
      session,
      turn: expect.stringMatching(/^[A-Za-z0-9._:-]{1,128}$/) as unknown,
      attempt: expect.any(Number) as unknown,
      try: 1,
      maxAttempts: 2,
      leaseMs: limits.leaseMs,
      deadline: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as unknown,
      remainingMs: expect.any(Number) as unknown,
      head: 2,
      traceparent: null,
      inputs: [
        {
          sequence: 1,
          at: expect.stringMatching(/Z$/) as unknown,
          data: { key: 'k', role: 'user', content: 'hello', by: 'tester', onBusy: 'enqueue' },
        },
      ],
      decisions: [],
    });
    const history = await call.internal('GET', `/sessions/${session}/events?limit=1`);
    const again = await turns
      .settle(one, 'release')
      .then(() => eventually('it is claimed again', () => claimText(session)));
    const stored = history.text.slice(history.text.indexOf('"data":'), history.text.lastIndexOf('}],"first"'));
    expect(again).toContain(stored);
    await turns.stop(session);
  });
  const claimText = async (session: string): Promise<string | undefined> => {
    const { text } = await call.internal('POST', '/internal/turns/claim', '{"worker":"w","waitMs":5000}');
    return text.includes(session) ? text : undefined;
  };

  it('that waits gets what comes meanwhile', async () => {
    const session = await call.session();
    const waiting = call.internal('POST', '/internal/turns/claim', '{"worker":"w","waitMs":30000}');
    await turns.message(session, 'hello');
    const { turns: got } = (await waiting).json as { turns: Claimed[] };
    expect(got.map((each) => each.session)).toEqual([session]);
    await turns.settle(got[0]!, 'finish', completed);
  });

  it('never gives more than was asked for, and no session twice [odd-jobs#115]', async () => {
    const sessions = await Promise.all(Array.from({ length: 5 }, () => call.session()));
    await Promise.all(sessions.map((session) => turns.message(session, 'hello')));
    const got: Claimed[] = [];
    await eventually('all are claimed', async () => {
      const answers = await Promise.all(
        [1, 2].map((limit) =>
          call.internal('POST', '/internal/turns/claim', JSON.stringify({ worker: 'w', limit, waitMs: 1_000 })),
        ),
      );
      answers.forEach(({ json }, index) => {
        const { turns: some } = json as { turns: Claimed[] };
        expect(some.length).toBeLessThanOrEqual(index + 1);
        got.push(...some);
      });
      return got.length === sessions.length;
    });
    expect(got.map(({ session }) => session).toSorted()).toEqual(sessions.toSorted());
    expect(await renew(...got)).toHaveLength(got.length);
    for (const each of got) await turns.settle(each, 'finish', completed);
  });

  it('of a worker that went away takes nothing', async () => {
    const session = await call.session();
    const body = '{"worker":"gone","limit":50,"waitMs":30000}';
    const { socket } = open(deployment.internalUrl);
    const headers = { Authorization: `Bearer ${deployment.key}`, 'Content-Length': String(body.length) };
    await new Promise<void>((resolve) => {
      socket.write(head('POST', '/internal/turns/claim', headers) + body, () => resolve());
    });
    await call.internal('GET', '/healthz');
    socket.destroy();
    await turns.message(session, 'hello');
    const one = await turns.claim(session);
    expect(one.try).toBe(1);
    await turns.settle(one, 'finish', completed);
  });
});

describe('an append under a fence', () => {
  it('names its turn and attempt for every reader', async () => {
    const one = await claimed();
    const { session, turn, attempt } = one;
    expect((await turns.append(one, 'text.delta', '{"n":9007199254740993}')).json).toEqual({ first: 3, last: 3 });
    const { text } = await call.reader('GET', `/sessions/${session}/events?after=2`);
    expect(text).toContain(`"turn":"${turn}","attempt":${attempt},"data":{"n":9007199254740993}}`);
    await turns.settle(one, 'finish', completed);
  });

  it('is refused once another attempt has the turn, or nobody [river#1135]', async () => {
    const older = await claimed();
    await turns.settle(older, 'release');
    expectProblem(await turns.append(older, 'text.delta', '1'), 409, 'fenced');
    const newer = await turns.claim(older.session);
    expect([newer.turn, newer.attempt > older.attempt]).toEqual([older.turn, true]);
    for (const what of ['finish', 'fail', 'wait', 'release', 'steer']) {
      const bodies: Record<string, object> = {
        finish: completed,
        fail: { error: { code: 'a', message: 'b' }, retryable: true },
        wait: { approvals: [{ approval: randomUUID() }] },
      };
      expectProblem(await turns.settle(older, what, bodies[what]), 409, 'fenced');
    }
    expectProblem(await turns.append(older, 'text.delta', '1'), 409, 'fenced');
    expect((await turns.append(newer, 'text.delta', '2')).status).toBe(201);
    await turns.settle(newer, 'finish', completed);
    expectProblem(await turns.append(newer, 'text.delta', '3'), 409, 'fenced');
    const told = await turns.events(older.session);
    expect(told.filter(({ type }) => type === 'text.delta').map(({ data }) => data)).toEqual([2]);
  });

  it('that is malformed says where', async () => {
    const session = await call.session();
    const path = `/internal/sessions/${session}/events`;
    const body = '{"fence":{"turn":"a b","attempt":1},"events":[{"type":"a","data":1}]}';
    expectProblem(await call.internal('POST', path, body), 400, 'malformed', { where: 'fence.turn' });
  });
});

describe('an end', () => {
  it('stores its last events and itself together, to the last character [I2]', async () => {
    const one = await claimed();
    const { session, turn, attempt } = one;
    const data = '{"n":9007199254740993, "b":1,"b":-0,"u":"\\u0000"}';
    const answer = await call.internal(
      'POST',
      `/internal/sessions/${session}/turns/${turn}/finish`,
      `{"attempt":${attempt},"outcome":"completed","events":[{"type":"message.completed","data":${data}}]}`,
    );
    expect(answer.json).toEqual({ state: 'idle', status: 'done', sequence: 4 });
    const { text } = await call.reader('GET', `/sessions/${session}/events?after=2`);
    expect(text).toContain(`"turn":"${turn}","attempt":${attempt},"data":${data}}`);
  });

  it('that is repeated has the same answer, and happens once', async () => {
    const one = await claimed();
    const first = await turns.settle(one, 'finish', completed);
    const again = await turns.settle(one, 'finish', completed);
    expect([again.status, again.json]).toEqual([first.status, first.json]);
    const told = await turns.events(one.session);
    expect(told.filter(({ type }) => type === 'turn.completed')).toHaveLength(1);
  });

  it('begins the next turn where messages wait', async () => {
    const one = await claimed();
    await turns.message(one.session, 'and then');
    expect((await turns.settle(one, 'finish', completed)).json).toMatchObject({ state: 'ready', status: 'done' });
    const next = await turns.claim(one.session);
    expect(next.turn).not.toBe(one.turn);
    expect(next.inputs.map(({ data }) => data['content'])).toEqual(['and then']);
    await turns.settle(next, 'finish', completed);
  });

  it('as cancelled that nobody asked for is refused', async () => {
    const one = await claimed();
    const answer = await turns.settle(one, 'finish', { outcome: 'cancelled', events: [] });
    expectProblem(answer, 409, 'turn_over', { turnStatus: 'open' });
    expect((await turns.settle(one, 'finish', completed)).json).toMatchObject({ status: 'done' });
  });

  it('that refuses one event stores none', async () => {
    const one = await claimed();
    const events = [
      { type: 'a', data: 1 },
      { type: 'A', data: 2 },
    ];
    const answer = await turns.settle(one, 'finish', { outcome: 'completed', events });
    expectProblem(answer, 400, 'malformed', { where: 'events[1].type' });
    expect(await turns.now(one.session)).toMatchObject({ state: 'running' });
    expect((await turns.events(one.session)).at(-1)?.type).toBe('turn.started');
    await turns.settle(one, 'finish', completed);
  });
});

describe('a failure', () => {
  const error = { code: 'model_refused', message: 'no \u0000' };

  it('that may be retried is, with the same inputs', async () => {
    const first = await claimed();
    expect((await turns.settle(first, 'fail', { error, retryable: true })).json).toMatchObject({
      state: 'ready',
      status: 'open',
    });
    const second = await turns.claim(first.session);
    expect(second).toMatchObject({ turn: first.turn, try: 2, inputs: first.inputs });
    await turns.settle(second, 'finish', completed);
    expect((await turns.events(first.session)).find(({ type }) => type === 'turn.retrying')?.data).toMatchObject({
      reason: 'failed',
      error: { code: 'model_refused' },
    });
  });

  it.each([
    ['may not be retried', undefined, false],
    ['was the last try', { maxAttempts: 1 }, true],
    ['is of a turn that is tried once', { policy: 'once' }, true],
  ])('that %s is seen by everybody [hatchet#4611]', async (_, more, retryable) => {
    const one = await claimed(more);
    expect((await turns.settle(one, 'fail', { error, retryable })).json).toMatchObject({
      state: 'idle',
      status: 'failed',
    });
    expect((await turns.events(one.session)).at(-1)).toMatchObject({
      type: 'turn.failed',
      data: { turn: one.turn, inputs: [1], error: { code: 'model_refused' } },
    });
    expect((await turns.message(one.session, 'again')).json).toMatchObject({ state: 'ready' });
    await turns.stop(one.session);
  });

  it('that is given back counts no try, however often [oban#328]', async () => {
    let one = await claimed();
    for (const _ of [1, 2, 3, 4, 5]) {
      expect((await turns.settle(one, 'release')).json).toMatchObject({ state: 'ready', status: 'open' });
      const next = await turns.claim(one.session);
      expect(next).toMatchObject({ turn: one.turn, try: 1, inputs: one.inputs });
      expect(next.attempt).toBeGreaterThan(one.attempt);
      one = next;
    }
    await turns.settle(one, 'finish', completed);
  });
});

describe('a renewal', () => {
  it('answers for those that still own their turn, and tells them of a stop and of steering', async () => {
    const [kept, stopped, steered, lost] = [await claimed(), await claimed(), await claimed(), await claimed()];
    await turns.stop(stopped.session);
    await turns.message(steered.session, 'also', { onBusy: 'steer' });
    await turns.settle(lost, 'finish', completed);
    const renewed = await renew(kept, stopped, steered, lost);
    const of = ({ session, turn, attempt }: Claimed, stop: string | null, steering: boolean) => ({
      session,
      turn,
      attempt,
      stop,
      steering,
      extended: true,
    });
    expect(renewed).toHaveLength(3);
    expect(renewed).toEqual(
      expect.arrayContaining([of(kept, null, false), of(stopped, 'stop', false), of(steered, null, true)]),
    );
    await turns.settle(kept, 'finish', completed);
    await turns.settle(stopped, 'finish', { outcome: 'cancelled', events: [] });
    await turns.settle(steered, 'finish', completed);
    await turns.stop(steered.session);
  });
});

describe('a question', () => {
  const ask = (one: Claimed, ...approvals: readonly object[]) => turns.settle(one, 'wait', { approvals });

  it('is asked once, however often its turn is tried', async () => {
    const approval = `q-${randomUUID()}`;
    const first = await claimed();
    expect((await ask(first, { approval, tool: 'refund' })).json).toMatchObject({ status: 'waiting' });
    await turns.decide(first.session, { approval, decision: 'denied', comment: 'no' });
    const second = await turns.claim(first.session);
    expect(second.decisions).toMatchObject([{ approval, decision: 'denied', by: 'tester', comment: 'no' }]);
    expect((await ask(second, { approval, tool: 'refund' })).json).toMatchObject({ state: 'ready', status: 'open' });
    const third = await turns.claim(first.session);
    await turns.settle(third, 'finish', completed);
    const told = await turns.events(first.session);
    expect(told.filter(({ type }) => type === 'approval.required')).toHaveLength(1);
  });

  it('cannot have the id of another turn’s', async () => {
    const approval = `q-${randomUUID()}`;
    const first = await claimed();
    await ask(first, { approval });
    await turns.stop(first.session);
    await turns.message(first.session, 'again');
    const second = await turns.claim(first.session);
    expectProblem(await ask(second, { approval }), 409, 'approval_conflict');
    await turns.settle(second, 'finish', completed);
  });
});
