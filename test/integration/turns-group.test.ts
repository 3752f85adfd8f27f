/** Turns that begin and end together in one statement: each decided from what was committed before its own lock, and none for another. */
import { randomUUID } from 'node:crypto';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { completeTurns } from '../../src/ledger/turn-stamp.ts';
import { createTurns } from '../../src/turn/postgres-turns.ts';
import type { PostgresTurns } from '../../src/turn/postgres-turns.ts';
import type { Traceparent } from '../../src/event/trace.ts';
import type { ClaimedTurn } from '../../src/turn/turns.ts';
import { anEvent, countTo, holdHeads } from '../support/ledger.ts';
import { holdCommit } from '../support/stranger.ts';
import { turnStage } from '../support/turn-stage.ts';
import type { TurnStage } from '../support/turn-stage.ts';

let stage: TurnStage;
beforeEach(async () => {
  stage = await turnStage();
});

/** So many turns that run, in the order of their sessions. */
async function running(count: number): Promise<ClaimedTurn[]> {
  for (const _ of countTo(count)) await stage.say(await stage.session(), 'hello');
  const turns = await stage.claim({ limit: count });
  return turns.toSorted((a, b) => (a.session < b.session ? -1 : 1));
}

const finish = (turn: ClaimedTurn, turns = stage.turns) => turns.finish(turn, 'completed', [anEvent('{}')]);

test('turns that are completed together are one commit', async () => {
  const turns = await running(10);
  const settled = await Promise.all(turns.map((turn) => finish(turn)));
  expect(settled).toEqual(turns.map(() => ({ state: 'idle', status: 'done', sequence: 4 })));
  const commits = await stage.sql(
    (sql) => sql`select distinct xmin::text from ledgerline.event where type = 'turn.completed'`,
  );
  expect(commits).toHaveLength(1);
});

test('each of them has its own events, whatever is in them', async () => {
  const turns = await running(3);
  const trace = (digit: string) => `00-${digit.repeat(32)}-${digit.repeat(16)}-01` as Traceparent;
  const said = turns.map(({ turn, attempt, session }, index) => ({
    session,
    turn,
    attempt,
    events: [
      ...countTo(index).map((number) => ({
        ...anEvent(`{"n":${number},"text":",;*|\\u000d\\n é 🙂 \\u0000"}`),
        ...(number === 1 ? { traceparent: trace('1') } : {}),
      })),
      { ...anEvent('{"last":true}', 'turn.completed'), ...(index === 0 ? { traceparent: trace('2') } : {}) },
    ],
  }));
  const completed = await stage.sql((sql) => completeTurns(sql, said));
  for (const [index, { session, events }] of said.entries()) {
    const stored = await stage.sql(
      (sql) => sql`
        select type, payload::text as data, bytes, traceparent from ledgerline.event
         where session = ${session} and sequence > 2 order by sequence`,
    );
    expect(completed[index]?.moved.events).toHaveLength(events.length);
    expect(stored).toEqual(
      completed[index]?.moved.events.map(({ type, data, bytes, traceparent = null }) => ({
        type,
        data,
        bytes,
        traceparent,
      })),
    );
    expect(stored.at(-1)).toMatchObject({ data: '{"last":true,"inputs":[1]}' });
    expect(stored.slice(0, -1).map(({ data }) => data)).toEqual(events.slice(0, -1).map(({ data }) => data));
  }
});

test('one that cannot be completed fails alone [I9]', async () => {
  const turns = await running(4);
  const bad = turns[2]?.session ?? '';
  const turnBack = (by: number) =>
    stage.sql(
      (sql) =>
        sql`update ledgerline.session_head set last_sequence = last_sequence - ${by}::int where session = ${bad}`,
    );
  await turnBack(1);
  const settled = await Promise.allSettled(turns.map((turn) => finish(turn)));
  expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
  await turnBack(-1);
  for (const turn of turns) expect(await finish(turn)).toMatchObject({ status: 'done', sequence: 4 });
});

test('one whose head somebody holds, and one that left a call open, keep none of the others waiting [I9]', async () => {
  const turns = await running(4);
  const [first, held, open, free] = turns as [ClaimedTurn, ClaimedTurn, ClaimedTurn, ClaimedTurn];
  const intent = { tool: 'mail', effect: 'once', args: {} } as const;
  await stage.turns.steps.start(open, 0, intent);
  const stranger = await holdHeads(stage.url, held.session);
  const settled = Promise.all([first, held, open].map((turn) => finish(turn)));
  expect(await finish(free)).toMatchObject({ status: 'done' });
  await stranger.release();
  expect((await settled).map(({ status }) => status)).toEqual(['done', 'done', 'in_doubt']);
});

/**
 * Turns whose statements stop where they look at a head that the test holds: the snapshot is taken by then, and what comes behind that
 * head is not yet locked.
 */
async function pausing(): Promise<PostgresTurns> {
  const role = `paused_${randomUUID().replaceAll('-', '')}`;
  await stage.sql((sql) =>
    sql.unsafe(`
      create function public.paused(session text) returns boolean language plpgsql as $$
      begin perform pg_advisory_xact_lock_shared(hashtext(session || ' pause')); return true; end $$;
      create role ${role};
      grant usage on schema ledgerline to ${role};
      grant all on all tables in schema ledgerline to ${role};
      alter table ledgerline.session_head enable row level security;
      create policy paused on ledgerline.session_head to ${role} using (public.paused(session)) with check (true);`),
  );
  const url = new URL(stage.url);
  url.searchParams.set('role', role);
  const { bus, metrics } = stage;
  const turns = createTurns({
    url: url.href,
    bus,
    metrics,
    clock: systemClock,
    log: silentLog,
    bounds: { debounceMs: 0, debounceCapMs: 0 },
  });
  onTestFinished(async () => {
    await turns.service.stop();
    await stage.sql((sql) => sql.unsafe(`drop owned by ${role}; drop role ${role}`));
  });
  return turns;
}

test('a message that comes between the snapshot of a claim and its lock is not left with an idle session [I10]', async () => {
  const paused = await pausing();
  const [longest, other] = [await stage.session(), await stage.session()];
  for (const session of [longest, other]) await stage.say(session, 'one');
  await stage.sql(
    (sql) => sql`update ledgerline.session_head set due_at = due_at - interval '1 hour' where session = ${longest}`,
  );
  const blocker = await holdCommit(stage.url, longest, 'pause');
  const asked = { worker: 'w', limit: 2, waitMs: 0, policy: 'retry', maxAttempts: 3, turnMs: 60_000 } as const;
  const claimed = paused.claim(asked);
  await blocker.met();
  // Somebody else answers what the snapshot holds, and more is said.
  const turns = await stage.claim();
  expect(turns).toHaveLength(2);
  await stage.say(other, 'two');
  for (const turn of turns) await stage.turns.finish(turn, 'completed', []);
  // Due when that statement began, or it would not take it.
  await stage.sql(
    (sql) => sql`update ledgerline.session_head set due_at = due_at - interval '1 hour' where session = ${other}`,
  );
  await blocker.release();
  expect(await claimed).toMatchObject([{ session: other, inputs: [{ sequence: 3 }] }]);
});

test('a message that comes between the snapshot of a completion and its lock is not left with an idle session [I10]', async () => {
  const paused = await pausing();
  const turns = await running(2);
  const [first, second] = turns as [ClaimedTurn, ClaimedTurn];
  const blocker = await holdCommit(stage.url, first.session, 'pause');
  const settled = Promise.all(turns.map((turn) => finish(turn, paused)));
  await blocker.met();
  await stage.say(second.session, 'two');
  await blocker.release();
  expect((await settled).map(({ state }) => state)).toEqual(['idle', 'ready']);
  expect(await stage.claimOne()).toMatchObject({ session: second.session, inputs: [{ sequence: 3 }] });
});
