/** What a session's server is asked, with which token, and what becomes of its answers. */
import { describe, expect, test, vi } from 'vitest';
import { FollowError } from '../../../web-client/src/follow-error.ts';
import { createSessionServer } from '../../../web-client/src/session-server.ts';
import type { SessionServerOptions } from '../../../web-client/src/session-server.ts';
import { followScripted } from '../../support/followed-session.ts';
import { frames, problem, ScriptedSession } from '../../support/scripted-session.ts';

const { signal } = new AbortController();
const bearer = (session: ScriptedSession) => session.asked.map(({ headers }) => headers.get('authorization'));

function serverOf(session: ScriptedSession, options: Partial<SessionServerOptions> = {}) {
  return createSessionServer({ url: 'http://ledgerline.test', session: 's1', fetch: session.fetch, ...options });
}

/** Lets only this token in. */
const letIn = (session: ScriptedSession, token: string): void => {
  session.meet = ({ headers }) =>
    headers.get('authorization') === `Bearer ${token}` ? undefined : problem(401, 'unauthorized');
};

describe('a request', () => {
  test('for the stream says what it takes, and where it goes on', async () => {
    const session = new ScriptedSession(9);
    const server = serverOf(session, { token: 'secret' });
    for (const cursor of [7, 0, 'head'] as const) await server.open(cursor, signal);
    const named = session.asked.map(({ path, query, headers }) => ({ path, query, ...Object.fromEntries(headers) }));
    const always = {
      path: '/sessions/s1/stream',
      query: '',
      accept: 'text/event-stream',
      prefer: 'handling=strict',
      authorization: 'Bearer secret',
    };
    expect(named).toEqual([{ ...always, 'last-event-id': '7' }, always, { ...always, query: '?after=head' }]);
  });

  test('goes to the page’s own origin, or where it is told, and is never answered out of a cache', async () => {
    const asked: [string, RequestInit | undefined][] = [];
    const spy: typeof fetch = (input, init) => {
      asked.push([input as string, init]);
      return Promise.resolve(Response.json({ head: 0, state: 'open' }));
    };
    await createSessionServer({ url: '', session: 's1', fetch: spy }).describe();
    await createSessionServer({
      url: 'https://a.test/ll//',
      session: 'a/b',
      fetch: spy,
      credentials: 'include',
    }).describe();
    expect(asked.map(([url]) => url)).toEqual(['/sessions/s1', 'https://a.test/ll/sessions/a%2Fb']);
    expect(asked.map(([, init]) => init)).toMatchObject([{ cache: 'no-store' }, { credentials: 'include' }]);
    expect(asked[0]?.[1]).not.toHaveProperty('credentials');
    expect(asked[0]?.[1]?.headers).not.toHaveProperty('Authorization');
  });

  test('that cannot be made is an error at once, and not a network that is away', async () => {
    for (const wrong of [{ url: '' }, { url: 'http://[' }, { token: 'two\nlines' }, { token: 'naïve \u{1F511}' }]) {
      const server = createSessionServer({ url: 'http://127.0.0.1:1', session: 's1', ...wrong });
      await expect(server.describe()).rejects.toMatchObject({ name: 'FollowError', code: 'failed' });
    }
    const away = createSessionServer({ url: 'http://127.0.0.1:1', session: 's1' });
    await expect(away.describe()).rejects.toMatchObject({ code: 'unavailable' });
  });
});

describe('a page of history', () => {
  test('is asked for in both directions', async () => {
    const session = new ScriptedSession(9);
    const server = serverOf(session);
    expect(await server.history({ after: 2, limit: 3 })).toEqual({
      events: session.events.slice(2, 5),
      first: 3,
      last: 5,
      head: 9,
      floor: 0,
    });
    expect((await server.history({ before: 5 })).events).toEqual(session.events.slice(0, 4));
    expect(session.asked.map(({ query }) => query)).toEqual(['?after=2&limit=3', '?before=5']);
  });

  test.each([
    ['refused', () => problem(404, 'session_unknown'), { code: 'refused', status: 404, problem: 'session_unknown' }],
    [
      'refused by a proxy',
      () => new Response('no', { status: 403 }),
      { code: 'refused', status: 403, problem: undefined },
    ],
    ['gone', () => problem(410, 'session_deleted'), { code: 'refused', status: 410, problem: 'session_deleted' }],
    [
      'not now',
      () => problem(503, 'unavailable', { 'retry-after': '2' }),
      { code: 'unavailable', status: 503, problem: 'unavailable', retryAfterMs: 2_000 },
    ],
    ['unreachable', () => 'fail' as const, { code: 'unavailable' }],
    ['HTML', () => new Response('<html>'), { code: 'not_ledgerline', status: 200 }],
    ['other JSON', () => Response.json({ events: [{}], head: 1 }), { code: 'not_ledgerline', status: 200 }],
    ['no object', () => Response.json(null), { code: 'not_ledgerline', status: 200 }],
    ['nothing', () => new Response(null, { status: 204 }), { code: 'not_ledgerline', status: 204 }],
  ])('that is %s is an error with its reason', async (_, answer, reason) => {
    const session = new ScriptedSession(1);
    session.meet = answer;
    const error: unknown = await serverOf(session)
      .history({ after: 0 })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(FollowError);
    expect(error).toMatchObject(reason);
  });

  test('ends with the signal', async () => {
    const session = new ScriptedSession();
    session.meet = () => 'hang';
    const controller = new AbortController();
    const asking = serverOf(session).history({ after: 0 }, controller.signal);
    controller.abort();
    await expect(asking).rejects.toMatchObject({ code: 'aborted' });
  });
});

describe('the token function', () => {
  test('is asked once, by whatever asks at the same time, until its answer is refused', async () => {
    const session = new ScriptedSession(1);
    let made = 0;
    const token = vi.fn<() => Promise<string>>(() => Promise.resolve(`token ${(made += 1)}`));
    const server = serverOf(session, { token });
    await Promise.all([server.history({ after: 0 }), server.describe(), server.open(0, signal)]);
    expect([token.mock.calls.length, new Set(bearer(session))]).toEqual([1, new Set(['Bearer token 1'])]);
    letIn(session, 'token 2');
    await Promise.all([server.history({ after: 0 }), server.describe()]);
    expect(token).toHaveBeenCalledTimes(2);
  });

  test('that gives what is refused again is final, and is asked anew by the next request', async () => {
    const session = new ScriptedSession(1);
    const token = vi.fn<() => string>(() => 'stale');
    const server = serverOf(session, { token });
    letIn(session, 'fresh');
    await expect(server.describe()).rejects.toMatchObject({ code: 'refused', status: 401, problem: 'unauthorized' });
    expect([token.mock.calls.length, session.asked.length]).toEqual([2, 2]);
    token.mockReturnValue('fresh');
    expect(await server.describe()).toMatchObject({ head: 1 });
  });

  test('that fails is told apart from the server, whether it throws or rejects', async () => {
    for (const token of [
      () => Promise.reject(new Error('logged out')),
      () => {
        throw new Error('logged out');
      },
    ]) {
      const asking = serverOf(new ScriptedSession(), { token }).describe();
      await expect(asking).rejects.toMatchObject({ code: 'token', cause: { message: 'logged out' } });
    }
  });

  test('that never answers does not spoil the next try', async () => {
    const session = new ScriptedSession(1);
    const token = vi.fn<() => string | Promise<string>>(() => new Promise(() => undefined));
    const server = serverOf(session, { token });
    const controller = new AbortController();
    const asking = server.describe(controller.signal);
    controller.abort();
    await expect(asking).rejects.toMatchObject({ code: 'aborted' });
    token.mockReturnValue('ok');
    await server.describe();
    expect(bearer(session)).toEqual(['Bearer ok']);
  });
});

describe('a follower whose token ends', () => {
  test('asks for another at once and goes on from its cursor [ably/docs#837]', async () => {
    const session = new ScriptedSession(3);
    let made = 0;
    const followed = followScripted({ at: session, token: () => `token ${(made += 1)}` });
    await followed.clock.settle();
    session.append(1);
    session.last.say(frames.denied(3));
    session.last.end();
    await followed.clock.settle();
    expect([session.cursors, bearer(session)]).toEqual([
      [0, 3],
      ['Bearer token 1', 'Bearer token 2'],
    ]);
    expect(followed.sequences).toEqual([1, 2, 3, 4]);
    expect(followed.statuses.filter(({ state }) => state === 'waiting')).toMatchObject([
      { cause: 'token', attempt: 0 },
    ]);
    followed.follower.stop();
  });

  test('between two connections does the same', async () => {
    const session = new ScriptedSession(3);
    let made = 0;
    const followed = followScripted({ at: session, token: () => `token ${(made += 1)}` });
    await followed.clock.settle();
    letIn(session, 'token 2');
    session.last.cut();
    await followed.clock.advance(1_000);
    expect([session.cursors, made]).toEqual([[0, 3, 3], 2]);
    expect(followed.follower.status.state).toBe('live');
    followed.follower.stop();
  });

  test('is not fooled when history renewed it first', async () => {
    const session = new ScriptedSession(3);
    let made = 0;
    const followed = followScripted({ at: session, token: () => `token ${(made += 1)}` });
    await followed.clock.settle();
    letIn(session, 'token 2');
    await followed.follower.history({ after: 0 });
    session.last.say(frames.denied(3));
    await followed.clock.settle();
    expect([made, followed.follower.status.state]).toEqual([2, 'live']);
    followed.follower.stop();
  });

  test('for good is refused, when it is a constant', async () => {
    for (const where of ['stream', 'door']) {
      const session = new ScriptedSession(3);
      session.receive = (visit) => visit.say(frames.retry(1), frames.hello(0, 3), frames.denied(0));
      if (where === 'door') letIn(session, 'another');
      const followed = followScripted({ at: session, token: 'constant' });
      await followed.clock.advance(60_000);
      expect(await followed.follower.done).toMatchObject({
        kind: 'refused',
        error: { code: 'refused', status: 401, problem: 'unauthorized' },
      });
      expect(session.cursors).toEqual([0]);
    }
  });

  test('and whose function gives one that is over does not hammer', async () => {
    const session = new ScriptedSession(3);
    session.receive = (visit) => visit.say(frames.retry(1), frames.hello(0, 3), frames.denied(0));
    const token = vi.fn<() => string>(() => 'over');
    const followed = followScripted({ at: session, token });
    await followed.clock.settle();
    expect(session.visits.length).toBe(2);
    await followed.clock.advance(60_000);
    expect(session.visits.length).toBeLessThan(60);
    expect(followed.follower.status).toMatchObject({ state: 'waiting', cause: 'token' });
    session.receive = (visit) => session.serve(visit);
    await followed.clock.advance(5_000);
    expect(followed.sequences).toEqual([1, 2, 3]);
    followed.follower.stop();
  });

  test('and whose function fails waits for it', async () => {
    const session = new ScriptedSession(3);
    const token = vi.fn<() => string>(() => {
      throw new Error('logged out');
    });
    const followed = followScripted({ at: session, token });
    await followed.clock.advance(30_000);
    expect(followed.follower.status).toMatchObject({ state: 'waiting', cause: 'token' });
    expect([session.asked.length, token.mock.calls.length > 3]).toEqual([0, true]);
    token.mockReturnValue('ok');
    await followed.clock.advance(5_000);
    expect(followed.sequences).toEqual([1, 2, 3]);
    followed.follower.stop();
  });
});
