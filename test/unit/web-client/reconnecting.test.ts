/** When a follower comes back, when it does not, and after what wait. */
import { describe, expect, test } from 'vitest';
import { followScripted, manualWorld } from '../../support/followed-session.ts';
import { frames, problem, ScriptedSession } from '../../support/scripted-session.ts';

const waits = (followed: ReturnType<typeof followScripted>) =>
  followed.statuses.flatMap((status) => (status.state === 'waiting' ? [status] : []));

/** Nothing of it is left when it has stopped. */
async function expectGone(followed: ReturnType<typeof followScripted>): Promise<void> {
  followed.follower.stop();
  await followed.clock.settle();
  expect(followed.remains).toEqual({ timers: 0, listeners: 0, streams: 0 });
}

describe('a stream that was served', () => {
  test('is replayed, live, and says where it is', async () => {
    const followed = followScripted({ at: new ScriptedSession(3) });
    expect([followed.follower.status.state, followed.follower.cursor]).toEqual(['connecting', 0]);
    await followed.clock.settle();
    expect(followed.sequences).toEqual([1, 2, 3]);
    expect(followed.states).toEqual(['replaying', 'live']);
    followed.session.broadcast(2);
    await followed.clock.settle();
    expect(followed.sequences).toEqual([1, 2, 3, 4, 5]);
    expect([followed.follower.cursor, followed.follower.head, followed.follower.isLeading]).toEqual([5, 5, true]);
    await expectGone(followed);
    expect(followed.follower.isLeading).toBe(false);
    expect(await followed.follower.done).toEqual({ kind: 'aborted' });
    expect(followed.states).toEqual(['replaying', 'live', 'stopped']);
  });

  test.each(['cut', 'end'] as const)(
    'comes back from its cursor when the connection is lost (%s), no sooner than the server asks',
    async (how) => {
      const followed = followScripted({ at: new ScriptedSession(3) });
      await followed.clock.settle();
      followed.session.last[how]();
      await followed.clock.settle();
      expect(waits(followed)).toMatchObject([{ cause: 'cut', attempt: 0, until: followed.clock.wall() + 1_000 }]);
      await followed.clock.advance(999);
      expect(followed.session.cursors).toEqual([0]);
      followed.session.append(1);
      await followed.clock.advance(1);
      expect(followed.session.cursors).toEqual([0, 3]);
      expect(followed.sequences).toEqual([1, 2, 3, 4]);
      expect(followed.states).toEqual(['replaying', 'live', 'waiting', 'connecting', 'replaying', 'live']);
      await expectGone(followed);
    },
  );

  test.each([2_310, 7])('of a server that drains comes back in exactly its own slot of %i ms', async (slotMs) => {
    const followed = followScripted({ at: new ScriptedSession(3) });
    await followed.clock.settle();
    followed.session.last.say(frames.goaway(3, slotMs));
    await followed.clock.settle();
    expect(waits(followed)).toMatchObject([{ cause: 'draining', attempt: 0, until: followed.clock.wall() + slotMs }]);
    expect(followed.session.open).toEqual([]);
    await followed.clock.advance(slotMs);
    expect(followed.session.cursors).toEqual([0, 3]);
    await expectGone(followed);
  });

  test('that is cut after every hello does not make the waits longer', async () => {
    const followed = followScripted();
    followed.session.receive = (visit) => {
      visit.say(frames.retry(800), frames.hello(0, 0));
      visit.cut();
    };
    await followed.clock.advance(10_000);
    const seen = waits(followed);
    expect(seen.length).toBeGreaterThan(8);
    expect(new Set(seen.map(({ attempt }) => attempt))).toEqual(new Set([0]));
    await expectGone(followed);
  });
});

describe('a server that cannot serve', () => {
  test.each([
    ['no network', () => 'fail' as const],
    ['500', () => problem(500, 'internal')],
    ['503', () => problem(503, 'unavailable')],
    ['502 of a proxy', () => new Response('<html>', { status: 502 })],
    ['408', () => new Response(null, { status: 408 })],
    ['425', () => new Response(null, { status: 425 })],
    ['429', () => new Response(null, { status: 429 })],
  ])('is asked again under growing waits: %s', async (_, answer) => {
    const followed = followScripted({ world: manualWorld(7) });
    followed.session.meet = answer;
    await followed.clock.advance(60_000);
    const seen = waits(followed);
    expect(seen.slice(0, 6).map(({ cause, attempt }) => [cause, attempt])).toEqual(
      [1, 2, 3, 4, 5, 6].map((attempt) => ['unreachable', attempt]),
    );
    // with the mean of full jitter at 2.5 s a minute holds about 24 tries; a loop would make thousands
    expect(seen.length).toBeGreaterThan(10);
    expect(seen.length).toBeLessThan(60);
    followed.session.meet = () => undefined;
    await followed.clock.advance(5_000);
    expect(followed.follower.status).toEqual({ state: 'live' });
    followed.session.last.cut();
    await followed.clock.settle();
    expect(waits(followed).at(-1)).toMatchObject({ cause: 'cut', attempt: 0 });
    await expectGone(followed);
  });

  test.each([
    ['seconds', () => '7'],
    ['a date', (wallMs: number) => new Date(wallMs + 7_000).toUTCString()],
  ])('is not asked before its Retry-After: %s', async (_, value) => {
    const followed = followScripted();
    const { clock, session } = followed;
    session.meet = (_asked, index) =>
      index === 0 ? problem(503, 'draining', { 'retry-after': value(clock.wall()) }) : undefined;
    await clock.settle();
    await clock.advance(5_900);
    expect(session.cursors).toEqual([0]);
    await clock.advance(1_200);
    expect(session.cursors).toEqual([0, 0]);
    await expectGone(followed);
  });

  test('and answers a stream that ends at once is not asked before the wait that it names', async () => {
    const followed = followScripted();
    followed.session.receive = (visit) => {
      visit.say(frames.retry(3_000));
      visit.end();
    };
    await followed.clock.advance(2_999);
    expect(followed.session.cursors).toEqual([0]);
    expect(waits(followed)).toMatchObject([{ cause: 'unreachable', attempt: 1 }]);
    await followed.clock.advance(1);
    expect(followed.session.cursors).toEqual([0, 0]);
    await expectGone(followed);
  });

  test('and never answers is given up after the silence that a stream is given', async () => {
    const followed = followScripted();
    followed.session.meet = () => 'hang';
    await followed.clock.advance(37_499);
    expect(waits(followed)).toEqual([]);
    await followed.clock.advance(1);
    expect(waits(followed)).toMatchObject([{ cause: 'silent', attempt: 1 }]);
    await expectGone(followed);
  });
});

describe('the end', () => {
  test('of a session is no reason to come back [fetch-event-source#79]', async () => {
    const followed = followScripted({ at: new ScriptedSession(2) });
    followed.session.receive = (visit) => {
      followed.session.serve(visit);
      visit.say(frames.end(2));
      visit.end();
    };
    await followed.clock.advance(600_000);
    expect(await followed.follower.done).toEqual({ kind: 'ended', reason: 'closed' });
    expect(followed.sequences).toEqual([1, 2]);
    expect(followed.session.cursors).toEqual([0]);
    expect(followed.remains).toEqual({ timers: 0, listeners: 0, streams: 0 });
    expect(followed.statuses.at(-1)).toEqual({ state: 'stopped', end: { kind: 'ended', reason: 'closed' } });
  });

  test('is told by 204, which a reader gets that has everything [jersey#6119]', async () => {
    const followed = followScripted({ after: 2 });
    followed.session.meet = () => new Response(null, { status: 204 });
    await followed.clock.advance(600_000);
    expect(await followed.follower.done).toEqual({ kind: 'ended', reason: 'closed' });
    expect(followed.session.cursors).toEqual([2]);
  });

  test.each([
    ['in the stream', 'stream'],
    ['at the door', 'door'],
  ])('of a session that was deleted is told %s', async (_, where) => {
    const followed = followScripted();
    followed.session.receive = (visit) => visit.say(frames.retry(1), frames.hello(0, 0), frames.end(0, 'deleted'));
    if (where === 'door') followed.session.meet = () => problem(410, 'session_deleted');
    await followed.clock.advance(600_000);
    expect(await followed.follower.done).toEqual({ kind: 'ended', reason: 'deleted' });
    expect(followed.session.cursors).toEqual([0]);
  });

  test.each([
    [400, 'malformed'],
    [403, 'forbidden'],
    [404, 'session_unknown'],
  ])('comes at once when the server refuses with %i %s', async (status, code) => {
    const followed = followScripted();
    followed.session.meet = () => problem(status, code);
    await followed.clock.advance(600_000);
    expect(await followed.follower.done).toMatchObject({
      kind: 'refused',
      error: { name: 'FollowError', code: 'refused', status, problem: code, message: `it is ${code}` },
    });
    expect(followed.session.cursors).toEqual([0]);
    expect(followed.remains).toEqual({ timers: 0, listeners: 0, streams: 0 });
  });

  test('comes at once when a login page answers', async () => {
    const followed = followScripted();
    followed.session.meet = () => new Response('<html>', { headers: { 'content-type': 'text/html' } });
    await followed.clock.advance(600_000);
    expect(await followed.follower.done).toMatchObject({
      kind: 'refused',
      error: { code: 'not_ledgerline', status: 200 },
    });
    expect(followed.session.cursors).toEqual([0]);
  });

  test('comes with the signal, also one that was aborted before', async () => {
    const early = followScripted({ signal: AbortSignal.abort() });
    expect(await early.follower.done).toEqual({ kind: 'aborted' });
    expect(early.session.asked).toEqual([]);
    const controller = new AbortController();
    const late = followScripted({ signal: controller.signal, at: new ScriptedSession(1) });
    await late.clock.settle();
    controller.abort();
    expect(await late.follower.done).toEqual({ kind: 'aborted' });
    expect(late.remains).toEqual({ timers: 0, listeners: 0, streams: 0 });
  });
});

describe('silence', () => {
  test('of 2.5 sync intervals is a dead connection, and reading goes on at the cursor', async () => {
    const followed = followScripted({ at: new ScriptedSession(3) });
    await followed.clock.advance(37_499);
    followed.session.last.say(frames.sync(3));
    await followed.clock.advance(37_499);
    expect(waits(followed)).toEqual([]);
    followed.session.append(2);
    await followed.clock.advance(2);
    expect(waits(followed)).toMatchObject([{ cause: 'silent', attempt: 0 }]);
    expect(followed.session.open).toEqual([]);
    await followed.clock.advance(1_000);
    expect(followed.sequences).toEqual([1, 2, 3, 4, 5]);
    await expectGone(followed);
  });

  test('while the consumer is at work is the consumer’s', async () => {
    let release: () => void = () => undefined;
    const followed = followScripted({
      at: new ScriptedSession(3),
      onEvents: () => new Promise((resolve) => (release = resolve)),
    });
    await followed.clock.advance(600_000);
    expect(waits(followed)).toEqual([]);
    release();
    await followed.clock.settle();
    expect(followed.sequences).toEqual([1, 2, 3]);
    expect([followed.session.cursors, followed.states]).toEqual([[0], ['replaying', 'live']]);
    await expectGone(followed);
  });

  test('that a frozen page only believes to have seen is looked at once more', async () => {
    const world = manualWorld();
    const { clock } = world;
    const frozen: (() => void)[] = [];
    const followed = followScripted({
      at: new ScriptedSession(1),
      world: {
        ...world,
        clock: {
          ...clock,
          after: (ms, run) => (ms === 37_500 ? clock.after(ms + 60_000, () => frozen.push(run)) : clock.after(ms, run)),
        },
      },
    });
    await clock.advance(97_500);
    // the page thaws: its timer is a minute late, and behind it wait the bytes
    frozen.splice(0).forEach((run) => run());
    followed.session.last.say(frames.sync(1));
    await clock.advance(2_000);
    expect(waits(followed)).toEqual([]);
    followed.follower.stop();
  });
});

test('ten cuts in a long session cost about one session [langgraphjs PR#2805]', async () => {
  const session = new ScriptedSession(20_000);
  const log = session.text(0).length;
  session.eventBytes = 0;
  let cuts = 0;
  session.receive = (visit) => {
    const from = Number(visit.cursor);
    visit.say(frames.retry(10), frames.hello(from, session.head));
    if (cuts < 10) {
      cuts += 1;
      const text = session.text(from, from + 1_900);
      // in the middle of a frame
      visit.say(text.slice(0, -20));
      visit.cut();
    } else visit.say(session.text(from), frames.connected(session.head));
  };
  const followed = followScripted({ at: session });
  await followed.clock.advance(20_000);
  expect(followed.sequences.length).toBe(20_000);
  expect(followed.sequences.every((sequence, index) => sequence === index + 1)).toBe(true);
  expect(cuts).toBe(10);
  expect(session.eventBytes / log).toBeLessThan(1.05);
  await expectGone(followed);
});
