/** How attempts end: once, by their owner alone, with the same answer when it is asked for again. */
import { beforeEach, describe, expect, test } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import type { ClaimedTurn, Settled } from '../../src/turn/turns.ts';
import { anEvent, countTo, holdHeads } from '../support/ledger.ts';
import { refusalOf } from '../support/refusal.ts';
import { turnStage } from '../support/turn-stage.ts';
import type { TurnStage } from '../support/turn-stage.ts';
import { eventually } from '../support/waits.ts';

let stage: TurnStage;
beforeEach(async () => {
  stage = await turnStage();
});

async function running(more: Parameters<TurnStage['claimOne']>[0] = {}): Promise<ClaimedTurn> {
  await stage.say(await stage.session(), 'hello');
  return stage.claimOne(more);
}

const failure = { code: 'model_error', message: 'the model was overloaded' };
const question = { approval: 'refund', data: { tool: 'issue_refund', args: { order: '7731', amount: 40 } } };

/** Every way to settle, as its owner would. */
const ways: readonly (readonly [string, (turn: ClaimedTurn) => Promise<Settled>])[] = [
  ['finishing', (turn) => stage.turns.finish(turn, 'completed', [anEvent('{}', 'message.completed')])],
  ['failing for good', (turn) => stage.turns.fail(turn, failure, false)],
  ['failing for now', (turn) => stage.turns.fail(turn, failure, true)],
  ['waiting', (turn) => stage.turns.wait(turn, [question])],
  ['releasing', (turn) => stage.turns.release(turn)],
];

describe.each(ways)('%s', (_, settle) => {
  test('twice has the same answer, and happens once', async () => {
    const turn = await running();
    const first = await settle(turn);
    const types = await stage.types(turn.session);
    expect(await settle(turn)).toEqual(first);
    expect(await stage.types(turn.session)).toEqual(types);
  });

  test('by many at once happens once', async () => {
    const turn = await running();
    const before = (await stage.types(turn.session)).length;
    const answers = await Promise.all(countTo(8).map(() => settle(turn)));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect((await stage.types(turn.session)).slice(before).filter((type) => type.startsWith('turn.'))).toHaveLength(1);
  });

  test('by an attempt that was taken over is refused, and counted [I11] [pg-boss#555]', async () => {
    const stale = await running();
    await stage.expire(stale.session);
    expect(await stage.turns.recover()).toBe(1);
    await stage.hurry(stale.session);
    const owner = await stage.claimOne();
    const types = await stage.types(stale.session);
    expect(await refusalOf(settle(stale))).toMatchObject({ code: 'fenced' });
    const append = { session: stale.session, events: [anEvent('{}')], fence: stale };
    expect(await stage.sessions.append(append)).toEqual({ kind: 'fenced' });
    expect(await refusalOf(stage.turns.steer(stale))).toMatchObject({ code: 'fenced' });
    expect(await stage.turns.renew([stale])).toEqual([]);
    expect(await stage.types(stale.session)).toEqual(types);
    expect((await stage.metrics.fencedWrites.get()).values[0]?.value).toBe(3);
    expect(await stage.turns.finish(owner, 'completed', [])).toMatchObject({ status: 'done' });
  });

  test('in a session that was deleted is refused', async () => {
    const turn = await running();
    await stage.sessions.delete(turn.session);
    expect(await refusalOf(settle(turn))).toMatchObject({ code: 'fenced' });
  });
});

describe('a turn that failed', () => {
  test('for now is tried again after a pause, up to its cap, and then fails where everybody sees it', async () => {
    const { session, turn } = await running();
    for (const tryNumber of [1, 2, 3]) {
      const attempt = tryNumber === 1 ? { session, turn, attempt: 1 } : await stage.claimOne();
      expect(await stage.turns.fail(attempt, failure, true)).toMatchObject(
        tryNumber < 3 ? { state: 'ready', status: 'open' } : { state: 'idle', status: 'failed' },
      );
      if (tryNumber < 3) expect(await stage.claim()).toEqual([]); // not before the pause is over
      await stage.hurry(session);
    }
    expect(await stage.types(session)).toEqual([
      'message.created',
      'turn.started',
      'turn.retrying',
      'turn.started',
      'turn.retrying',
      'turn.started',
      'turn.failed',
    ]);
    expect((await stage.events(session)).at(-1)?.data).toEqual({ turn, attempt: 3, inputs: [1], error: failure });
    await stage.say(session, 'and now?');
    expect(await stage.turns.finish(await stage.claimOne(), 'completed', [])).toMatchObject({ status: 'done' });
  });

  test('for good is tried no more', async () => {
    expect(await stage.turns.fail(await running(), failure, false)).toMatchObject({ status: 'failed', state: 'idle' });
  });

  test('and may be tried but once, is over', async () => {
    const turn = await running({ policy: 'once' });
    expect(await stage.turns.fail(turn, failure, true)).toMatchObject({ status: 'failed' });
  });

  test('says so whatever its error holds [hatchet#4611]', async () => {
    const turn = await running();
    const error = { code: 'x', message: 'a NUL \u0000, half \ud83d, a line\u2028break' };
    expect(await stage.turns.fail(turn, error, false)).toMatchObject({ status: 'failed' });
    expect((await stage.events(turn.session)).at(-1)?.data).toMatchObject({ error });
    expect(await stage.turns.list('attention', 10, { kind: 'all' })).toMatchObject([{ turn: turn.turn, error }]);
  });
});

describe('a turn that is given back', () => {
  test('ten times has still its first try before it [oban#328]', async () => {
    const { session, turn } = await running();
    let attempt: ClaimedTurn | { session: string; turn: string; attempt: number } = { session, turn, attempt: 1 };
    for (const _ of countTo(10)) {
      expect(await stage.turns.release(attempt)).toMatchObject({ state: 'ready', status: 'open' });
      attempt = await stage.claimOne();
      expect(attempt).toMatchObject({ turn, tryNumber: 1 });
    }
    expect(await stage.turns.finish(attempt, 'completed', [])).toMatchObject({ status: 'done' });
  });

  test('cannot be written to by who gave it back, though nobody has it yet', async () => {
    const turn = await running();
    await stage.turns.release(turn);
    const append = { session: turn.session, events: [anEvent('{}')], fence: turn };
    expect(await stage.sessions.append(append)).toEqual({ kind: 'fenced' });
  });
});

describe('finishing', () => {
  test('as cancelled needs somebody who asked for it', async () => {
    const turn = await running();
    expect(await refusalOf(stage.turns.finish(turn, 'cancelled', []))).toMatchObject({ code: 'turn_over' });
    expect(await stage.turns.finish(turn, 'completed', [])).toMatchObject({ status: 'done' });
  });

  test('waits for a head that somebody holds, and leaves what waits behind it ready', async () => {
    const turn = await running();
    await stage.say(turn.session, 'next');
    const stranger = await holdHeads(stage.url, turn.session);
    const finished = stage.turns.finish(turn, 'completed', [anEvent('{}')]);
    await stranger.release();
    expect(await finished).toMatchObject({ state: 'ready', status: 'done', sequence: 5 });
    expect((await stage.claimOne()).turn).not.toBe(turn.turn);
  });

  test('is told live in the words that are stored, as is the claim [I2]', async () => {
    const session = await stage.session();
    let live = '';
    const subscription = stage.bus.subscribe(session, (broadcast) => {
      if (broadcast.kind === 'events') live += broadcast.frames?.toString();
    });
    await subscription.ready;
    await stage.say(session, 'one');
    await stage.say(session, 'two');
    await stage.turns.finish(await stage.claimOne(), 'completed', [anEvent('{"text": "line"}')]);
    const { events } = await stage.ledger.history(session, { limit: 10 });
    expect(events).toHaveLength(5);
    expect(events.filter((text) => !live.includes(`data: ${text}\n`))).toEqual([]);
    expect(JSON.parse(events[4] ?? '')).toMatchObject({ type: 'turn.completed', data: { attempt: 1, inputs: [1, 2] } });
    subscription.unsubscribe();
  });

  test('leaves a reply that whoever lists sessions sees', async () => {
    const turn = await running();
    const { sequence } = await stage.turns.finish(turn, 'completed', []);
    const { sessions } = await stage.ledger.list({ kind: 'all' }, { limit: 10 }, 'maya');
    expect(sessions).toMatchObject([{ session: turn.session, notable: sequence, read: 0 }]);
  });
});

describe('leases', () => {
  test('are extended by appends and by renewals, and only for who has them', async () => {
    const turns = [await running(), await running(), await running()];
    const [first, second, third] = turns as [ClaimedTurn, ClaimedTurn, ClaimedTurn];
    for (const { session } of turns) await stage.expire(session);
    await stage.sessions.append({ session: first.session, events: [anEvent('{}')], fence: first });
    expect((await stage.turns.renew([second, { ...third, attempt: 7 }])).map(({ session }) => session)).toEqual([
      second.session,
    ]);
    expect(await stage.turns.recover()).toBe(1);
    expect(await stage.now(first.session)).toMatchObject({ state: 'running' });
    expect(await stage.now(second.session)).toMatchObject({ state: 'running' });
    expect(await stage.now(third.session)).toMatchObject({ state: 'ready' });
  });

  test('of fifty turns are renewed and finished while every other connection waits [graphile#564]', async () => {
    stage = await turnStage({ turnConnections: 3 });
    const sessions = await Promise.all(countTo(50).map(() => stage.session()));
    await Promise.all(sessions.map((session) => stage.say(session, 'hello')));
    const turns = await stage.claim({ limit: 50 });
    const held = await Promise.all(countTo(6).map(() => stage.session()));
    const stranger = await holdHeads(stage.url, ...held);
    const stuck = held.map((session) => stage.say(session, 'waits for the head'));
    expect(await stage.turns.renew(turns)).toHaveLength(50);
    const settled = await Promise.all(turns.map((turn) => stage.turns.finish(turn, 'completed', [])));
    expect(settled.every(({ status }) => status === 'done')).toBe(true);
    await stranger.release();
    await Promise.all(stuck);
  });
});

test('one head that somebody holds keeps no other lease from going on, and its own turn is not lost [I9]', async () => {
  const turns = [await running(), await running(), await running()];
  const held = turns[1]?.session ?? '';
  for (const { session } of turns) await stage.expire(session);
  const stranger = await holdHeads(stage.url, held);
  const renewed = await stage.turns.renew([...turns, { session: held, turn: 'another', attempt: 1 }]);
  const extended = new Map(renewed.map(({ session, isExtended }) => [session, isExtended]));
  expect(extended).toEqual(new Map(turns.map(({ session }) => [session, session !== held])));
  expect(renewed).toHaveLength(turns.length);
  await stranger.release();
  expect(await stage.turns.recover()).toBe(1);
  expect(await stage.now(held)).toMatchObject({ state: 'ready' });
});

test('settlings that wait for heads keep no other lease from going on, and no other turn from being completed [I9]', async () => {
  const free = await running();
  const others = [await running(), await running(), await running()];
  const strangers = await Promise.all(others.map(({ session }) => holdHeads(stage.url, session)));
  const waiting = others.map((turn) => stage.turns.finish(turn, 'completed', []));
  let isSettled = false;
  const settled = Promise.all(waiting).finally(() => (isSettled = true));
  await eventually('they wait', async () => {
    const rows = await stage.sql(
      (sql) => sql`select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
    );
    return rows.length === limits.settleConnections;
  });
  expect(await stage.turns.renew([free])).toMatchObject([{ session: free.session, isExtended: true }]);
  expect(await stage.turns.finish(free, 'completed', [])).toMatchObject({ status: 'done' });
  expect(isSettled).toBe(false);
  for (const stranger of strangers) await stranger.release();
  expect((await settled).map(({ status }) => status)).toEqual(['done', 'done', 'done']);
});

describe('a question', () => {
  test('ends the attempt, and its answer begins the next with it', async () => {
    const turn = await running();
    const { session } = turn;
    await stage.turns.wait(turn, [question]);
    expect(await stage.claim()).toEqual([]);
    const decided = { approval: 'refund', decision: 'approved', by: 'maya', comment: 'fine \u0000' } as const;
    expect(await stage.turns.decide(session, decided)).toEqual({ sequence: 5, isRepeat: false, state: 'ready' });
    const resumed = await stage.claimOne();
    expect(resumed).toMatchObject({ turn: turn.turn, attempt: 2, tryNumber: 1, inputs: turn.inputs });
    expect(resumed.decisions).toEqual([{ ...decided, sequence: 5 }]);
    expect(await stage.types(session)).toEqual([
      'message.created',
      'turn.started',
      'approval.required',
      'turn.waiting',
      'approval.decided',
      'turn.started',
    ]);
    expect((await stage.events(session))[2]?.data).toMatchObject({ ...question.data, approval: 'refund' });
  });

  test('is decided by who is first, and everybody else learns what and by whom', async () => {
    const turn = await running();
    const { session } = turn;
    await stage.turns.wait(turn, [question]);
    const people = countTo(10).map((number) => ({
      approval: 'refund',
      decision: number % 2 ? ('approved' as const) : ('denied' as const),
      by: `person ${number}`,
      comment: undefined,
    }));
    const answers = await Promise.allSettled(people.map((decision) => stage.turns.decide(session, decision)));
    const winners = people.filter((_, index) => answers[index]?.status === 'fulfilled');
    expect(winners).toHaveLength(1);
    const fields = { decision: winners[0]?.decision, by: winners[0]?.by, sequence: 5 };
    for (const answer of answers) {
      if (answer.status === 'rejected') expect(answer.reason).toMatchObject({ code: 'approval_decided', fields });
    }
    const winner = winners[0];
    if (winner !== undefined) {
      expect(await stage.turns.decide(session, winner)).toMatchObject({ sequence: 5, isRepeat: true });
    }
    expect((await stage.types(session)).filter((type) => type === 'approval.decided')).toHaveLength(1);
  });

  test('that somebody decided whose name holds half a character is told again, too', async () => {
    const turn = await running();
    await stage.turns.wait(turn, [question]);
    const decided = { approval: 'refund', decision: 'approved', by: 'ma\ud800\u0000ya', comment: undefined } as const;
    const { sequence } = await stage.turns.decide(turn.session, decided);
    expect(await stage.turns.decide(turn.session, decided)).toMatchObject({ sequence, isRepeat: true });
  });

  test('that was decided is told again to who decided it, though the session was closed meanwhile', async () => {
    const turn = await running();
    const { session } = turn;
    await stage.turns.wait(turn, [question]);
    const decided = { approval: 'refund', decision: 'approved', by: 'maya', comment: undefined } as const;
    const { sequence } = await stage.turns.decide(session, decided);
    await stage.sessions.close(session);
    expect(await stage.turns.decide(session, decided)).toEqual({ sequence, isRepeat: true, state: 'idle' });
    expect(await refusalOf(stage.turns.decide(session, { ...decided, by: 'noah' }))).toMatchObject({
      code: 'session_closed',
    });
  });

  test('among several lets the turn go on with the last answer', async () => {
    const turn = await running();
    await stage.turns.wait(turn, [question, { approval: 'mail', data: {} }]);
    const decide = (approval: string) =>
      stage.turns.decide(turn.session, { approval, decision: 'denied', by: 'maya', comment: undefined });
    expect(await decide('refund')).toMatchObject({ state: 'waiting' });
    expect(await stage.claim()).toEqual([]);
    expect(await decide('mail')).toMatchObject({ state: 'ready' });
    expect((await stage.claimOne()).decisions).toHaveLength(2);
  });

  test('that was asked before is not asked twice, and one that was decided is no reason to wait', async () => {
    const turn = await running();
    const { session } = turn;
    await stage.turns.wait(turn, [question]);
    await stage.turns.decide(session, { approval: 'refund', decision: 'approved', by: 'maya', comment: undefined });
    const resumed = await stage.claimOne();
    expect(await stage.turns.wait(resumed, [question, { approval: 'mail', data: {} }])).toMatchObject({
      state: 'waiting',
    });
    const required = (await stage.events(session)).filter(({ type }) => type === 'approval.required');
    expect(required.map(({ data }) => (data as { approval: string }).approval)).toEqual(['refund', 'mail']);
    await stage.turns.decide(session, { approval: 'mail', decision: 'denied', by: 'maya', comment: undefined });
    const third = await stage.claimOne();
    expect(await stage.turns.wait(third, [question])).toMatchObject({ state: 'ready', status: 'open' });
    expect((await stage.claimOne()).decisions).toHaveLength(2);
  });

  test('of another turn keeps its id', async () => {
    const turn = await running();
    await stage.turns.wait(turn, [question]);
    await stage.turns.stop(turn.session, 'maya');
    await stage.say(turn.session, 'again');
    const other = await stage.claimOne();
    expect(await refusalOf(stage.turns.wait(other, [question]))).toMatchObject({ code: 'approval_conflict' });
    expect(await stage.turns.finish(other, 'completed', [])).toMatchObject({ status: 'done' });
  });

  test('of a turn that is over, or that was never asked, cannot be decided', async () => {
    const turn = await running();
    const decide = (approval: string) =>
      stage.turns.decide(turn.session, { approval, decision: 'approved', by: 'maya', comment: undefined });
    await stage.turns.wait(turn, [question]);
    await stage.turns.stop(turn.session, 'maya');
    expect(await refusalOf(decide('refund'))).toMatchObject({
      code: 'approval_decided',
      fields: { decision: null, by: null, sequence: null },
    });
    expect(await refusalOf(decide('never'))).toMatchObject({ code: 'approval_unknown' });
  });
});
