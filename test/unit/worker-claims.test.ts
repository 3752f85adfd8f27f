/** A worker runs as many turns as it may, never more, and gives back what it cannot finish. */
import { expect, test } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import type { AgentTurn } from '../../src/worker/agent-turn.ts';
import { TurnAborted } from '../../src/worker/define-agent.ts';
import { away, gate, workerWorld } from '../support/worker-world.ts';
import type { WorkerWorld } from '../support/worker-world.ts';

/** An agent whose turns go on until the test ends them, one by one. */
function held(concurrency: number) {
  const atWork = new Map<string, { turn: AgentTurn; end: () => void }>();
  const world = workerWorld({
    concurrency,
    run: (turn) => {
      const { opened, open } = gate();
      atWork.set(turn.session, { turn, end: open });
      return opened.finally(() => atWork.delete(turn.session));
    },
  });
  return { world, atWork };
}

async function claimable(world: WorkerWorld, ...sessions: string[]): Promise<void> {
  for (const session of sessions) world.claimable(session);
  await world.clock.settle();
}

test('asks for as many as it has room for, and for none while it is full [odd-jobs#115]', async () => {
  const { world, atWork } = held(3);
  await world.worker.start();
  await claimable(world, 's1');
  await claimable(world, 's2', 's3', 's4', 's5');
  expect([...atWork.keys()]).toEqual(['s1', 's2', 's3']);
  expect(world.claims).toEqual([3, 2]);
  atWork.get('s2')?.end();
  await world.clock.settle();
  expect([...atWork.keys()]).toEqual(['s1', 's3', 's4']);
  expect(world.claims).toEqual([3, 2, 1]);
});

test('never runs more than it may, also when a lease was lost whose agent does not let go [solid_queue#761]', async () => {
  const { world, atWork } = held(2);
  await world.worker.start();
  await claimable(world, 's1', 's2', 's3');
  world.taken.add('s1').add('s2');
  await world.clock.advance(limits.renewMs);
  expect(atWork.get('s1')?.turn.signal.aborted).toBe(true);
  expect([...atWork.keys()]).toEqual(['s1', 's2']);
  atWork.get('s1')?.end();
  await world.clock.settle();
  expect([...atWork.keys()]).toEqual(['s2', 's3']);
  expect(world.endings).toEqual([]);
});

test('takes a claim that brings too many for the defect that it is, and runs none of them [odd-jobs#115]', async () => {
  const { world, atWork } = held(1);
  world.surplus = 1;
  await world.worker.start();
  await claimable(world, 's1', 's2');
  expect([...atWork.keys()]).toEqual([]);
  expect(world.lines()).toContain('a claim brings no more than was asked for');
});

test('renews all of its turns by one request, and stops renewing with the last', async () => {
  const { world, atWork } = held(3);
  await world.worker.start();
  await claimable(world, 's1', 's2', 's3');
  await world.clock.advance(limits.renewMs);
  expect(world.renewals.map((attempts) => attempts.map(({ session }) => session))).toEqual([['s1', 's2', 's3']]);
  expect(world.renewals[0]?.[0]).toEqual({ session: 's1', turn: 'turn-of-s1', attempt: 1 });
  for (const { end } of atWork.values()) end();
  await world.clock.advance(limits.renewMs * 5);
  expect(world.renewals).toHaveLength(1);
});

test('goes on through renewals that fail, as long as one comes through in time', async () => {
  const { world, atWork } = held(1);
  await world.worker.start();
  await claimable(world, 's1');
  let failures = 0;
  world.before = (what) => {
    if (what !== 'renew' || world.renewals.length % 12 === 0) return Promise.resolve();
    failures += 1;
    return Promise.reject(away());
  };
  await world.clock.advance(limits.selfStopMs * 4);
  expect(failures).toBeGreaterThan(20);
  expect(atWork.get('s1')?.turn.signal.aborted).toBe(false);
});

test('waits longer and longer between claims while Postgres is away, and is there when it is back', async () => {
  const { world, atWork } = held(1);
  let isAway = true;
  world.before = (what) => (what === 'claim' && isAway ? Promise.reject(away()) : Promise.resolve());
  await world.worker.start();
  await world.clock.advance(60_000);
  expect(world.claims.length).toBeGreaterThan(10);
  expect(world.claims.length).toBeLessThan(30);
  expect(world.lines()).toContain('no turn could be claimed');
  isAway = false;
  world.claimable('s1');
  await world.clock.advance(5_000);
  expect([...atWork.keys()]).toEqual(['s1']);
});

test('that is asked to end claims no more, and lets what runs end by itself', async () => {
  const { world, atWork } = held(2);
  await world.worker.start();
  await claimable(world, 's1');
  const stopped = world.worker.stop();
  await world.clock.settle();
  await claimable(world, 's2');
  expect([...atWork.keys()]).toEqual(['s1']);
  atWork.get('s1')?.end();
  await stopped;
  expect(world.endings).toMatchObject([{ session: 's1', kind: 'finished', outcome: 'completed' }]);
  expect(world.clock.waiting).toBe(0);
});

test('gives back what does not end in time, with what it wrote, and is then gone [oban#328]', async () => {
  const { world, atWork } = held(2);
  await world.worker.start();
  await claimable(world, 's1');
  const { turn } = atWork.get('s1')!;
  const stopped = world.worker.stop();
  await world.clock.advance(limits.drainMs - 1);
  void turn.append('text.delta', 'the last');
  expect(turn.signal.aborted).toBe(false);
  await world.clock.advance(1);
  await stopped;
  expect(turn.signal.reason).toBeInstanceOf(TurnAborted);
  expect(turn.signal.reason).toMatchObject({ why: 'draining' });
  expect(world.told).toEqual([{ type: 'text.delta', data: 'the last' }]);
  expect(world.endings).toEqual([{ session: 's1', kind: 'released' }]);
  await expect(turn.append('text.delta', 'later')).rejects.toThrow(TurnAborted);
  atWork.get('s1')?.end();
  await world.clock.settle();
  expect(world.endings).toHaveLength(1);
  expect(world.clock.waiting).toBe(0);
});

test('gives back at once what a claim brought that was under way when it was asked to end', async () => {
  const { world, atWork } = held(1);
  const claim = gate();
  world.before = (what) => (what === 'claim' ? claim.opened : Promise.resolve());
  await world.worker.start();
  world.claimable('s1');
  const stopped = world.worker.stop();
  claim.open();
  await world.clock.advance(limits.drainMs);
  await stopped;
  expect(atWork.get('s1')?.turn.signal.reason).toMatchObject({ why: 'draining' });
  expect(world.endings).toEqual([{ session: 's1', kind: 'released' }]);
});

test('goes although nothing can be given back: its leases will be over', async () => {
  const { world } = held(1);
  await world.worker.start();
  await claimable(world, 's1');
  world.before = (what) => (what === 'released' ? Promise.reject(away()) : Promise.resolve());
  const stopped = world.worker.stop();
  await world.clock.advance(limits.drainMs + 5_000);
  await stopped;
  expect(world.endings).toEqual([]);
  expect(world.lines()).toContain('an attempt ends unsettled');
});

test('is asked to end twice and does so once', async () => {
  const { world } = held(1);
  await world.worker.start();
  expect(world.worker.stop()).toBe(world.worker.stop());
  await world.worker.stop();
});

test('that is asked to end while a question is on its way lets it be asked', async () => {
  const wait = gate();
  const world = workerWorld({ run: (turn) => turn.approve('a1', {}).then(() => undefined) });
  world.before = (what) => (what === 'waiting' ? wait.opened : Promise.resolve());
  await world.worker.start();
  await claimable(world, 's1');
  const stopped = world.worker.stop();
  await world.clock.advance(limits.drainMs);
  wait.open();
  await world.clock.settle();
  await stopped;
  expect(world.endings).toMatchObject([{ session: 's1', kind: 'waiting' }]);
  expect(world.lines()).not.toContain('unsettled');
});
