/** The agent's side of a session's view: what it does, what is said to it, and how little is asked of the server for that. */
import { describe, expect, test, vi } from 'vitest';
import { eventOf, problem, ScriptedSession } from '../../support/scripted-session.ts';
import { MemoryStorage } from '../../support/sender-scene.ts';
import { viewScripted } from '../../support/viewed-session.ts';

/** So many events that tell nothing of turns, and others behind them. */
function longSession(...lines: readonly (readonly [type: string, data: object])[]): ScriptedSession {
  const session = new ScriptedSession(500);
  for (const [type, data] of lines) session.events.push(eventOf(session.head + 1, data, type));
  return session;
}

describe('what the agent does', () => {
  test('is told by the events, and the server is not asked', async () => {
    const session = longSession(['turn.started', { turn: 't1', attempt: 7, try: 1, inputs: [500] }]);
    const { view, settle, now } = viewScripted({ of: session });
    await settle();
    expect(view.getSnapshot().turn).toMatchObject({ state: 'running', turn: 't1', attempt: 7 });
    session.say('turn.completed', { turn: 't1', attempt: 7, inputs: [500] });
    await settle();
    expect(view.getSnapshot().turn.state).toBe('idle');
    expect(now.turn).toEqual({ state: 'idle' });
    view.stop();
  });

  test('of a session that is read from its beginning needs no question either', async () => {
    const { view, session, settle } = viewScripted({ of: new ScriptedSession(9) });
    await settle();
    expect([view.getSnapshot().turn, session.descriptions]).toEqual([{ state: 'idle' }, 0]);
    view.stop();
  });

  test('before the first event of a window is what the server says, asked once', async () => {
    const session = longSession();
    session.turn = { state: 'waiting', turn: 't1', attempt: 7, stop: null };
    const viewed = viewScripted({ of: session });
    await viewed.settle();
    await viewed.settle();
    expect(viewed.now.turn).toEqual({ state: 'waiting', turn: 't1', attempt: 7 });
    session.broadcast(3);
    await viewed.settle();
    session.say('turn.cancelled', { turn: 't1', attempt: 7, inputs: [1] });
    session.turn = { state: 'idle', turn: null, attempt: null, stop: null };
    await viewed.settle();
    await viewed.settle();
    expect(viewed.now.turn.state).toBe('idle');
    // once at the beginning, and once because something may have been pending that lies before the window
    expect(session.descriptions).toBe(2);
    viewed.view.stop();
    await viewed.settle();
    expect(viewed.remains).toEqual({ timers: 0, listeners: 0, streams: 0 });
  });

  test('is not what an answer says that is older than an event', async () => {
    const session = longSession();
    let answer: ((response: Response) => void) | undefined;
    const late = new Promise<Response>((resolve) => (answer = resolve));
    const viewed = viewScripted({
      of: session,
      fetch: (input, init) =>
        typeof input === 'string' && input.endsWith('/sessions/s1') ? late : session.fetch(input, init),
    });
    await viewed.settle();
    session.say('turn.completed', { turn: 't1', attempt: 7, inputs: [1] });
    await viewed.settle();
    const turn = { state: 'running', turn: 't1', attempt: 7, stop: null };
    answer?.(Response.json({ session: 's1', head: 501, floor: 0, state: 'open', metadata: null, turn, room: null }));
    await viewed.settle();
    expect(viewed.now.turn.state).toBe('idle');
    viewed.view.stop();
  });

  test('is asked again while the server is away, and not after a refusal', async () => {
    const session = longSession();
    session.turn = { state: 'running', turn: 't1', attempt: 7, stop: 'stop' };
    const answers = [problem(503, 'unavailable'), undefined];
    session.meet = ({ path }) => (path === '/sessions/s1' ? answers.shift() : undefined);
    const viewed = viewScripted({ of: session });
    while (viewed.now.turn.state === 'idle') await viewed.world.clock.advance(100);
    expect(viewed.now.turn.state).toBe('stopping');
    viewed.view.stop();

    const refusing = longSession();
    refusing.meet = ({ path }) => (path === '/sessions/s1' ? problem(403, 'forbidden') : undefined);
    const other = viewScripted({ of: refusing });
    for (let step = 0; step < 20; step += 1) {
      refusing.broadcast(1);
      await other.settle();
    }
    expect([refusing.descriptions, other.now.turn]).toEqual([1, { state: 'idle' }]);
    other.view.stop();
  });
});

describe('what is said in a view', () => {
  test('is outgoing until its event is among the others, and in no snapshot both or neither', async () => {
    const viewed = viewScripted({ of: new ScriptedSession(3), storage: new MemoryStorage() });
    await viewed.settle();
    const sent = viewed.view.send('Hello', { onBusy: 'steer' });
    await viewed.settle();
    expect(await sent).toEqual({ sequence: 4 });
    const shown = viewed.snapshots.map(
      ({ outgoing, timeline }) =>
        outgoing.length + timeline.items.filter((item) => item.kind === 'message' && item.text === 'Hello').length,
    );
    expect(shown.slice(shown.indexOf(1))).toEqual(shown.slice(shown.indexOf(1)).map(() => 1));
    expect(viewed.now).toMatchObject({ outgoing: [], turn: { state: 'queued' } });
    const item = viewed.now.timeline.items.at(-1);
    const sentKeys = viewed.session.asked.flatMap(({ body }) => (body === undefined ? [] : [body]));
    expect(sentKeys).toMatchObject([{ key: item?.kind === 'message' && item.request, onBusy: 'steer' }]);
    viewed.view.stop();
    await viewed.settle();
    expect(viewed.remains).toEqual({ timers: 0, listeners: 0, streams: 0 });
  });

  test('while the network is away is there again after a reload, and goes out', async () => {
    const session = new ScriptedSession(3);
    const storage = new MemoryStorage();
    session.meet = ({ method }) => (method === 'POST' ? 'fail' : undefined);
    const before = viewScripted({ of: session, storage });
    await before.settle();
    void before.view.send('Hello');
    await before.settle();
    expect(before.now.outgoing).toMatchObject([{ content: 'Hello', onBusy: 'enqueue', state: 'unsent' }]);
    before.view.stop();
    await before.settle();
    expect(before.remains).toEqual({ timers: 0, listeners: 0, streams: 0 });
    const after = viewScripted({ of: session, storage });
    await after.settle();
    expect(after.now.outgoing).toMatchObject([{ content: 'Hello', state: 'unsent' }]);
    session.meet = () => undefined;
    after.world.wake('online');
    await after.settle();
    await after.settle();
    expect([after.now.outgoing, storage.length, session.head]).toEqual([[], 0, 4]);
    after.view.stop();
  });

  test('and had come through before a reload is not shown twice, whatever of it is on the first screen', async () => {
    for (const behind of [0, 500]) {
      const session = new ScriptedSession(3);
      const storage = new MemoryStorage();
      session.meet = ({ method }) => (method === 'POST' ? 'fail' : undefined);
      const before = viewScripted({ of: session, storage });
      void before.view.send('Hello');
      await before.settle();
      const [{ key } = { key: '' }] = before.now.outgoing;
      before.view.stop();
      session.say('message.created', { key, role: 'user', content: 'Hello', onBusy: 'enqueue' });
      session.append(behind);
      session.meet = () => undefined;
      const after = viewScripted({ of: session, storage });
      await after.settle();
      await after.settle();
      expect([after.now.outgoing, storage.length, session.head]).toEqual([[], 0, 4 + behind]);
      after.view.stop();
    }
  });

  test('and is left unsent is not sent by a view that is stopped at once, as React does with what it mounts twice', async () => {
    const session = new ScriptedSession(3);
    const storage = new MemoryStorage();
    session.meet = ({ method }) => (method === 'POST' ? 'fail' : undefined);
    const before = viewScripted({ of: session, storage });
    void before.view.send('Hello');
    await before.settle();
    before.view.stop();
    const posts = (): number => session.asked.filter(({ method }) => method === 'POST').length;
    const tried = posts();
    const twice = viewScripted({ of: session, storage });
    twice.view.stop();
    await twice.settle();
    expect([posts(), storage.length]).toEqual([tried, 1]);
  });

  test('apart for the users of one browser', async () => {
    const session = new ScriptedSession();
    const storage = new MemoryStorage();
    session.meet = ({ method }) => (method === 'POST' ? 'fail' : undefined);
    const ada = viewScripted({ of: session, storage, share: 'ada' });
    void ada.view.send('Mine');
    await ada.settle();
    ada.view.stop();
    const bob = viewScripted({ of: session, storage, share: 'bob' });
    await bob.settle();
    expect([bob.now.outgoing, storage.length]).toEqual([[], 1]);
    bob.view.stop();
  });
});

describe('a decision', () => {
  const decided = { sequence: 4, state: 'ready' };

  test('is told, and tried again while the network is away', async () => {
    const viewed = viewScripted({ of: new ScriptedSession(3) });
    const { session } = viewed;
    await viewed.settle();
    const answers = ['fail' as const, problem(503, 'unavailable'), Response.json(decided, { status: 201 })];
    session.meet = ({ method }) => (method === 'POST' ? answers.shift() : undefined);
    const result = await viewed.finish(viewed.view.decide('refund', 'denied', 'no'));
    expect(result).toEqual({ decision: 'denied', by: null, sequence: 4, isOurs: true });
    const posts = session.asked.filter(({ method }) => method === 'POST');
    expect(posts.map(({ path, body }) => [path, body])).toEqual(
      Array.from({ length: 3 }, () => [
        '/sessions/s1/decisions',
        { approval: 'refund', decision: 'denied', comment: 'no' },
      ]),
    );
    viewed.view.stop();
  });

  test.each([
    ['that somebody else made before', { decision: 'approved', by: 'maya', sequence: 3 }],
    ['that nobody can make any more', { decision: null, by: null, sequence: null }],
  ])('%s is an answer, and no error', async (_, first) => {
    const viewed = viewScripted({ of: new ScriptedSession(3) });
    await viewed.settle();
    const refusal = { type: 'urn:ledgerline:problem:approval_decided', detail: 'too late', ...first };
    viewed.session.meet = () => Response.json(refusal, { status: 409 });
    expect(await viewed.view.decide('refund', 'denied')).toEqual({ ...first, isOurs: false });
    viewed.view.stop();
  });

  test('that is refused, or meets nobody for half a minute, is an error', async () => {
    const viewed = viewScripted({ of: new ScriptedSession(3) });
    await viewed.settle();
    viewed.session.meet = ({ method }) => (method === 'POST' ? problem(404, 'approval_unknown') : undefined);
    await expect(viewed.view.decide('refund', 'denied')).rejects.toMatchObject({ problem: 'approval_unknown' });
    for (const answer of ['fail', 'hang'] as const) {
      viewed.session.meet = ({ method }) => (method === 'POST' ? answer : undefined);
      const from = viewed.world.clock.now();
      await expect(viewed.finish(viewed.view.decide('refund', 'denied'))).rejects.toMatchObject({
        code: 'unavailable',
      });
      expect(viewed.world.clock.now() - from).toBeGreaterThanOrEqual(30_000);
    }
    viewed.session.meet = () => undefined;
    viewed.view.stop();
    await viewed.settle();
    expect(viewed.remains).toEqual({ timers: 0, listeners: 0, streams: 0 });
  });

  test('ends with its view', async () => {
    const viewed = viewScripted({ of: new ScriptedSession(3) });
    await viewed.settle();
    viewed.session.meet = () => 'hang';
    const deciding = viewed.view.decide('refund', 'denied');
    await viewed.settle();
    viewed.view.stop();
    await expect(deciding).rejects.toMatchObject({ code: 'aborted' });
  });
});

describe('a stop', () => {
  test('names the turn that the reader sees, so that it never hits a newer one', async () => {
    const viewed = viewScripted({ of: new ScriptedSession(3) });
    const { session, view } = viewed;
    await viewed.settle();
    const told = { stopping: true, stopped: false, state: 'running' };
    session.meet = ({ method }) => (method === 'POST' ? Response.json(told, { status: 202 }) : undefined);
    const bodies = (): unknown[] => session.asked.filter(({ path }) => path.endsWith('/stop')).map(({ body }) => body);
    expect(await view.stopTurn()).toEqual(told);
    session.say('turn.started', { turn: 't1', attempt: 5, inputs: [] });
    await viewed.settle();
    await view.stopTurn();
    await view.stopTurn('t0');
    expect(bodies()).toEqual([{}, { turn: 't1' }, { turn: 't0' }]);
    view.stop();
  });
});

test('what changes tells the listeners once a frame', async () => {
  const viewed = viewScripted({ of: new ScriptedSession(3) });
  await viewed.settle();
  const listener = vi.fn<() => void>();
  viewed.view.subscribe(listener);
  for (const content of ['a', 'b', 'c']) void viewed.view.send(content);
  await viewed.world.clock.advance(0);
  expect(listener).toHaveBeenCalledTimes(0);
  await viewed.settle();
  expect(listener).toHaveBeenCalledTimes(1);
  viewed.view.stop();
});
