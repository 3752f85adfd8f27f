/** What a follower owes to whoever takes its events: each once, no faster than they are taken, and no trace behind. */
import { getEventListeners } from 'node:events';
import { describe, expect, test, vi } from 'vitest';
import { followSession } from '../../../web-client/src/follow-session.ts';
import type { FollowerStatus, FollowOptions, SessionEvent } from '../../../web-client/src/follow-session.ts';
import { createStreamReader } from '../../../web-client/src/read-stream.ts';
import { createSessionServer } from '../../../web-client/src/session-server.ts';
import { followScripted, manualWorld } from '../../support/followed-session.ts';
import { frames, problem, ScriptedSession } from '../../support/scripted-session.ts';

function follow(session: ScriptedSession, options: Partial<FollowOptions> = {}) {
  const world = manualWorld();
  const follower = followSession(
    { url: 'http://ledgerline.test', session: 's1', share: false, fetch: session.fetch, ...options },
    world,
  );
  const remains = () => ({ timers: world.clock.waiting, listeners: world.listeners, streams: session.open.length });
  return { follower, clock: world.clock, remains };
}

const nothing = { timers: 0, listeners: 0, streams: 0 };

describe('a consumer that takes its time', () => {
  test('is given nothing more before it is done, and the cursor moves when it is', async () => {
    const session = new ScriptedSession(3);
    const taken: number[][] = [];
    const releases: (() => void)[] = [];
    const { follower, clock } = follow(session, {
      onEvents(events) {
        taken.push(events.map(({ sequence }) => sequence));
        return new Promise((resolve) => releases.push(resolve));
      },
    });
    await clock.settle();
    session.broadcast(1);
    session.broadcast(1);
    await clock.advance(5_000);
    expect([taken, follower.cursor, follower.status.state]).toEqual([[[1, 2, 3]], 0, 'replaying']);
    releases.shift()?.();
    await clock.settle();
    expect([taken, follower.cursor]).toEqual([[[1, 2, 3], [4]], 3]);
    releases.shift()?.();
    await clock.settle();
    releases.shift()?.();
    await clock.settle();
    expect([taken, follower.cursor, follower.status.state]).toEqual([[[1, 2, 3], [4], [5]], 5, 'live']);
    follower.stop();
  });

  test.each(['cut', 'reconnect'] as const)('is not given the same again after a %s in the middle', async (how) => {
    const session = new ScriptedSession(3);
    const taken: number[] = [];
    let release: () => void = () => undefined;
    const { follower, clock } = follow(session, {
      async onEvents(events) {
        await new Promise<void>((resolve) => (release = resolve));
        taken.push(...events.map(({ sequence }) => sequence));
      },
    });
    await clock.settle();
    if (how === 'cut') session.last.cut();
    else follower.reconnect();
    await clock.advance(60_000);
    expect(session.cursors).toEqual([0]);
    session.append(1);
    release();
    await clock.advance(1_000);
    release();
    await clock.settle();
    expect([session.cursors, taken]).toEqual([
      [0, 3],
      [1, 2, 3, 4],
    ]);
    follower.stop();
  });

  test('does not hold up `stop`, and what it still takes counts', async () => {
    const session = new ScriptedSession(3);
    let release: () => void = () => undefined;
    const { follower, clock, remains } = follow(session, {
      onEvents: () => new Promise((resolve) => (release = resolve)),
    });
    await clock.settle();
    follower.stop();
    expect(await follower.done).toEqual({ kind: 'aborted' });
    expect([remains(), follower.cursor]).toEqual([nothing, 0]);
    release();
    await clock.settle();
    expect([follower.cursor, follower.status.state]).toEqual([3, 'stopped']);
  });
});

describe('a callback that throws', () => {
  const failed = { kind: 'refused', error: { name: 'FollowError', code: 'failed', cause: { message: 'no' } } };
  const no = (): never => {
    throw new Error('no');
  };
  const noLater = () => Promise.reject(new Error('no'));

  test.each([
    ['onEvents', no],
    ['onEvents', noLater],
    ['onStatus', no],
    ['onStatus', noLater],
    ['onFault', no],
    ['onFault', noLater],
    ['onReset', no],
    ['onReset', noLater],
  ])('ends the follower, which says so: %s', async (name, callback) => {
    const session = new ScriptedSession(2);
    session.receive = (visit) =>
      visit.say(frames.retry(1), frames.hello(0, 2), frames.reset('expired', 0, 2), session.text(0), session.text(0));
    const { follower, clock, remains } = follow(session, {
      [name]: callback,
      ...(name === 'onEvents' ? {} : { onEvents: () => undefined }),
    });
    await clock.settle();
    expect(await follower.done).toMatchObject(failed);
    expect(follower.status).toMatchObject({ state: 'stopped', end: failed });
    expect(remains()).toEqual(nothing);
    if (name === 'onEvents') expect(follower.cursor).toBe(0);
  });

  test('when it is told of the end leaves it to `done`', async () => {
    const { follower, clock } = follow(new ScriptedSession(), {
      onStatus: ({ state }) => (state === 'stopped' ? no() : undefined),
      onEvents: () => undefined,
    });
    await clock.settle();
    follower.stop();
    expect(await follower.done).toMatchObject(failed);
  });
});

describe('a loop over a follower', () => {
  test('takes each event once, and ends with the session', async () => {
    const session = new ScriptedSession(3);
    const { follower, clock, remains } = follow(session);
    const taken: number[] = [];
    const looping = (async () => {
      for await (const { sequence } of follower) {
        taken.push(sequence);
        if (sequence === 2) session.last.cut();
        if (sequence === 3) session.append(1);
        if (sequence === 4) session.last.say(frames.end(4));
      }
    })();
    await clock.advance(10_000);
    await looping;
    expect(taken).toEqual([1, 2, 3, 4]);
    expect([session.cursors, remains()]).toEqual([[0, 3], nothing]);
  });

  test('throws when the server refuses', async () => {
    const session = new ScriptedSession();
    session.meet = () => problem(404, 'session_unknown');
    const { follower } = follow(session);
    const looping = (async () => {
      for await (const event of follower) throw new Error(`nothing was to come: ${event.sequence}`);
    })();
    await expect(looping).rejects.toMatchObject({ name: 'FollowError', problem: 'session_unknown' });
  });

  test('that is left stops the follower, at the event in hand', async () => {
    const session = new ScriptedSession(5);
    const { follower, remains } = follow(session);
    for await (const { sequence } of follower) if (sequence === 2) break;
    expect(await follower.done).toEqual({ kind: 'aborted' });
    expect([follower.cursor, remains()]).toEqual([2, nothing]);
    for await (const event of follower) throw new Error(`it is over: ${event.sequence}`);
  });

  test('that throws stops the follower too', async () => {
    const session = new ScriptedSession(5);
    const { follower, remains } = follow(session);
    const looping = (async () => {
      for await (const { sequence } of follower) if (sequence === 3) throw new Error('enough');
    })();
    await expect(looping).rejects.toThrow('enough');
    expect(await follower.done).toEqual({ kind: 'aborted' });
    expect([follower.cursor, remains()]).toEqual([3, nothing]);
  });

  test('ends when the follower is stopped from elsewhere, also while it waits', async () => {
    const session = new ScriptedSession(1);
    const { follower, clock } = follow(session);
    const taken: SessionEvent[] = [];
    const looping = (async () => {
      for await (const event of follower) taken.push(event);
    })();
    await clock.settle();
    follower.stop();
    await looping;
    expect(taken.length).toBe(1);
  });

  test('holds up the stream, and what comes before it begins waits for it', async () => {
    const session = new ScriptedSession(3);
    const { follower, clock } = follow(session);
    await clock.settle();
    session.broadcast(1);
    await clock.advance(60_000);
    expect([follower.cursor, session.cursors]).toEqual([0, [0]]);
    const iterator = follower[Symbol.asyncIterator]();
    const taken = [await iterator.next(), await iterator.next()].map(({ value }) => (value as SessionEvent).sequence);
    await clock.settle();
    expect([taken, follower.cursor]).toEqual([[1, 2], 2]);
    expect((await Promise.all([iterator.next(), iterator.next()])).map(({ done }) => done)).toEqual([false, false]);
    expect(follower.cursor).toBe(4);
    await iterator.return?.();
    expect(follower.status.state).toBe('stopped');
  });

  test('comes after `onEvents` where both are there', async () => {
    const session = new ScriptedSession(2);
    const said: string[] = [];
    const { follower } = follow(session, { onEvents: (events) => void said.push(`callback of ${events.length}`) });
    for await (const { sequence } of follower) {
      said.push(`loop ${sequence}`);
      if (sequence === 2) break;
    }
    expect(said).toEqual(['callback of 2', 'loop 1', 'loop 2']);
  });
});

describe('a follower that is over', () => {
  test('leaves nothing on its signal', async () => {
    const { signal } = new AbortController();
    const session = new ScriptedSession(3);
    const { follower, clock } = follow(session, { signal, onEvents: () => undefined });
    await clock.settle();
    expect(getEventListeners(signal, 'abort').length).toBe(1);
    for (let time = 0; time < 20; time += 1) {
      session.last.cut();
      await clock.advance(2_000);
    }
    expect(session.visits.length).toBe(21);
    expect(getEventListeners(signal, 'abort').length).toBe(1);
    follower.stop();
    await follower.done;
    expect(getEventListeners(signal, 'abort').length).toBe(0);
  });

  test('reads visit after visit without heaping listeners on the signal that ends it', async () => {
    const session = new ScriptedSession();
    const world = manualWorld();
    const server = createSessionServer({ url: 'http://ledgerline.test', session: 's1', fetch: session.fetch });
    const { signal } = new AbortController();
    const none = () => undefined;
    const recipient = {
      cursor: 0,
      connecting: none,
      hello: none,
      events: none,
      reset: none,
      connected: none,
      head: none,
      waiting: none,
      fault: none,
    };
    void createStreamReader(server, world)(recipient, signal);
    const counts: number[] = [];
    for (let visit = 0; visit < 12; visit += 1) {
      await world.clock.settle();
      counts.push(getEventListeners(signal, 'abort').length);
      session.last.cut();
      await world.clock.advance(2_000);
    }
    expect(session.visits.length).toBe(13);
    expect(counts).toEqual(counts.map(() => counts[0]));
  });

  test.each([
    ['before it began', () => undefined],
    ['while it connects', (session: ScriptedSession) => void (session.meet = () => 'hang')],
    ['while it waits', (session: ScriptedSession) => void (session.meet = () => 'fail')],
    ['while it reads', (session: ScriptedSession) => void session.append(3)],
    ['while its token is made', () => undefined],
  ])('leaves nothing at all: %s', async (when, prepare) => {
    const session = new ScriptedSession();
    prepare(session);
    const token = when.includes('token') ? { token: () => new Promise<string>(() => undefined) } : {};
    const { follower, clock, remains } = follow(session, { onEvents: () => undefined, ...token });
    if (when !== 'before it began') await clock.advance(5_000);
    follower.stop();
    follower.stop();
    expect(await follower.done).toEqual({ kind: 'aborted' });
    await clock.settle();
    expect(remains()).toEqual(nothing);
    const asked = session.asked.length;
    if (when === 'before it began') expect(asked).toBe(0);
    await clock.advance(600_000);
    expect(session.asked.length).toBe(asked);
  });

  test('still reads history', async () => {
    const session = new ScriptedSession(3);
    const { follower } = follow(session, { onEvents: () => undefined });
    follower.stop();
    await follower.done;
    expect((await follower.history({ before: 3 })).last).toBe(2);
  });

  test('tells of nothing any more', async () => {
    const followed = followScripted({ at: new ScriptedSession(3) });
    await followed.clock.settle();
    const { last } = followed.session;
    followed.follower.stop();
    last.say(frames.sync(99));
    followed.wake('visible');
    await followed.clock.advance(60_000);
    expect([followed.states, followed.faults]).toEqual([['replaying', 'live', 'stopped'], []]);
  });
});

test('everything is in hand before the first callback', async () => {
  const onStatus = vi.fn<(status: FollowerStatus) => void>();
  const session = new ScriptedSession(1);
  const { follower, clock } = follow(session, { onStatus, onEvents: () => undefined });
  expect([onStatus.mock.calls, session.asked]).toEqual([[], []]);
  await clock.settle();
  expect(onStatus.mock.calls).toEqual([[{ state: 'replaying' }], [{ state: 'live' }]]);
  follower.stop();

  const onEnd = vi.fn<(status: FollowerStatus) => void>();
  const ended = follow(session, { onStatus: onEnd, onEvents: () => undefined, signal: AbortSignal.abort() });
  expect([onEnd.mock.calls, ended.follower.status.state]).toEqual([[], 'connecting']);
  await ended.follower.done;
  expect(onEnd.mock.calls).toEqual([[{ state: 'stopped', end: { kind: 'aborted' } }]]);
});

test('events after the head are counted in it', async () => {
  const followed = followScripted({ at: new ScriptedSession(2) });
  expect(followed.follower.head).toBeUndefined();
  await followed.clock.settle();
  followed.session.broadcast(2);
  await followed.clock.settle();
  expect(followed.follower.head).toBe(4);
  followed.session.last.say(frames.sync(4, 9));
  await followed.clock.settle();
  expect([followed.follower.head, followed.follower.cursor]).toEqual([9, 4]);
  followed.follower.stop();
});
