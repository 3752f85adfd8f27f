/** What a follower does when its page comes to the front, the network is back, or the machine has slept. */
import { describe, expect, test } from 'vitest';
import { followScripted } from '../../support/followed-session.ts';
import { frames, problem, ScriptedSession } from '../../support/scripted-session.ts';

/** Live, with three events. */
async function live(session = new ScriptedSession(3)) {
  const followed = followScripted({ at: session });
  await followed.clock.settle();
  expect(followed.follower.status.state).toBe('live');
  return followed;
}

describe('a page that waits', () => {
  test.each(['visible', 'online', 'resumed', 'asked'] as const)('comes back at once: %s', async (wake) => {
    const followed = await live();
    followed.session.last.cut();
    await followed.clock.settle();
    expect(followed.follower.status.state).toBe('waiting');
    followed.wake(wake);
    await followed.clock.settle();
    expect(followed.session.cursors).toEqual([0, 3]);
    expect(followed.follower.status.state).toBe('live');
    followed.follower.stop();
    await followed.clock.settle();
    expect(followed.remains).toEqual({ timers: 0, listeners: 0, streams: 0 });
  });
});

describe('a page that is live', () => {
  test('is hidden and shown 20 times on one connection, without another request for it [fetch-event-source#51]', async () => {
    const followed = await live();
    for (let time = 0; time < 20; time += 1) {
      followed.wake('visible');
      if (time % 4 === 0) followed.session.broadcast(1);
      await followed.clock.advance(300);
    }
    expect(followed.session.cursors).toEqual([0]);
    expect(followed.session.descriptions).toBeLessThanOrEqual(20);
    expect(followed.sequences).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(followed.states).toEqual(['replaying', 'live']);
    followed.follower.stop();
  });

  test('shares one comparison among wakes that come while it is under way', async () => {
    const followed = await live();
    for (let time = 0; time < 20; time += 1) followed.wake(time % 2 === 0 ? 'visible' : 'resumed');
    await followed.clock.settle();
    expect(followed.session.descriptions).toBe(1);
    followed.wake('online');
    await followed.clock.advance(5_000);
    expect([followed.session.descriptions, followed.session.cursors]).toEqual([2, [0]]);
    followed.follower.stop();
    await followed.clock.settle();
    expect(followed.remains).toEqual({ timers: 0, listeners: 0, streams: 0 });
  });

  test.each(['visible', 'resumed', 'online'] as const)(
    'whose connection died silently catches up: %s [supabase#5290]',
    async (wake) => {
      const followed = await live();
      followed.session.append(2);
      followed.wake(wake);
      await followed.clock.advance(999);
      expect(followed.session.cursors).toEqual([0]);
      expect(followed.follower.head).toBe(5);
      await followed.clock.advance(1);
      expect(followed.session.cursors).toEqual([0, 3]);
      expect(followed.sequences).toEqual([1, 2, 3, 4, 5]);
      expect(followed.session.open.length).toBe(1);
      expect(followed.follower.status.state).toBe('live');
      followed.follower.stop();
    },
  );

  test('waits for what is on its way', async () => {
    const followed = await live();
    const [fourth] = followed.session.append(1);
    followed.wake('visible');
    await followed.clock.advance(500);
    followed.session.last.say(frames.event(fourth!));
    await followed.clock.advance(10_000);
    expect(followed.session.cursors).toEqual([0]);
    expect(followed.sequences).toEqual([1, 2, 3, 4]);
    followed.follower.stop();
  });

  test('is not cut while it is still being brought up', async () => {
    const session = new ScriptedSession(50);
    session.receive = (visit) => visit.say(frames.retry(1), frames.hello(0, 50));
    const followed = followScripted({ at: session });
    await followed.clock.settle();
    followed.wake('visible');
    for (let sent = 0; sent < 50; sent += 1) {
      session.last.say(session.text(sent, sent + 1));
      await followed.clock.advance(900);
    }
    await followed.clock.advance(5_000);
    expect(session.cursors).toEqual([0]);
    expect(followed.sequences.length).toBe(50);
    followed.follower.stop();
  });

  test('is not cut while its own consumer is at work', async () => {
    let release: () => void = () => undefined;
    const followed = followScripted({
      at: new ScriptedSession(3),
      onEvents: () => new Promise((resolve) => (release = resolve)),
    });
    await followed.clock.settle();
    followed.wake('visible');
    await followed.clock.advance(20_000);
    release();
    await followed.clock.advance(3_000);
    expect(followed.session.cursors).toEqual([0]);
    expect(followed.sequences).toEqual([1, 2, 3]);
    followed.follower.stop();
  });

  test.each([
    ['nobody answers', () => 'hang' as const],
    ['the network is away', () => 'fail' as const],
    ['the server is unwell', () => problem(503, 'unavailable')],
  ])('comes back when heads cannot be compared: %s', async (_, answer) => {
    const followed = await live();
    followed.session.meet = ({ path }) => (path.endsWith('/stream') ? undefined : answer());
    followed.wake('visible');
    await followed.clock.advance(5_000);
    expect(followed.session.cursors).toEqual([0, 3]);
    expect(followed.session.open.length).toBe(1);
    expect(followed.follower.status.state).toBe('live');
    followed.follower.stop();
    await followed.clock.settle();
    expect(followed.remains).toEqual({ timers: 0, listeners: 0, streams: 0 });
  });

  test.each([
    ['the session was closed', (session: ScriptedSession) => void (session.state = 'closed')],
    ['the database was restored', (session: ScriptedSession) => void session.events.pop()],
  ])('comes back when it was not told that %s', async (_, happen) => {
    const followed = await live();
    happen(followed.session);
    followed.session.receive = (visit) => visit.say(frames.retry(1), frames.hello(3, 3), frames.end(3));
    followed.wake('visible');
    await followed.clock.advance(1_000);
    expect(followed.session.cursors).toEqual([0, 3]);
    expect(await followed.follower.done).toEqual({ kind: 'ended', reason: 'closed' });
  });
});

describe('a page whose request is not answered yet', () => {
  test('leaves it be when it becomes visible', async () => {
    const followed = followScripted();
    followed.session.meet = () => 'hang';
    await followed.clock.settle();
    followed.wake('visible');
    await followed.clock.advance(10_000);
    expect(followed.session.cursors).toEqual([0]);
    followed.follower.stop();
  });

  test.each(['online', 'resumed'] as const)('asks again, for the network is another: %s', async (wake) => {
    const followed = followScripted({ at: new ScriptedSession(1) });
    followed.session.meet = (_, index) => (index === 0 ? 'hang' : undefined);
    await followed.clock.settle();
    followed.wake(wake);
    await followed.clock.settle();
    expect(followed.session.cursors).toEqual([0, 0]);
    expect(followed.sequences).toEqual([1]);
    followed.follower.stop();
  });
});

test('a connection is severed on demand, and comes back at once from the cursor', async () => {
  const followed = await live();
  followed.follower.reconnect();
  await followed.clock.settle();
  expect(followed.session.cursors).toEqual([0, 3]);
  expect(followed.session.open.length).toBe(1);
  expect(followed.statuses.slice(2)).toMatchObject([
    { state: 'waiting', cause: 'asked', attempt: 0 },
    { state: 'connecting' },
    { state: 'replaying' },
    { state: 'live' },
  ]);
  followed.follower.stop();
  followed.follower.reconnect();
  await followed.clock.advance(10_000);
  expect(followed.session.cursors).toEqual([0, 3]);
});
