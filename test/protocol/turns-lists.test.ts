/** What a person finds again: the sessions with something new first, and the turns that need somebody. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { caller, startDeployment } from '../support/deployment.ts';
import type { Caller, Deployment } from '../support/deployment.ts';
import type { TokenOptions } from '../support/token.ts';
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

const completed = { outcome: 'completed', events: [] };

describe('the list of sessions', () => {
  interface Listed {
    readonly session: string;
    readonly read: number;
    readonly unread: boolean;
    readonly notable: number;
    readonly activity: string;
    readonly turn: object;
  }
  interface Page {
    readonly sessions: readonly Listed[];
    readonly next: string | null;
  }
  const page = async (token: TokenOptions, query = ''): Promise<Page> =>
    (await call.reader('GET', `/sessions${query}`, { token })).json as Page;
  const create = async (session: string, more: object = {}): Promise<string> => {
    await call.internal('POST', '/sessions', JSON.stringify({ session, ...more }));
    return session;
  };

  it('has all that the token reaches once, the latest activity first, page by page', async () => {
    const prefix = `p-${randomUUID()}-`;
    const owner = randomUUID();
    const ids = Array.from({ length: 5 }, (_, index) => `${prefix}${index}`);
    for (const id of ids) await create(id);
    const owned = await create(`o-${randomUUID()}`, { owner });
    const named = await create(`n-${randomUUID()}`);
    await create(`foreign-${randomUUID()}`);
    await turns.message(ids[1] ?? '', 'up');
    const token = { sessions: [`${prefix}*`, named, ids[0] ?? ''], owner };
    const expected = [ids[1], named, owned, ids[4], ids[3], ids[2], ids[0]];
    for (const limit of [1, 2, 3, 7, 50]) {
      const seen: string[] = [];
      let next: string | null = '';
      while (next !== null) {
        const one: Page = await page(token, `?limit=${limit}${next === '' ? '' : `&after=${next}`}`);
        expect(one.sessions.length).toBeLessThanOrEqual(limit);
        seen.push(...one.sessions.map(({ session }) => session));
        next = one.next;
      }
      expect(seen).toEqual(expected);
    }
    await call.internal('DELETE', `/sessions/${named}`);
    expect((await page(token)).sessions.map(({ session }) => session)).not.toContain(named);
    await turns.stop(ids[1] ?? '');
  });

  it('says to each reader what he has not seen, and an append alone is nothing to see', async () => {
    const session = await create(`u-${randomUUID()}`, { metadata: { title: 'refund' } });
    const listed = async (subject: string): Promise<Listed> => {
      const [only] = (await page({ sessions: [session], subject })).sessions;
      if (only === undefined) throw new Error('the session is not listed');
      return only;
    };
    const mark = (sequence: number, subject = 'tester') =>
      call.reader('POST', `/sessions/${session}/read`, { token: { subject }, body: JSON.stringify({ sequence }) });
    const quiet = await listed('tester');
    expect(quiet).toEqual({
      session,
      metadata: { title: 'refund' },
      state: 'open',
      head: 0,
      turn: { state: 'idle', turn: null, attempt: null, stop: null },
      activity: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as unknown,
      notable: 0,
      read: 0,
      unread: false,
    });
    await call.append(session, '{"type":"note","data":1}');
    expect(await listed('tester')).toEqual({ ...quiet, head: 1 });

    await turns.message(session, 'hello');
    expect(await listed('tester')).toMatchObject({ unread: false, turn: { state: 'ready' } });
    const claimed = await turns.claim(session);
    await turns.settle(claimed, 'finish', completed);
    const after = await listed('tester');
    expect(after).toMatchObject({ head: 4, notable: 4, read: 0, unread: true });
    expect(after.activity >= quiet.activity).toBe(true);

    expect((await mark(4)).json).toEqual({ read: 4 });
    expect(await listed('tester')).toMatchObject({ read: 4, unread: false });
    expect(await listed('somebody')).toMatchObject({ read: 0, unread: true });
    expect((await mark(1)).json).toEqual({ read: 4 });
    expect((await mark(9_000_000_000_000_000)).json).toEqual({ read: 4 });
  });

  it('refuses a place that it did not give', async () => {
    for (const query of ['?after=x', '?after=', '?after=MS5h&after=MS5h', '?limit=0', '?limit=201']) {
      expectProblem(await call.reader('GET', `/sessions${query}`), 400, 'malformed', {
        where: query.includes('limit') ? 'limit' : 'after',
      });
    }
  });

  it('wants a token with the scope read', async () => {
    for (const path of ['/sessions', '/turns']) {
      expectProblem(await call.reader('GET', path, { token: { scope: 'send write create' } }), 403, 'forbidden', {
        scope: 'read',
      });
      expect((await fetch(deployment.publicUrl + path)).status).toBe(401);
    }
  });
});

describe('the list of turns', () => {
  const listed = async (which: string, session: string) => {
    const answer = await call.reader('GET', `/turns?which=${which}&limit=200`, { token: { sessions: [session] } });
    expect(answer.status).toBe(200);
    return (answer.json as { turns: Record<string, unknown>[] }).turns;
  };
  const act = (claimed: Claimed, what: string) =>
    call.reader('POST', `/sessions/${claimed.session}/turns/${claimed.turn}/${what}`);
  async function failed(): Promise<Claimed> {
    const session = await call.session();
    await turns.message(session, 'hello');
    const claimed = await turns.claim(session);
    await turns.settle(claimed, 'fail', { error: { code: 'broken', message: 'it broke' }, retryable: false });
    return claimed;
  }

  it('has what is under way, in every state', async () => {
    const session = await call.session();
    expect(await listed('active', session)).toEqual([]);
    await turns.message(session, 'hello');
    expect(await listed('active', session)).toMatchObject([{ session, turn: null, status: 'queued', state: 'ready' }]);
    const claimed = await turns.claim(session, { worker: 'agent-host-3' });
    const { turn, attempt } = claimed;
    expect(await listed('active', session)).toMatchObject([
      { session, turn, attempt, status: 'open', state: 'running', worker: 'agent-host-3', tries: 1, error: null },
    ]);
    const approval = `a-${randomUUID()}`;
    await turns.settle(claimed, 'wait', { approvals: [{ approval }] });
    for (const which of ['active', 'attention']) {
      expect(await listed(which, session)).toMatchObject([{ turn, status: 'waiting', state: 'waiting', worker: null }]);
    }
    await turns.stop(session);
    expect(await listed('active', session)).toEqual([]);
    expect(await listed('attention', session)).toEqual([]);
  });

  it('has a failure until somebody takes note of it', async () => {
    const one = await failed();
    expect(await listed('attention', one.session)).toMatchObject([
      { turn: one.turn, status: 'failed', state: 'idle', tries: 1, maxAttempts: 3, error: { code: 'broken' } },
    ]);
    expect(await listed('attention', 'another')).toEqual([]);
    for (const _ of [1, 2]) {
      const noted = await act(one, 'acknowledge');
      expect([noted.status, noted.json]).toEqual([200, {}]);
    }
    expect(await listed('attention', one.session)).toEqual([]);
  });

  it('loses a failure that is tried once more, with the same inputs', async () => {
    const one = await failed();
    const again = await act(one, 'retry');
    expect([again.status, again.json]).toMatchObject([200, { state: 'ready', turn: one.turn, stop: null }]);
    expect(await listed('attention', one.session)).toEqual([]);
    const second = await turns.claim(one.session);
    expect(second).toMatchObject({ turn: one.turn, try: 1, inputs: one.inputs });
    expectProblem(await act(one, 'retry'), 409, 'turn_busy', { state: 'running', turn: one.turn });
    expectProblem(await act(one, 'rerun'), 409, 'turn_busy', { state: 'running', turn: one.turn });
    await turns.settle(second, 'finish', completed);
    expectProblem(await act(one, 'retry'), 409, 'turn_over', { turnStatus: 'done' });
    expectProblem(await act(one, 'acknowledge'), 409, 'turn_over', { turnStatus: 'done' });
  });

  it('is of turns that may be done anew, as another turn', async () => {
    const one = await failed();
    const anew = await act(one, 'rerun');
    expect([anew.status, anew.json]).toEqual([200, { state: 'ready', turn: null, attempt: null, stop: null }]);
    const second = await turns.claim(one.session);
    expect(second.turn).not.toBe(one.turn);
    expect(second.inputs).toEqual(one.inputs);
    await turns.settle(second, 'finish', completed);
  });

  it('knows no turn of another session, and no other kind', async () => {
    const one = await failed();
    const other = await call.session();
    for (const what of ['retry', 'rerun', 'acknowledge']) {
      expectProblem(await act({ ...one, session: other }, what), 404, 'turn_unknown');
    }
    expectProblem(await act({ ...one, turn: 'a%20b' }, 'retry'), 400, 'malformed', { where: 'turn' });
    expectProblem(await call.reader('GET', '/turns?which=all'), 400, 'malformed', { where: 'which' });
    await act(one, 'acknowledge');
  });
});
