/** The followers of one session in the tabs of a browser share one connection: who leads, who is told, and what heals what. */
import { describe, expect, test } from 'vitest';
import { takeTurn } from '../../../web-client/src/tab-lock.ts';
import type { TabLocks } from '../../../web-client/src/tab-lock.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { ScriptedSession, eventOf, frames, problem } from '../../support/scripted-session.ts';
import type { Tab, TabWorld } from '../../support/tab-world.ts';
import { createTabWorld } from '../../support/tab-world.ts';
import { range } from '../../support/world.ts';

const SOON_MS = 200;
/** Longer than it takes to find a leader dead. */
const DEATH_MS = 6_000;

async function openTabs(world: TabWorld, count: number): Promise<Tab[]> {
  const tabs = Array.from({ length: count }, () => world.open());
  await world.clock.advance(SOON_MS);
  return tabs;
}

const pagesOf = ({ session }: TabWorld): number => session.asked.filter(({ path }) => path.endsWith('/events')).length;

const expectAll = (tabs: readonly Tab[], last: number): void => {
  for (const tab of tabs) expect(tab.sequences).toEqual(range(1, last));
};

describe('one of eight leads', () => {
  test('and all of them show every event over one connection [freenet-core#5213]', async () => {
    const world = createTabWorld(1, new ScriptedSession(2_500));
    const tabs = await openTabs(world, 8);
    for (const burst of [1, 7, 300]) {
      world.session.broadcast(burst);
      await world.clock.advance(SOON_MS);
    }
    expectAll(tabs, 2_808);
    expect(tabs.map(({ state }) => state)).toEqual(tabs.map(() => 'live'));
    expect([world.session.visits.length, world.leaders.length]).toEqual([1, 1]);
    expect(tabs.map(({ follower }) => follower.head)).toEqual(tabs.map(() => 2_808));
  });

  test('and two of them in one tab are no different', async () => {
    const world = createTabWorld(1, new ScriptedSession(5));
    const first = world.open();
    const second = world.open({ beside: first });
    await world.clock.advance(SOON_MS);
    world.session.broadcast(5);
    await world.clock.advance(SOON_MS);
    expectAll([first, second], 10);
    expect(world.session.visits).toHaveLength(1);
  });

  test('and one that comes later reads history up to the leader, and no second stream', async () => {
    const world = createTabWorld(1, new ScriptedSession(3_000));
    await openTabs(world, 1);
    const [late, middle, newest] = [world.open(), world.open({ after: 2_990 }), world.open({ after: 'head' })];
    await world.clock.advance(SOON_MS);
    world.session.broadcast(2);
    await world.clock.advance(SOON_MS);
    expect(late.sequences).toEqual(range(1, 3_002));
    expect(middle.sequences).toEqual(range(2_991, 3_002));
    expect(newest.sequences).toEqual(range(3_001, 3_002));
    expect(world.session.visits).toHaveLength(1);
    expect(late.statuses.map(({ state }) => state)).toEqual(['replaying', 'live']);
  });

  test('and one that comes to a quiet session with nothing to read is live, too', async () => {
    const world = createTabWorld(1, new ScriptedSession(5));
    await openTabs(world, 1);
    const late = [world.open({ after: 5 }), world.open({ after: 'head' })];
    await world.clock.advance(SOON_MS);
    expect(late.map(({ state }) => state)).toEqual(['live', 'live']);
  });

  test('and while it waits for the server, all wait with it for the same reason and time', async () => {
    const world = createTabWorld(1, new ScriptedSession(3));
    const tabs = await openTabs(world, 3);
    world.session.meet = ({ path }) =>
      path.endsWith('/stream') ? problem(503, 'unavailable', { 'retry-after': '4' }) : undefined;
    world.session.last.cut();
    await world.clock.advance(5_500);
    const statuses = tabs.map(({ follower }) => follower.status);
    expect(statuses[0]).toMatchObject({ state: 'waiting', cause: 'unreachable' });
    expect(new Set(statuses.map((status) => JSON.stringify(status))).size).toBe(1);
    world.session.meet = () => undefined;
    await world.clock.advance(DEATH_MS);
    expect(tabs.map(({ state }) => state)).toEqual(['live', 'live', 'live']);
  });
});

describe('when the leader is gone', () => {
  test.each(['stop', 'die'] as const)('by %s, the next goes on from its own cursor at once', async (how) => {
    const world = createTabWorld(1, new ScriptedSession(20));
    const [leader, ...others] = await openTabs(world, 4);
    if (how === 'die') leader?.die();
    else leader?.follower.stop();
    world.session.broadcast(3);
    await world.clock.advance(SOON_MS);
    expectAll(others, 23);
    expect(world.session.cursors).toEqual([0, 20]);
    expect([world.leaders.length, world.session.open.length]).toEqual([1, 1]);
    expect(others.map(({ state }) => state)).toEqual(['live', 'live', 'live']);
  });

  test('what it had read and told nobody is read by the next', async () => {
    const world = createTabWorld(1, new ScriptedSession(5));
    const [leader, ...others] = await openTabs(world, 3);
    world.deliver = ({ kind }) => (kind === 'events' ? 'lost' : 1);
    world.session.broadcast(4);
    await world.clock.advance(5);
    expect([leader?.follower.cursor, others[0]?.follower.cursor]).toEqual([9, 5]);
    leader?.die();
    await world.clock.advance(SOON_MS);
    expectAll(others, 9);
  });

  test('frozen while it holds the lock, it is robbed; thawed, it follows, shows everything, and holds no connection', async () => {
    const world = createTabWorld(1, new ScriptedSession(20));
    const tabs = await openTabs(world, 4);
    const [frozen, ...others] = tabs;
    frozen?.freeze();
    world.session.broadcast(3);
    await world.clock.advance(DEATH_MS);
    expectAll(others, 23);
    expect(others.filter(({ follower }) => follower.isLeading)).toHaveLength(1);
    world.session.broadcast(3);
    await world.clock.advance(SOON_MS);
    expectAll(others, 26);
    frozen?.thaw();
    await world.clock.advance(SOON_MS);
    world.session.broadcast(3);
    await world.clock.advance(SOON_MS);
    expectAll(tabs, 29);
    expect([world.leaders.length, world.session.open.length, world.session.visits.length]).toEqual([1, 1, 2]);
    expect(frozen?.follower.isLeading).toBe(false);
    expect(tabs.map(({ state }) => state)).toEqual(tabs.map(() => 'live'));
  });

  test('a thief that is robbed in turn stands in line again, and steals nothing back', async () => {
    const world = createTabWorld(1, new ScriptedSession(20));
    const tabs = await openTabs(world, 3);
    tabs[0]?.freeze();
    await world.clock.advance(DEATH_MS);
    const thief = world.leaders.find((tab) => tab !== tabs[0]);
    thief?.freeze();
    await world.clock.advance(DEATH_MS);
    for (const tab of tabs) tab.thaw();
    await world.clock.advance(DEATH_MS);
    expect(world.leaders).toHaveLength(1);
    expect(world.leaders).not.toContain(thief);
    expect([world.session.visits.length, world.session.open.length]).toEqual([3, 1]);
  });

  test('nobody believes what it says before it learns that it was robbed', async () => {
    const world = createTabWorld(1, new ScriptedSession(20));
    const [frozen, ...others] = await openTabs(world, 4);
    frozen?.freeze();
    await world.clock.advance(DEATH_MS);
    world.session.broadcast(3);
    await world.clock.advance(SOON_MS);
    const before = others.map(({ statuses }) => statuses.length);
    const [asked, said] = [world.session.asked.length, world.messages.length];
    const terms = world.messages.flatMap((message) => (message.kind === 'here' ? [message.term] : []));
    frozen?.thaw();
    await world.clock.advance(SOON_MS);
    // it answers what it was asked while it was frozen
    expect(world.messages.slice(said)).toContainEqual(expect.objectContaining({ kind: 'here', term: terms[0] }));
    expect(others.map(({ statuses }) => statuses.length)).toEqual(before);
    expect(world.session.asked.slice(asked).filter(({ path }) => path.endsWith('/events'))).toEqual([]);
  });

  test('a follower that was frozen itself does not rob a leader that lives', async () => {
    const world = createTabWorld(1, new ScriptedSession(20));
    const tabs = await openTabs(world, 3);
    tabs[2]?.freeze();
    world.session.broadcast(3);
    await world.clock.advance(30_000);
    tabs[2]?.thaw();
    await world.clock.advance(DEATH_MS);
    expectAll(tabs, 23);
    expect([tabs[0]?.follower.isLeading, world.session.visits.length]).toEqual([true, 1]);
  });

  test('one that got the lock while it was frozen, and lost it before it woke, silences nobody', async () => {
    const world = createTabWorld(1, new ScriptedSession(20));
    const tabs = await openTabs(world, 4);
    const [leader, frozen, ...others] = tabs;
    frozen?.freeze();
    leader?.follower.stop();
    await world.clock.advance(DEATH_MS);
    expect(others.filter(({ follower }) => follower.isLeading)).toHaveLength(1);
    const thief = world.leaders.find((tab) => tab !== frozen);
    frozen?.thaw();
    await world.clock.advance(SOON_MS);
    world.session.broadcast(3);
    await world.clock.advance(4_000);
    expectAll(tabs.slice(1), 23);
    expect(world.leaders).toEqual([thief]);
    expect([world.session.open.length, world.leaders.length]).toEqual([1, 1]);
    expect(tabs.slice(1).map(({ state }) => state)).toEqual(['live', 'live', 'live']);
  });

  test('a follower that was frozen when it had asked in vain hears first what was said meanwhile', async () => {
    const world = createTabWorld(1, new ScriptedSession(20));
    const [leader, frozen] = await openTabs(world, 2);
    world.deliver = ({ kind }) => (kind === 'here' ? 'lost' : 1);
    const asks = (): number => world.messages.filter(({ kind }) => kind === 'ask').length;
    for (const before = asks(); asks() < before + 3;) await world.clock.advance(10);
    frozen?.freeze();
    world.deliver = () => 1;
    await world.clock.advance(10_000);
    world.session.broadcast(3);
    await world.clock.advance(SOON_MS);
    frozen?.thaw();
    await world.clock.advance(DEATH_MS);
    expectAll(world.tabs, 23);
    expect([leader?.follower.isLeading, world.session.visits.length]).toEqual([true, 1]);
  });

  test('a turn with the lock that was lost is over when what it was held for has let go', async () => {
    let rob: (error: DOMException) => void = () => undefined;
    let letGo = (): void => undefined;
    const locks: TabLocks = {
      request: (_, __, hold) =>
        new Promise((_resolve, reject) => {
          rob = reject;
          void hold();
        }),
    };
    let lost: AbortSignal | undefined;
    let isOver = false;
    const turn = takeTurn({
      locks,
      name: 'a session',
      isTheft: false,
      signal: new AbortController().signal,
      hold(signal) {
        lost = signal;
        return new Promise((resolve) => (letGo = resolve));
      },
    }).then(() => (isOver = true));
    rob(new DOMException('stolen', 'AbortError'));
    await manualClock().settle();
    expect([lost?.aborted, isOver]).toEqual([true, false]);
    letGo();
    expect(await turn).toBe(true);
  });

  test('where nobody answers in time, thefts become rare, but for a tab that somebody looks at', async () => {
    const world = createTabWorld(1, new ScriptedSession(1));
    await openTabs(world, 3);
    const thefts = async (): Promise<number> => {
      const before = world.session.visits.length;
      for (let half = 0; half < 10; half += 1) {
        await world.clock.advance(30_000);
        world.session.last.say(frames.sync(1));
      }
      return world.session.visits.length - before;
    };
    world.deliver = ({ kind }) => (kind === 'here' ? 'lost' : 1);
    const first = await thefts();
    const later = await thefts();
    expect(later).toBeLessThan(first);
    // each of them every dozen asks, and one more who is robbed
    expect(later).toBeLessThan(2 * (300 / (12 * 0.75)));
    expect(await thefts()).toBeGreaterThan(5);
    world.deliver = () => 1;
    await world.clock.advance(DEATH_MS);
    const [leader] = world.leaders;
    leader?.freeze();
    await world.clock.advance(DEATH_MS);
    expect(world.leaders).toEqual([leader]);
    const follower = world.tabs.find((tab) => tab !== leader);
    follower?.wake('visible');
    await world.clock.advance(DEATH_MS);
    expect(follower?.follower.isLeading).toBe(true);
  });

  test('eight that find it frozen steal once', async () => {
    const world = createTabWorld(3, new ScriptedSession(1));
    const [frozen] = await openTabs(world, 9);
    frozen?.freeze();
    await world.clock.advance(30_000);
    expect(world.session.visits).toHaveLength(2);
  });
});

describe('what a follower did not hear', () => {
  test('the last batch of a burst is found when the leader next speaks, and read from history', async () => {
    const world = createTabWorld(1, new ScriptedSession(5));
    const tabs = await openTabs(world, 3);
    world.deliver = ({ kind }) => (kind === 'events' ? 'lost' : 1);
    world.session.broadcast(5);
    await world.clock.advance(2_000);
    expectAll(tabs, 10);
    expect(world.session.visits).toHaveLength(1);
  });

  test('a gap is read once while later batches are held, and nothing comes twice', async () => {
    const world = createTabWorld(1, new ScriptedSession(5));
    const tabs = await openTabs(world, 2);
    let lost = 0;
    world.deliver = ({ kind }) => (kind === 'events' && lost++ === 0 ? 'lost' : 1);
    world.session.broadcast(2);
    await world.clock.advance(1);
    for (let burst = 0; burst < 20; burst += 1) world.session.broadcast(2);
    await world.clock.advance(SOON_MS);
    expectAll(tabs, 47);
    // one when it joined
    expect(pagesOf(world)).toBeLessThanOrEqual(2);
  });

  test('and what history cannot give now is asked for again, while the others go on', async () => {
    const world = createTabWorld(1, new ScriptedSession(5));
    const [leader] = await openTabs(world, 1);
    world.session.meet = ({ path }) => (path.endsWith('/events') ? 'fail' : undefined);
    const late = world.open();
    await world.clock.advance(3_000);
    world.session.broadcast(5);
    await world.clock.advance(SOON_MS);
    expect([leader?.sequences.length, late.sequences, late.state]).toEqual([10, [], 'waiting']);
    world.session.meet = () => undefined;
    await world.clock.advance(6_000);
    expectAll([late], 10);
    expect(late.state).toBe('live');
  });

  test('history that is refused ends this follower, and nobody else', async () => {
    const world = createTabWorld(1, new ScriptedSession(5));
    const [leader] = await openTabs(world, 1);
    world.session.meet = ({ path }) => (path.endsWith('/events') ? problem(403, 'forbidden') : undefined);
    const late = world.open();
    await world.clock.advance(SOON_MS);
    expect(await late.follower.done).toMatchObject({ kind: 'refused', error: { problem: 'forbidden' } });
    expect(leader?.state).toBe('live');
  });
});

describe('a database that was restored', () => {
  const restoreTo = (session: ScriptedSession, head: number): void => {
    session.events.length = head;
    session.last.say(frames.reset('restored', 0, head), session.text(0), frames.connected(head));
  };

  test('resets every follower that has more than is left, also when it has grown since', async () => {
    const world = createTabWorld(1, new ScriptedSession(20));
    const tabs = await openTabs(world, 3);
    world.deliver = ({ kind }) => (kind === 'reset' ? 20 : 1);
    restoreTo(world.session, 10);
    world.session.broadcast(15);
    await world.clock.advance(2_000);
    for (const tab of tabs) expect(tab.resets).toEqual([{ reason: 'restored', cursor: 0, head: 10 }]);
    expectAll(tabs, 25);
  });

  test('voids what was held and what was asked for before', async () => {
    const world = createTabWorld(1, new ScriptedSession(20));
    await openTabs(world, 1);
    const late = world.open();
    await world.clock.advance(5);
    world.deliver = ({ kind }) => (kind === 'events' && world.session.head === 21 ? 'lost' : 1);
    world.session.broadcast(1);
    await world.clock.advance(1);
    late.freeze();
    world.session.broadcast(10);
    await world.clock.advance(SOON_MS);
    restoreTo(world.session, 10);
    world.session.events.push(...range(11, 25).map((sequence) => eventOf(sequence, 'another')));
    world.session.last.say(world.session.text(10));
    await world.clock.advance(SOON_MS);
    late.thaw();
    await world.clock.advance(2_000);
    expect(late.events).toEqual(world.session.events);
    expect(late.resets).toEqual([{ reason: 'restored', cursor: 0, head: 10 }]);
  });

  test('voids a page of history that was on its way', async () => {
    const world = createTabWorld(1, new ScriptedSession(20));
    await openTabs(world, 1);
    const late = world.open();
    world.session.meet = ({ path }) => {
      if (path.endsWith('/events')) late.freeze();
      return undefined;
    };
    await world.clock.advance(SOON_MS);
    expect(pagesOf(world)).toBe(1);
    world.session.meet = () => undefined;
    restoreTo(world.session, 10);
    await world.clock.advance(SOON_MS);
    late.thaw();
    await world.clock.advance(2_000);
    expect([late.sequences, late.follower.head, late.resets]).toEqual([range(1, 10), 10, []]);
  });

  test('is seen in history by a follower to which nobody said so', async () => {
    const world = createTabWorld(1, new ScriptedSession(20));
    const tabs = await openTabs(world, 2);
    world.deliver = ({ kind }) => (kind === 'reset' ? 'lost' : 1);
    restoreTo(world.session, 10);
    await world.clock.advance(2_000);
    expectAll(tabs, 10);
    expect(tabs[1]?.resets).toMatchObject([{ reason: 'restored', head: 10 }]);
  });
});

describe('the end', () => {
  const close = (session: ScriptedSession): void => {
    session.state = 'closed';
    session.last.say(frames.end(session.head));
    session.last.end();
  };

  test('reaches all, also one that must read history first, and nobody asks for another stream', async () => {
    const world = createTabWorld(1, new ScriptedSession(5));
    const tabs = await openTabs(world, 4);
    world.deliver = ({ kind }) => (kind === 'events' ? 'lost' : 1);
    world.session.broadcast(2_500);
    close(world.session);
    await world.clock.advance(SOON_MS);
    for (const tab of tabs) expect(await tab.follower.done).toEqual({ kind: 'ended', reason: 'closed' });
    expectAll(tabs, 2_505);
    expect(world.session.visits).toHaveLength(1);
    await world.clock.advance(1_000);
    expect([world.clock.waiting, world.remains]).toEqual([0, { locks: 0, channels: 0, listeners: 0 }]);
  });

  test('by deletion is told to all at once', async () => {
    const world = createTabWorld(1, new ScriptedSession(5));
    const tabs = await openTabs(world, 3);
    world.session.last.say(frames.end(5, 'deleted'));
    await world.clock.advance(SOON_MS);
    for (const tab of tabs) expect(await tab.follower.done).toEqual({ kind: 'ended', reason: 'deleted' });
  });

  test('of a leader by its own token ends it alone: the next tries its own', async () => {
    const world = createTabWorld(1, new ScriptedSession(5));
    world.session.meet = ({ headers }) =>
      headers.get('authorization') === 'Bearer bad' ? problem(401, 'unauthorized') : undefined;
    const [bad, good] = [world.open({ token: 'bad' }), world.open({ token: 'good' })];
    await world.clock.advance(SOON_MS);
    expect(await bad.follower.done).toMatchObject({ kind: 'refused', error: { status: 401 } });
    expectAll([good], 5);
    expect(good.state).toBe('live');
  });

  test('of waiting for a token that one tab never gets: another one leads', async () => {
    const world = createTabWorld(1, new ScriptedSession(5));
    const broken = (): Promise<string> => Promise.reject(new Error('logged out'));
    const [without, good] = [world.open({ token: broken }), world.open({ token: 'good' })];
    await world.clock.advance(DEATH_MS);
    expect(good.state).toBe('live');
    expect([without.follower.isLeading, good.follower.isLeading]).toEqual([false, true]);
  });
});

describe('a token that the server does not take', () => {
  test.each([0, 'head'] as const)('hears nothing through another tab, from %s on', async (after) => {
    const world = createTabWorld(1, new ScriptedSession(5));
    world.session.meet = ({ headers }) =>
      headers.get('authorization') === 'Bearer bad' ? problem(401, 'unauthorized') : undefined;
    const good = world.open({ token: 'good' });
    await world.clock.advance(SOON_MS);
    const bad = world.open({ token: 'bad', after });
    world.session.broadcast(3);
    await world.clock.advance(SOON_MS);
    world.session.broadcast(3);
    await world.clock.advance(SOON_MS);
    expect([bad.sequences, bad.state]).toEqual([[], 'stopped']);
    expectAll([good], 11);
  });

  test('hears nothing either while the leader has not answered yet', async () => {
    const world = createTabWorld(1, new ScriptedSession(5));
    world.session.meet = ({ headers }) =>
      headers.get('authorization') === 'Bearer bad' ? problem(401, 'unauthorized') : undefined;
    world.open({ token: 'good' });
    await world.clock.advance(SOON_MS);
    world.deliver = ({ kind }) => (kind === 'here' ? 'lost' : 1);
    const bad = world.open({ token: 'bad', after: 5 });
    await world.clock.advance(SOON_MS);
    world.session.broadcast(3);
    await world.clock.advance(SOON_MS);
    expect([bad.sequences, bad.state]).toEqual([[], 'stopped']);
  });
});

describe('whoever is asked', () => {
  test('to reconnect by a follower that does not lead, makes the leader come back from its cursor', async () => {
    const world = createTabWorld(1, new ScriptedSession(5));
    const tabs = await openTabs(world, 3);
    tabs[2]?.follower.reconnect();
    await world.clock.advance(SOON_MS);
    expect(world.session.cursors).toEqual([0, 5]);
    expect(tabs.map(({ state }) => state)).toEqual(['live', 'live', 'live']);
  });

  test('to reconnect while it waits for history, asks for history again and leaves the connection alone', async () => {
    const world = createTabWorld(1, new ScriptedSession(5));
    const [leader] = await openTabs(world, 1);
    let isAway = true;
    world.session.meet = ({ path }) =>
      isAway && path.endsWith('/events') ? problem(503, 'unavailable', { 'retry-after': '60' }) : undefined;
    const late = world.open();
    await world.clock.advance(SOON_MS);
    expect([late.state, leader?.state]).toEqual(['waiting', 'live']);
    isAway = false;
    late.follower.reconnect();
    await world.clock.advance(SOON_MS);
    expectAll([late], 5);
    expect([late.state, world.session.visits.length]).toEqual(['live', 1]);
  });

  test('by a tab that comes to the front looks whether its connection is a dead one', async () => {
    const world = createTabWorld(1, new ScriptedSession(5));
    const tabs = await openTabs(world, 3);
    world.session.append(4);
    tabs[2]?.wake('visible');
    await world.clock.advance(DEATH_MS);
    expectAll(tabs, 9);
    expect(world.session.cursors).toEqual([0, 5]);
  });

  test('by a new tab that has read more than the leader ever got, does the same', async () => {
    const world = createTabWorld(1, new ScriptedSession(5));
    const tabs = await openTabs(world, 2);
    world.session.append(4);
    tabs.push(world.open());
    await world.clock.advance(DEATH_MS);
    expectAll(tabs, 9);
  });
});

describe('in hidden tabs, whose timers are held back', () => {
  test('the leader whose connection was cut comes back in time, because another tab reminds it', async () => {
    const world = createTabWorld(1, new ScriptedSession(5));
    const tabs = await openTabs(world, 2);
    tabs[0]?.hide();
    world.session.last.cut();
    await world.clock.advance(DEATH_MS);
    world.session.broadcast(5);
    await world.clock.advance(SOON_MS);
    expectAll(tabs, 10);
    expect(tabs.map(({ state }) => state)).toEqual(['live', 'live']);
  });

  test('the followers hear all that the leader says, and rob nobody', async () => {
    const world = createTabWorld(1, new ScriptedSession(5));
    const tabs = await openTabs(world, 4);
    for (const tab of tabs.slice(1)) tab.hide();
    for (let minute = 0; minute < 10; minute += 1) {
      world.session.broadcast(2);
      await world.clock.advance(SOON_MS);
      expectAll(tabs, 7 + 2 * minute);
      world.session.last.say(frames.sync(world.session.head));
      await world.clock.advance(30_000);
      world.session.last.say(frames.sync(world.session.head));
      await world.clock.advance(30_000);
    }
    expect(world.session.visits).toHaveLength(1);
  });
});

describe('a consumer that takes its time', () => {
  const stuckTab = (world: TabWorld) => {
    let release = (): void => undefined;
    const gate = new Promise<void>((resolve) => (release = resolve));
    const tab = world.open({ onEvents: () => gate });
    return { tab, release: () => release() };
  };

  test('holds up the connection of its tab while it is alone', async () => {
    const world = createTabWorld(1, new ScriptedSession(5));
    const { tab, release } = stuckTab(world);
    await world.clock.advance(SOON_MS);
    for (let burst = 0; burst < 10; burst += 1) {
      world.session.broadcast(500);
      await world.clock.advance(10_000);
    }
    release();
    await world.clock.advance(SOON_MS);
    expectAll([tab], 5_005);
    expect([pagesOf(world), world.messages.filter(({ kind }) => kind === 'events').length]).toEqual([0, 0]);
  });

  test('does not hold up other tabs for long, and finds in history what it could not take', async () => {
    const world = createTabWorld(1, new ScriptedSession(5));
    const { tab, release } = stuckTab(world);
    await world.clock.advance(SOON_MS);
    const other = world.open();
    for (let burst = 0; burst < 10; burst += 1) {
      world.session.broadcast(500);
      await world.clock.advance(1_000);
    }
    expectAll([other], 5_005);
    expect(other.state).toBe('live');
    expect([tab.sequences.length, tab.follower.isLeading, world.session.visits.length]).toEqual([0, true, 1]);
    release();
    await world.clock.advance(SOON_MS);
    expectAll([tab], 5_005);
    expect(tab.state).toBe('live');
  });

  test('holds up its connection again when nobody else was heard of for long', async () => {
    const world = createTabWorld(1, new ScriptedSession(5));
    const { tab, release } = stuckTab(world);
    await world.clock.advance(SOON_MS);
    const other = world.open();
    await world.clock.advance(SOON_MS);
    other.follower.stop();
    await world.clock.advance(120_000);
    const before = pagesOf(world);
    for (let burst = 0; burst < 10; burst += 1) {
      world.session.broadcast(500);
      await world.clock.advance(10_000);
    }
    release();
    await world.clock.advance(SOON_MS);
    expectAll([tab], 5_005);
    expect(pagesOf(world)).toBe(before);
  });

  test('hears of company that only listens, however much the leader speaks', async () => {
    const world = createTabWorld(1, new ScriptedSession(0));
    const [, other] = await openTabs(world, 2);
    for (let count = 0; count < 600; count += 1) {
      world.session.broadcast(1);
      await world.clock.advance(500);
    }
    const told = world.messages.filter(({ kind }) => kind === 'events').length;
    expect(other?.sequences).toEqual(range(1, 600));
    expect(told).toBe(600);
  });

  test('behind a leader holds up nobody', async () => {
    const world = createTabWorld(1, new ScriptedSession(5));
    const [leader] = await openTabs(world, 1);
    const { tab, release } = stuckTab(world);
    await world.clock.advance(SOON_MS);
    for (let burst = 0; burst < 10; burst += 1) world.session.broadcast(500);
    await world.clock.advance(SOON_MS);
    expect(leader?.sequences.length).toBe(5_005);
    const before = pagesOf(world);
    release();
    await world.clock.advance(SOON_MS);
    expectAll([tab], 5_005);
    // it did not hold them all
    expect(pagesOf(world)).toBeGreaterThanOrEqual(before + 4);
  });
});

test('a page that may neither lock nor open a channel follows over a connection of its own', async () => {
  for (const denied of ['locks', 'channel'] as const) {
    const world = createTabWorld(1, new ScriptedSession(5));
    const tabs = [world.open({ denied }), world.open({ denied })];
    await world.clock.advance(SOON_MS);
    world.session.broadcast(5);
    await world.clock.advance(SOON_MS);
    expectAll(tabs, 10);
    expect(world.session.open).toHaveLength(2);
  }
});

test('a follower that stopped leaves nothing behind: no timer, no lock, no listener on the channel', async () => {
  const world = createTabWorld(1, new ScriptedSession(5));
  const tabs = await openTabs(world, 3);
  for (const tab of tabs) tab.follower.stop();
  for (const tab of tabs) expect(await tab.follower.done).toEqual({ kind: 'aborted' });
  await world.clock.advance(5);
  expect([world.clock.waiting, world.remains]).toEqual([0, { locks: 0, channels: 0, listeners: 0 }]);
});
