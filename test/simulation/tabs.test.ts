/** Tabs open, freeze, thaw, close and die while events flow, connections break and messages get lost: each shows what the ledger holds. */
import { expect, test } from 'vitest';
import { seededRandom } from '../support/manual-clock.ts';
import { ScriptedSession, frames, problem } from '../support/scripted-session.ts';
import { createTabWorld } from '../support/tab-world.ts';
import type { Tab, TabWorld } from '../support/tab-world.ts';
import { range } from '../support/world.ts';

const STEPS = 60;
const MOST_TABS = 6;

interface Drama {
  readonly world: TabWorld;
  readonly starts: ReadonlyMap<Tab, number | 'head'>;
  readonly frozen: ReadonlySet<Tab>;
  step(): Promise<void>;
  /** Everybody is thawed and the world is well. */
  heal(): Promise<void>;
}

function begin(seed: number): Drama {
  const random = seededRandom(seed);
  const upTo = (most: number): number => Math.floor(random() * (most + 1));
  const world = createTabWorld(seed, new ScriptedSession(upTo(30)));
  const { session, clock } = world;
  const starts = new Map<Tab, number | 'head'>();
  const frozen = new Set<Tab>();
  let isLossy = false;
  world.deliver = ({ kind }) => (isLossy && kind === 'events' && random() < 0.3 ? 'lost' : upTo(20));

  const pick = (): Tab | undefined => world.living[upTo(world.living.length - 1)];
  /** In a hurry or not, like a consumer that draws. */
  const consumer = (): (() => Promise<void>) => {
    const slowMs = random() < 0.3 ? upTo(1_000) : 0;
    return () => new Promise((resolve) => void clock.after(slowMs, resolve));
  };
  const open = (beside?: Tab): void => {
    if (world.living.length >= MOST_TABS) return;
    const after = random() < 0.2 ? 'head' : random() < 0.5 ? 0 : upTo(session.head);
    const isSlow = random() < 0.5;
    const tab = world.open({
      after,
      ...(isSlow ? { onEvents: consumer() } : {}),
      ...(beside === undefined ? {} : { beside }),
    });
    starts.set(tab, after);
  };
  const acts: readonly (() => void)[] = [
    () => session.broadcast(1 + upTo(5)),
    () => session.broadcast(1 + upTo(5)),
    () => session.broadcast(upTo(700)),
    () => void session.append(1 + upTo(3)),
    () => open(),
    () => open(pick()),
    () => pick()?.follower.stop(),
    () => pick()?.die(),
    () => {
      const tab = pick();
      tab?.freeze();
      if (tab !== undefined) frozen.add(tab);
    },
    () => {
      for (const tab of frozen) if (random() < 0.5) thaw(tab);
    },
    () => session.open[0]?.cut(),
    () => pick()?.follower.reconnect(),
    () => pick()?.wake('visible'),
    () => pick()?.hide(),
    () => void (isLossy = !isLossy),
    () =>
      void (session.meet = ({ path }) =>
        path.endsWith('/events') && random() < 0.5 ? 'fail' : problem(503, 'unavailable')),
    () => void (session.meet = () => undefined),
    () => void (session.meet = () => undefined),
  ];
  function thaw(tab: Tab): void {
    frozen.delete(tab);
    tab.thaw();
  }
  open();
  return {
    world,
    starts,
    frozen,
    async step() {
      acts[upTo(acts.length - 1)]?.();
      await clock.advance(random() < 0.5 ? upTo(30) : upTo(4_000));
    },
    async heal() {
      for (const tab of frozen) thaw(tab);
      session.meet = () => undefined;
      isLossy = false;
      if (world.living.length === 0) open();
      // the timers of hidden tabs run once a minute, and a stream that is silent for longer is given up
      for (const _ of range(1, 10)) {
        session.broadcast(1);
        await clock.advance(20_000);
      }
    },
  };
}

/** Where the events of a tab begin: at its start, or where it found the head. */
function expectContiguous({ world, starts }: Drama, tab: Tab): void {
  const { sequences } = tab;
  const start = starts.get(tab) ?? 0;
  const first = sequences[0] ?? 1;
  if (start !== 'head' && sequences.length > 0) expect(first).toBe(start + 1);
  expect(sequences).toEqual(range(first, first + sequences.length - 1));
  expect(tab.resets).toEqual([]);
  expect(sequences.at(-1) ?? 0).toBeLessThanOrEqual(world.session.head);
}

const seeds = range(1, Number(process.env['LEDGERLINE_TEST_SEEDS'] ?? 30));

test.each(seeds)('seed %d: nothing missing, nothing twice, and in the end one connection', async (seed) => {
  const drama = begin(seed);
  const { world } = drama;
  const { session } = world;
  for (const _ of range(1, STEPS)) {
    await drama.step();
    for (const tab of world.tabs) expectContiguous(drama, tab);
  }
  await drama.heal();
  for (const tab of world.tabs) expectContiguous(drama, tab);
  for (const tab of world.living) {
    expect([tab.state, tab.follower.cursor]).toEqual(['live', session.head]);
    expect(tab.sequences.at(-1)).toBe(session.head);
  }
  expect([session.open.length, world.leaders.length]).toEqual([1, 1]);
  session.state = 'closed';
  session.open[0]?.say(frames.end(session.head));
  await world.clock.advance(120_000);
  expect(world.living).toEqual([]);
  expect([world.clock.waiting, world.remains]).toEqual([0, { locks: 0, channels: 0, listeners: 0 }]);
});
