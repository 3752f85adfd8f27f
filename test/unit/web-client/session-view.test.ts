/** A session's view: how it opens, grows, goes back, stays small, and survives what becomes of the session. */
import { describe, expect, test, vi } from 'vitest';
import type { SessionSnapshot } from '../../../web-client/src/session-view.ts';
import { eventOf, frames, problem, ScriptedSession } from '../../support/scripted-session.ts';
import { grow } from '../../../web-client/src/session-window.ts';
import { isContiguous, viewScripted } from '../../support/viewed-session.ts';
import type { Viewed } from '../../support/viewed-session.ts';

vi.mock('../../../web-client/src/session-window.ts', { spy: true });

async function expectGone(viewed: Viewed): Promise<void> {
  viewed.view.stop();
  viewed.view.stop();
  await viewed.settle();
  expect(viewed.remains).toEqual({ timers: 0, listeners: 0, streams: 0 });
}

/** The history's pages and the stream, with a floor. */
function withFloor(session: ScriptedSession, floor: number): void {
  session.meet = ({ path, query, cursor }) => {
    if (path.endsWith('/stream')) {
      session.receive = (visit) => {
        if (cursor !== 'head' && cursor < floor) {
          visit.say(frames.retry(1_000), frames.hello(floor, session.head, floor));
          visit.say(frames.reset('expired', floor, session.head), session.text(floor));
          visit.say(frames.connected(session.head));
        } else session.serve(visit);
      };
      return undefined;
    }
    const params = new URLSearchParams(query);
    const before = Math.min(Number(params.get('before')), session.head + 1);
    const events = session.events.slice(
      Math.max(floor, before - 1 - Number(params.get('limit'))),
      Math.max(before - 1, floor),
    );
    const [first, last] = [events[0]?.sequence ?? null, events.at(-1)?.sequence ?? null];
    return Response.json({ events, first, last, head: session.head, floor });
  };
}

/** One answer of the server is on its way until the test lets it arrive. */
function held(session: ScriptedSession, query: string): { readonly fetch: typeof fetch; arrive(): void } {
  let arrive = (): void => undefined;
  const arrived = new Promise<void>((resolve) => (arrive = resolve));
  return {
    async fetch(input, init) {
      const response = await session.fetch(input, init);
      if ((input as string).includes(query)) await arrived;
      return response;
    },
    arrive: () => arrive(),
  };
}

describe('a view opens', () => {
  test('at the end, and follows from there', async () => {
    const viewed = viewScripted({ of: new ScriptedSession(500) });
    expect(viewed.now).toMatchObject({ status: { state: 'connecting' }, events: [], hasOlder: false, cursor: 'head' });
    await viewed.settle();
    expect(viewed.pages).toEqual([`?before=${Number.MAX_SAFE_INTEGER}&limit=200`]);
    expect(viewed.session.cursors).toEqual([500]);
    expect(viewed.span).toEqual([301, 500]);
    expect(viewed.now).toMatchObject({
      status: { state: 'live' },
      cursor: 500,
      head: 500,
      floor: 0,
      hasOlder: true,
      isLoadingOlder: false,
      isLeading: true,
    });
    viewed.session.broadcast(3);
    await viewed.settle();
    expect(viewed.span).toEqual([301, 503]);
    expect(viewed.now).toMatchObject({ cursor: 503, head: 503 });
    expect(viewed.now.timeline.items.length).toBe(203);
    await expectGone(viewed);
  });

  test('on an empty session, and misses nothing that comes then', async () => {
    const viewed = viewScripted();
    await viewed.settle();
    expect(viewed.now).toMatchObject({ status: { state: 'live' }, cursor: 0, head: 0, hasOlder: false });
    viewed.session.broadcast(2);
    await viewed.settle();
    expect(viewed.span).toEqual([1, 2]);
    await expectGone(viewed);
  });

  test('where it is told to, without a page', async () => {
    const viewed = viewScripted({ of: new ScriptedSession(10), after: 4 });
    await viewed.settle();
    expect([viewed.pages, viewed.session.cursors, viewed.span]).toEqual([[], [4], [5, 10]]);
    expect(viewed.now.hasOlder).toBe(true);
    await viewed.finish(viewed.view.loadOlder());
    expect([viewed.span, viewed.now.hasOlder]).toEqual([[1, 10], false]);
    await expectGone(viewed);
  });

  test('with now, and goes back from there', async () => {
    const viewed = viewScripted({ of: new ScriptedSession(10), after: 'head' });
    await viewed.settle();
    expect([viewed.now.events, viewed.now.cursor, viewed.now.hasOlder]).toEqual([[], 10, true]);
    await viewed.finish(viewed.view.loadOlder(4));
    viewed.session.broadcast(1);
    await viewed.settle();
    expect(viewed.span).toEqual([7, 11]);
    await expectGone(viewed);
  });

  test('in the end, however often the first page fails', async () => {
    const session = new ScriptedSession(3);
    const answers = ['fail' as const, problem(503, 'unavailable', { 'retry-after': '7' })];
    session.meet = ({ path }) => (path.endsWith('/events') ? answers.shift() : undefined);
    const states: string[] = [];
    const viewed = viewScripted({ of: session, onStatus: ({ state }) => void states.push(state) });
    await viewed.world.clock.settle();
    await viewed.settle();
    expect(viewed.now.status).toMatchObject({ state: 'waiting', cause: 'unreachable', attempt: 1 });
    viewed.world.wake('online');
    await viewed.world.clock.settle();
    await viewed.settle();
    const { status } = viewed.now;
    expect(status).toMatchObject({ state: 'waiting', attempt: 2 });
    if (status.state !== 'waiting') throw new Error('it waits');
    expect(status.until - viewed.world.clock.wall()).toBeGreaterThan(6_000);
    viewed.view.reconnect();
    await viewed.settle();
    expect(viewed.span).toEqual([1, 3]);
    expect(states).toEqual(['waiting', 'connecting', 'waiting', 'connecting', 'replaying', 'live']);
    await expectGone(viewed);
  });

  test('never, if it is refused', async () => {
    const session = new ScriptedSession(3);
    session.meet = () => problem(404, 'session_unknown');
    const viewed = viewScripted({ of: session });
    await viewed.settle();
    expect(viewed.now.status).toMatchObject({ state: 'stopped', end: { kind: 'refused' } });
    expect(viewed.now.error).toMatchObject({ code: 'refused', status: 404, problem: 'session_unknown' });
    await viewed.world.clock.advance(60_000);
    expect(session.asked.length).toBe(1);
    await expectGone(viewed);
  });

  test('asking the token function once', async () => {
    let asked = 0;
    const session = new ScriptedSession(3);
    const viewed = viewScripted({ of: session, token: () => `token ${++asked}` });
    await viewed.settle();
    expect(viewed.span).toEqual([1, 3]);
    expect(session.asked.map(({ headers }) => headers.get('authorization'))).toEqual([
      'Bearer token 1',
      'Bearer token 1',
    ]);
    session.last.say(frames.denied(3));
    await viewed.world.clock.advance(5_000);
    expect(session.asked.at(-1)?.headers.get('authorization')).toBe('Bearer token 2');
    await expectGone(viewed);
  });

  test('handing the stream no answer of the token function that is over by then', async () => {
    let asked = 0;
    const valid = new Set<string>();
    const session = new ScriptedSession(1_000);
    session.meet = ({ headers }) =>
      valid.has(headers.get('authorization') ?? '') ? undefined : problem(401, 'unauthorized');
    const token = () => {
      valid.add(`Bearer token ${(asked += 1)}`);
      return `token ${asked}`;
    };
    const viewed = viewScripted({ of: session, token });
    await viewed.settle();
    const comeBack = async (): Promise<void> => {
      valid.clear();
      session.last.cut();
      await viewed.world.clock.advance(10_000);
      expect(viewed.now.status).toMatchObject({ state: 'live' });
    };
    await comeBack();
    await viewed.finish(viewed.view.loadOlder());
    await comeBack();
    expect(asked).toBe(4);
    await expectGone(viewed);
  });

  test('with the answer of the token function that the first page was served for', async () => {
    let asked = 0;
    const session = new ScriptedSession(3);
    session.meet = ({ headers }) =>
      headers.get('authorization') === 'Bearer token 2' ? undefined : problem(401, 'unauthorized');
    const viewed = viewScripted({ of: session, token: () => `token ${(asked += 1)}` });
    await viewed.settle();
    expect([viewed.now.status.state, asked]).toEqual(['live', 2]);
    await expectGone(viewed);
  });

  test('not at all, if its signal was aborted before', async () => {
    const viewed = viewScripted({ of: new ScriptedSession(3), signal: AbortSignal.abort() });
    await viewed.settle();
    expect(viewed.session.asked).toEqual([]);
    expect(viewed.now.status).toEqual({ state: 'stopped', end: { kind: 'aborted' } });
    await expectGone(viewed);
  });
});

describe('a view tells of its changes', () => {
  test('once in a while, with all of them in one', async () => {
    const viewed = viewScripted({ of: new ScriptedSession(3) });
    await viewed.settle();
    expect(viewed.snapshots.length).toBe(1);
    for (let index = 0; index < 50; index += 1) {
      viewed.session.broadcast(1);
      await viewed.world.clock.advance(1);
    }
    await viewed.world.clock.advance(51);
    expect(viewed.snapshots.length).toBe(2);
    expect(viewed.span).toEqual([1, 53]);
    await expectGone(viewed);
  });

  test('at the next frame where there are frames, and by the clock when none comes', async () => {
    const due = new Map<number, () => void>();
    let frame = 0;
    vi.stubGlobal('requestAnimationFrame', (run: () => void) => {
      due.set((frame += 1), run);
      return frame;
    });
    vi.stubGlobal('cancelAnimationFrame', (id: number) => due.delete(id));
    const viewed = viewScripted({ of: new ScriptedSession(3) });
    await viewed.world.clock.settle();
    expect([viewed.snapshots.length, due.size]).toEqual([0, 1]);
    for (const [id, run] of due) {
      due.delete(id);
      run();
    }
    expect([viewed.snapshots.length, viewed.span]).toEqual([1, [1, 3]]);
    viewed.session.broadcast(1);
    await viewed.world.clock.advance(99);
    expect(viewed.snapshots.length).toBe(1);
    await viewed.world.clock.advance(1);
    expect([viewed.snapshots.length, due.size, viewed.world.clock.waiting]).toEqual([2, 0, 1]);
    vi.unstubAllGlobals();
    viewed.view.stop();
    await viewed.settle();
  });

  test('and not to who listens no more; between two of them the snapshot is the same object', async () => {
    const viewed = viewScripted({ of: new ScriptedSession(3) });
    await viewed.settle();
    const [before] = viewed.snapshots;
    expect(viewed.now).toBe(before);
    let told = 0;
    const stopListening = viewed.view.subscribe(() => (told += 1));
    stopListening();
    viewed.session.broadcast(1);
    await viewed.world.clock.advance(99);
    expect(viewed.now).toBe(before);
    await viewed.settle();
    expect(viewed.now).not.toBe(before);
    expect(before?.events.length).toBe(3);
    expect(viewed.now.timeline.items[0]).toBe(before?.timeline.items[0]);
    expect(told).toBe(0);
    await expectGone(viewed);
  });

  test('by the callbacks too, which have every event from the first screen on', async () => {
    const told: unknown[] = [];
    const viewed = viewScripted({
      of: new ScriptedSession(5),
      initial: 2,
      onEvents: (events) => void told.push(events.map(({ sequence }) => sequence)),
      onFault: (fault) => void told.push(fault),
    });
    await viewed.settle();
    viewed.session.broadcast(1);
    await viewed.settle();
    viewed.session.last.say(frames.event(eventOf(9)));
    await viewed.settle();
    const fault = { kind: 'gap', expected: 7, got: 9 };
    expect(told).toEqual([[4, 5], [6], fault]);
    expect(viewed.now.fault).toEqual(fault);
    await viewed.world.clock.advance(5_000);
    expect(viewed.now.status.state).toBe('live');
    await expectGone(viewed);
  });

  test.each([
    ['onEvents', 'the first page'],
    ['onStatus', 'a status'],
  ])('stops when %s throws at %s', async (name) => {
    const throws = (): never => {
      throw new TypeError('oops');
    };
    const viewed = viewScripted({ of: new ScriptedSession(5), [name]: throws });
    await viewed.settle();
    expect(viewed.now.status.state).toBe('stopped');
    expect(viewed.now.error).toMatchObject({ code: 'failed', cause: { message: 'oops' } });
    await expectGone(viewed);
  });
});

describe('a reader who goes back', () => {
  test('is there for whoever asks for it as soon as the page before it is told', async () => {
    const viewed = viewScripted({ of: new ScriptedSession(1_000), initial: 100 });
    await viewed.settle();
    // as a screen does whose reader is at its top: only a change of the snapshot makes it ask
    const stopAsking = viewed.view.subscribe(() => {
      const { hasOlder, isLoadingOlder } = viewed.view.getSnapshot();
      if (hasOlder && !isLoadingOlder) void viewed.view.loadOlder(100);
    });
    void viewed.view.loadOlder(100);
    for (let page = 0; page < 20; page += 1) await viewed.settle();
    expect(viewed.span).toEqual([1, 1_000]);
    expect(viewed.pages).toHaveLength(10);
    stopAsking();
  });

  test('gets a page at a time, each asked for once', async () => {
    const viewed = viewScripted({ of: new ScriptedSession(30), initial: 10 });
    await viewed.settle();
    const [one, other] = [viewed.view.loadOlder(12), viewed.view.loadOlder(12)];
    expect(other).toBe(one);
    await viewed.finish(one);
    expect(viewed.pages.slice(1)).toEqual(['?before=21&limit=12']);
    expect([viewed.span, viewed.now.hasOlder]).toEqual([[9, 30], true]);
    await viewed.finish(viewed.view.loadOlder(12));
    expect([viewed.span, viewed.now.hasOlder]).toEqual([[1, 30], false]);
    await viewed.finish(viewed.view.loadOlder(12));
    expect(viewed.pages.length).toBe(3);
    await expectGone(viewed);
  });

  test('sees that a page is on its way; what comes live meanwhile stays, and what waits for it is not trimmed away [friday-studio PR#206]', async () => {
    const session = new ScriptedSession(300);
    const page = held(session, 'before=201');
    const viewed = viewScripted({ of: session, initial: 100, most: 150, fetch: page.fetch });
    await viewed.settle();
    const loading = viewed.view.loadOlder(50);
    await viewed.settle();
    expect(viewed.now.isLoadingOlder).toBe(true);
    session.broadcast(100);
    await viewed.settle();
    expect([viewed.span, viewed.now.isLoadingOlder]).toEqual([[201, 400], true]);
    page.arrive();
    await viewed.finish(loading);
    expect([viewed.span, viewed.now.isLoadingOlder, isContiguous(viewed.now.events)]).toEqual([
      [151, 400],
      false,
      true,
    ]);
    session.broadcast(1);
    await viewed.settle();
    expect(viewed.span).toEqual([289, 401]);
    await expectGone(viewed);
  });

  test('goes back to any place in pages of a thousand, and is shown it at once', async () => {
    const viewed = viewScripted({ of: new ScriptedSession(5_000), most: 1_000 });
    await viewed.settle();
    const told: [number, number][] = [];
    const shown = viewed.snapshots.length;
    await viewed.finish(
      viewed.view.loadBackTo(2_500, { onProgress: (loaded, wanted) => void told.push([loaded, wanted]) }),
    );
    expect(told).toEqual([
      [1_000, 2_301],
      [2_000, 2_301],
      [2_301, 2_301],
    ]);
    expect(viewed.pages.slice(1).map((query) => query.replace(/.*limit=/, ''))).toEqual(['1000', '1000', '1000']);
    expect(viewed.span).toEqual([1_801, 5_000]);
    expect(new Set(viewed.snapshots.slice(shown).map(({ events }) => events.length))).toEqual(new Set([3_200]));
    viewed.session.broadcast(1);
    await viewed.settle();
    expect(viewed.span, 'nothing is taken from a reader who is not at the end').toEqual([1_801, 5_001]);
    viewed.view.setAtEnd(true);
    viewed.session.broadcast(1);
    await viewed.settle();
    expect(viewed.span).toEqual([4_253, 5_002]);
    await viewed.finish(viewed.view.loadBackTo(4_500));
    expect(viewed.pages.length, 'that one is here').toBe(4);
    await expectGone(viewed);
  });

  test('keeps what has come when a page fails or it is enough', async () => {
    const session = new ScriptedSession(5_000);
    const viewed = viewScripted({ of: session });
    await viewed.settle();
    let count = 0;
    session.meet = ({ path }) =>
      path.endsWith('/events') && (count += 1) === 2 ? problem(503, 'unavailable') : undefined;
    await expect(viewed.finish(viewed.view.loadBackTo(1))).rejects.toMatchObject({ code: 'unavailable' });
    await viewed.settle();
    expect([viewed.span, viewed.now.isLoadingOlder, viewed.now.error]).toEqual([[3_801, 5_000], false, undefined]);
    const enough = new AbortController();
    await viewed.finish(viewed.view.loadBackTo(1, { signal: enough.signal, onProgress: () => enough.abort() }));
    expect(viewed.span).toEqual([2_801, 5_000]);
    await viewed.finish(viewed.view.loadBackTo(1));
    expect([viewed.span, isContiguous(viewed.now.events)]).toEqual([[1, 5_000], true]);
    await expectGone(viewed);
  });

  test.each([
    ['was cancelled', 'cancel'],
    ['fails', 'fail'],
    ['leads into a session that was restored', 'restore'],
  ] as const)('by a way that %s leaves the view at its end, which stays small', async (_how, what) => {
    const session = new ScriptedSession(5_000);
    const page = held(session, 'limit=1000');
    const viewed = viewScripted({ of: session, most: 300, fetch: page.fetch });
    await viewed.settle();
    const cancelled = new AbortController();
    const going = viewed.view.loadBackTo(1, { signal: cancelled.signal });
    const gone = viewed.finish(going.catch((error: unknown) => error));
    await viewed.settle();
    if (what === 'cancel') cancelled.abort();
    else if (what === 'fail') session.meet = ({ path }) => (path.endsWith('/events') ? 'fail' : undefined);
    else session.last.say(frames.reset('restored', 0, 5_000));
    page.arrive();
    expect(await gone).toEqual(what === 'fail' ? expect.objectContaining({ code: 'unavailable' }) : undefined);
    await viewed.settle();
    session.broadcast(2_000);
    await viewed.settle();
    expect([viewed.now.events.length, viewed.now.cursor]).toEqual([225, 7_000]);
    await expectGone(viewed);
  });

  test('by two ways, one of which is cancelled, keeps what the other brought', async () => {
    const session = new ScriptedSession(5_000);
    const viewed = viewScripted({ of: session, most: 300 });
    await viewed.settle();
    const cancelled = viewed.view.loadBackTo(1, { signal: AbortSignal.abort() });
    const other = viewed.view.loadBackTo(4_500);
    await viewed.finish(Promise.all([cancelled, other]));
    session.broadcast(1);
    await viewed.settle();
    expect(viewed.span).toEqual([3_801, 5_001]);
    await expectGone(viewed);
  });

  test('page by page is left all of them until it is done, and the view is small again', async () => {
    const session = new ScriptedSession(1_000);
    const viewed = viewScripted({ of: session, most: 300 });
    await viewed.settle();
    const release = viewed.view.keepAll();
    for (const first of [601, 401, 201]) {
      await viewed.finish(viewed.view.loadOlder(200));
      session.broadcast(1);
      await viewed.settle();
      expect(viewed.span[0]).toBe(first);
    }
    release();
    session.broadcast(1);
    await viewed.settle();
    expect(viewed.now.events.length).toBe(225);
    await expectGone(viewed);
  });

  test('learns that there is no more where retention has removed it', async () => {
    const session = new ScriptedSession(50);
    withFloor(session, 25);
    const viewed = viewScripted({ of: session, initial: 10 });
    await viewed.settle();
    expect(viewed.now).toMatchObject({ floor: 25, hasOlder: true });
    withFloor(session, 45);
    await viewed.finish(viewed.view.loadOlder());
    expect(viewed.now).toMatchObject({ hasOlder: false, isLoadingOlder: false });
    expect(viewed.span).toEqual([41, 50]);
    await expectGone(viewed);
  });

  test('asks no more when a page is empty, whatever the server says of its floor', async () => {
    const session = new ScriptedSession(50);
    const viewed = viewScripted({ of: session, initial: 10 });
    await viewed.settle();
    const empty = { events: [], first: null, last: null, head: 50, floor: 0 };
    session.meet = ({ path }) => {
      if (!path.endsWith('/events')) return undefined;
      return viewed.pages.length > 5 ? problem(500, 'internal') : Response.json(empty);
    };
    await viewed.finish(viewed.view.loadBackTo(1));
    expect([viewed.pages.length, viewed.now.hasOlder, viewed.span]).toEqual([2, false, [41, 50]]);
    await expectGone(viewed);
  });

  test('can do so in a session that has ended, but not in a view that was stopped', async () => {
    const viewed = viewScripted({ of: new ScriptedSession(30), initial: 10 });
    await viewed.settle();
    viewed.session.last.say(frames.end(30));
    await viewed.settle();
    expect(viewed.now.status).toEqual({ state: 'stopped', end: { kind: 'ended', reason: 'closed' } });
    await viewed.finish(viewed.view.loadOlder(5));
    expect(viewed.span).toEqual([16, 30]);
    viewed.view.stop();
    await viewed.finish(viewed.view.loadOlder(5));
    expect(viewed.pages.length).toBe(2);
    expect(viewed.now.status).toMatchObject({ end: { kind: 'ended' } });
    await expectGone(viewed);
  });
});

describe('a view of a long session', () => {
  test('stays small while the reader is at the end, and its texts stay whole', async () => {
    const session = new ScriptedSession();
    const viewed = viewScripted({ of: session, most: 400 });
    await viewed.settle();
    const text = Array.from({ length: 3_000 }, (_, index) => `${index} `);
    const sizes: number[] = [];
    for (let from = 0; from < text.length; from += 50) {
      const fresh = text.slice(from, from + 50).map((piece, index) => {
        return eventOf(from + index + 1, { message: 'm', text: piece }, 'text.delta');
      });
      session.events.push(...fresh);
      session.last.say(fresh.map((event) => frames.event(event)).join(''));
      await viewed.settle();
      sizes.push(viewed.now.events.length);
    }
    expect(Math.max(...sizes)).toBeLessThanOrEqual(400);
    expect(Math.min(...sizes.slice(10))).toBeGreaterThanOrEqual(300);
    expect(viewed.now.timeline.items).toMatchObject([{ kind: 'message', text: text.join('') }]);
    await viewed.finish(viewed.view.loadOlder(100));
    expect(viewed.now.timeline.items, 'an older page cuts nothing off').toMatchObject([{ text: text.join('') }]);
    await expectGone(viewed);
  });

  test('does not grow either while nothing is shown', async () => {
    const session = new ScriptedSession();
    const viewed = viewScripted({ of: session, most: 400 });
    await viewed.settle();
    const kept: SessionSnapshot[] = viewed.snapshots.slice();
    vi.mocked(grow).mockClear();
    for (let index = 0; index < 30; index += 1) {
      session.broadcast(300);
      await viewed.world.clock.advance(1);
    }
    expect(viewed.snapshots).toEqual(kept);
    const taken = vi.mocked(grow).mock.calls.map(([, arrived]) => arrived.length);
    expect(taken.length).toBeGreaterThan(3);
    expect(Math.max(...taken), 'no heap of what waits to be shown').toBeLessThanOrEqual(1_300);
    await viewed.settle();
    expect(viewed.now.events.length).toBeLessThanOrEqual(400);
    expect([viewed.now.cursor, isContiguous(viewed.now.events)]).toEqual([9_000, true]);
    await expectGone(viewed);
  });
});

describe('a session that is not what it was', () => {
  test('and expired under a reader who was away goes on above the floor', async () => {
    const session = new ScriptedSession(10);
    const resets: unknown[] = [];
    const viewed = viewScripted({ of: session, onReset: (reset) => void resets.push(reset) });
    await viewed.settle();
    session.append(90);
    withFloor(session, 60);
    session.last.cut();
    await viewed.world.clock.advance(5_000);
    expect(viewed.span).toEqual([61, 100]);
    const reset = { reason: 'expired', cursor: 60, head: 100 };
    expect(viewed.now).toMatchObject({ reset, floor: 60, head: 100, hasOlder: false, status: { state: 'live' } });
    expect(resets).toEqual([reset]);
    expect(viewed.now.timeline.first).toBe(61);
    await expectGone(viewed);
  });

  test.each(['ahead', 'restored'] as const)('is opened anew at its end when it is another (%s)', async (reason) => {
    const session = new ScriptedSession(500);
    const page = held(session, 'before=491');
    const states: string[] = [];
    const viewed = viewScripted({
      of: session,
      initial: 10,
      fetch: page.fetch,
      onStatus: ({ state }) => void states.push(state),
    });
    await viewed.settle();
    const loading = viewed.view.loadOlder(10);
    await viewed.settle();
    session.events.splice(300);
    session.last.say(frames.reset(reason, 0, 300));
    await viewed.settle();
    page.arrive();
    await viewed.finish(loading);
    expect(viewed.now).toMatchObject({ reset: { reason, cursor: 0 }, cursor: 300, head: 300, isLoadingOlder: false });
    expect(viewed.span, 'the page that came late belongs to what is gone').toEqual([291, 300]);
    expect(viewed.now.timeline).toMatchObject({ first: 291, last: 300 });
    expect(session.open.length).toBe(1);
    expect(states).toEqual(['replaying', 'live', 'connecting', 'replaying', 'live']);
    session.broadcast(1);
    await viewed.settle();
    expect(viewed.span).toEqual([291, 301]);
    await expectGone(viewed);
    expect(states.slice(5)).toEqual(['stopped']);
  });

  test('goes on from its floor when it is another and the reader said where to start', async () => {
    const session = new ScriptedSession(50);
    const viewed = viewScripted({ of: session, after: 40 });
    await viewed.settle();
    session.events.splice(5);
    session.last.say(frames.reset('restored', 0, 5), session.text(0), frames.connected(5));
    await viewed.settle();
    expect([viewed.span, viewed.now.head, viewed.pages]).toEqual([[1, 5], 5, []]);
    await expectGone(viewed);
  });
});
