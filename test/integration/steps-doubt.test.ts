/** What nobody can tell is never done again by itself: a person is asked, and the session goes on meanwhile. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { Intent } from '../../src/step/step.ts';
import type { Steps } from '../../src/turn/steps.ts';
import type { ClaimedTurn } from '../../src/turn/turns.ts';
import { refusalOf } from '../support/refusal.ts';
import { turnStage } from '../support/turn-stage.ts';
import type { TurnStage } from '../support/turn-stage.ts';

let stage: TurnStage;
let steps: Steps;
beforeEach(async () => {
  stage = await turnStage();
  ({ steps } = stage.turns);
});

const wire: Intent = { tool: 'wire_money', effect: 'once', args: { account: 'DE1', amount: 40 } };
const keyed: Intent = { ...wire, effect: 'keyed' };
const wired = { result: { wire: 'w1' } };

/** Its worker dies in the middle of the call. */
async function inDoubt(intent: Intent = wire): Promise<ClaimedTurn> {
  const turn = await stage.running();
  await steps.start(turn, 0, intent);
  await stage.expire(turn.session);
  expect(await stage.turns.recover()).toBe(1);
  return turn;
}

/** As if the provider had forgotten all keys. */
const forget = () =>
  stage.sql(async (sql) => {
    await sql`
      update ledgerline.step set key_expires_at = clock_timestamp() - interval '1 second' where key_expires_at is not null`;
  });

const tail = async ({ session }: { session: string }, count: number) => (await stage.events(session)).slice(-count);
const attention = () => stage.turns.list('attention', 10, { kind: 'all' });
const done = (result: unknown) => ({ outcome: 'done', result }) as const;
const notDone = { outcome: 'not_done' } as const;

describe('a call that promises nothing, and whose attempt is gone', () => {
  test('puts its turn in doubt at once, where a person sees it', async () => {
    const turn = await inDoubt();
    expect(await tail(turn, 2)).toMatchObject([
      {
        type: 'step.in_doubt',
        data: { turn: turn.turn, attempt: turn.attempt, step: 0, tool: 'wire_money', effect: 'once' },
      },
      { type: 'turn.in_doubt', data: { turn: turn.turn, attempt: turn.attempt, inputs: [1], step: 0 } },
    ]);
    expect(await stage.now(turn.session)).toMatchObject({ state: 'idle' });
    expect(await attention()).toMatchObject([{ turn: turn.turn, status: 'in_doubt' }]);
    expect(await stage.turns.figures()).toMatchObject({ inDoubt: 1 });
    expect(await steps.doubts(10)).toMatchObject([
      { session: turn.session, turn: turn.turn, index: 0, state: 'in_doubt', tool: 'wire_money', effect: 'once' },
    ]);
    expect(await stage.claim()).toEqual([]);
  });

  test('leaves the session to what waits', async () => {
    const turn = await stage.running();
    await steps.start(turn, 0, wire);
    await stage.say(turn.session, 'and now?');
    const next = await stage.lose(turn);
    expect(next.turn).not.toBe(turn.turn);
    expect(next.inputs.map(({ sequence }) => sequence)).toHaveLength(1);
    expect(await stage.turns.finish(next, 'completed', [])).toMatchObject({ status: 'done', state: 'idle' });
  });

  test('is in doubt though its turn was asked to stop, or is late, or had its last try', async () => {
    const turn = await stage.running({ policy: 'once', maxAttempts: 1 });
    await steps.start(turn, 0, wire);
    await stage.turns.stop(turn.session, 'maya');
    await stage.expire(turn.session);
    await stage.turns.recover();
    expect(await tail(turn, 1)).toMatchObject([{ type: 'turn.in_doubt' }]);
  });

  test('is in doubt together with all others that its turn has left', async () => {
    const turn = await stage.running();
    const calls = [1, 2, 3].map((n) => ({ call: `c${n}`, tool: wire.tool, args: wire.args }));
    await steps.model(turn, 0, {}, { result: '1', calls });
    await steps.start(turn, 1, wire);
    await steps.start(turn, 2, { ...wire, effect: 'read' });
    await steps.start(turn, 3, wire);
    await stage.expire(turn.session);
    await stage.turns.recover();
    expect((await tail(turn, 3)).map(({ type }) => type)).toEqual(['step.in_doubt', 'step.in_doubt', 'turn.in_doubt']);
    expect((await steps.doubts(10)).map(({ index }) => index)).toEqual([1, 3]);
    expect((await steps.doubts(1)).map(({ index }) => index)).toEqual([1]);
  });

  test('is met by the next attempt, which ends there', async () => {
    const turn = await stage.running();
    await steps.start(turn, 0, wire);
    await stage.turns.release(turn); // the worker was asked to end, and did not wait for the call
    const next = await stage.claimOne();
    expect(await steps.start(next, 0, wire)).toEqual({ kind: 'in_doubt' });
    expect(await steps.start(next, 0, wire)).toEqual({ kind: 'in_doubt' }); // its answer was lost
    expect((await tail(turn, 2)).map(({ type }) => type)).toEqual(['step.in_doubt', 'turn.in_doubt']);
    expect(await refusalOf(stage.turns.finish(next, 'completed', []))).toMatchObject({ code: 'fenced' });
    expect(await refusalOf(steps.settle(next, 0, wire, wired))).toMatchObject({ code: 'fenced' }); // it did not make the call
  });
});

describe('a call whose key its provider has forgotten', () => {
  test('puts its turn in doubt; as long as the key is known it does not', async () => {
    const turn = await stage.running();
    await steps.start(turn, 0, keyed, 3_600);
    const next = await stage.lose(turn);
    expect(await steps.start(next, 0, keyed, 3_600)).toMatchObject({ kind: 'run', isAgain: true });
    await forget();
    await stage.expire(turn.session);
    await stage.turns.recover();
    expect(await tail(turn, 1)).toMatchObject([{ type: 'turn.in_doubt' }]);
  });

  test('is found so by the attempt that comes to it', async () => {
    const turn = await stage.running();
    await steps.start(turn, 0, keyed);
    const next = await stage.lose(turn);
    await forget();
    expect(await steps.start(next, 0, keyed)).toEqual({ kind: 'in_doubt' });
  });
});

describe('a person who resolves a doubt', () => {
  test('as done gives the result with which the turn goes on', async () => {
    const turn = await inDoubt();
    await steps.resolve(turn.session, turn.turn, 0, done(wired.result), 'ops', true);
    expect(await tail(turn, 2)).toMatchObject([
      { type: 'step.resolved', data: { turn: turn.turn, step: 0, by: 'ops', outcome: 'done', ...wired } },
      { type: 'turn.retrying', data: { turn: turn.turn, reason: 'asked', by: 'ops', inputs: [1] } },
    ]);
    expect(await attention()).toEqual([]);
    const next = await stage.claimOne();
    expect(next).toMatchObject({ turn: turn.turn, tryNumber: 1, inputs: turn.inputs });
    expect(await steps.start(next, 0, wire)).toEqual({ kind: 'done', result: JSON.stringify(wired.result) });
    expect(await stage.turns.finish(next, 'completed', [])).toMatchObject({ status: 'done' });
  });

  test('as not done has it run, once', async () => {
    const turn = await inDoubt();
    await steps.resolve(turn.session, turn.turn, 0, notDone, 'ops', true);
    const next = await stage.claimOne();
    expect(await steps.start(next, 0, wire)).toEqual({ kind: 'run', key: `v1:${turn.turn}:0`, isAgain: false });
    await steps.settle(next, 0, wire, wired);
    expect(await steps.start(next, 0, wire)).toMatchObject({ kind: 'done' });
  });

  test('as not done has it run at its index, though a later call stands behind it', async () => {
    const turn = await stage.running();
    await steps.start(turn, 0, wire);
    await steps.start(turn, 1, { ...wire, effect: 'read' }); // side by side, and no answer has reserved either
    await stage.expire(turn.session);
    await stage.turns.recover();
    await steps.resolve(turn.session, turn.turn, 0, notDone, 'ops', true);
    const next = await stage.claimOne();
    expect(await steps.start(next, 0, wire)).toMatchObject({ kind: 'run', isAgain: false });
  });

  test('without resuming leaves the turn for later', async () => {
    const turn = await inDoubt();
    expect(await refusalOf(stage.turns.retry(turn.session, turn.turn, 'ops'))).toMatchObject({ code: 'turn_over' });
    await steps.resolve(turn.session, turn.turn, 0, done(null), 'ops', false);
    expect(await stage.claim()).toEqual([]);
    expect(await attention()).toMatchObject([{ status: 'in_doubt' }]);
    expect(await stage.turns.retry(turn.session, turn.turn, 'ops')).toMatchObject({ state: 'ready' });
    expect(await stage.claimOne()).toMatchObject({ turn: turn.turn });
  });

  test('resumes with the last of them', async () => {
    const turn = await stage.running();
    const calls = [1, 2].map((n) => ({ call: `c${n}`, tool: wire.tool, args: wire.args }));
    await steps.model(turn, 0, {}, { result: '1', calls });
    await Promise.all([1, 2].map((index) => steps.start(turn, index, wire)));
    await stage.expire(turn.session);
    await stage.turns.recover();
    await steps.resolve(turn.session, turn.turn, 1, done(1), 'ops', true);
    expect(await stage.claim()).toEqual([]);
    await steps.resolve(turn.session, turn.turn, 2, done(2), 'ops', true);
    expect(await stage.claimOne()).toMatchObject({ turn: turn.turn });
  });

  test('learns what there is to resolve, and when it is not the time', async () => {
    const turn = await inDoubt();
    const { session } = turn;
    const resolving = (index: number, isResumed: boolean) =>
      refusalOf(steps.resolve(session, turn.turn, index, done(1), 'ops', isResumed));
    expect(await resolving(1, false)).toMatchObject({ code: 'step_unknown' });
    await stage.say(session, 'next');
    const other = await stage.claimOne();
    expect(await resolving(0, true)).toMatchObject({ code: 'turn_busy' });
    await stage.turns.finish(other, 'completed', []);
    await steps.resolve(session, turn.turn, 0, done(1), 'ops', false);
    expect(await resolving(0, false)).toMatchObject({ code: 'step_settled', fields: { state: 'done' } });
  });

  test('may do so in a session that was closed, where nothing goes on', async () => {
    const turn = await inDoubt();
    await stage.sessions.close(turn.session);
    const { session } = turn;
    const resumed = steps.resolve(session, turn.turn, 0, notDone, 'ops', true);
    expect(await refusalOf(resumed)).toMatchObject({ code: 'session_closed' });
    await steps.resolve(session, turn.turn, 0, done(1), 'ops', false);
    expect(await steps.doubts(10)).toEqual([]);
  });
});

describe('doing a turn anew', () => {
  test('is refused while its effects are done, unless it is forced', async () => {
    const turn = await stage.running();
    await steps.start(turn, 0, wire);
    await steps.settle(turn, 0, wire, wired);
    await stage.turns.finish(turn, 'completed', []);
    const refused = { code: 'turn_over', fields: { turnStatus: 'done' } };
    expect(await refusalOf(stage.turns.rerun(turn.session, turn.turn, 'ops'))).toMatchObject(refused);
    expect(await stage.turns.rerun(turn.session, turn.turn, 'ops', true)).toMatchObject({ state: 'ready' });
    const other = await stage.claimOne();
    expect(other.turn).not.toBe(turn.turn);
    expect(await steps.journal(other.session, other.turn)).toEqual([]);
  });

  test('is refused while they are in doubt', async () => {
    const turn = await inDoubt();
    expect(await refusalOf(stage.turns.rerun(turn.session, turn.turn, 'ops'))).toMatchObject({
      code: 'turn_over',
      fields: { turnStatus: 'in_doubt' },
    });
    expect(await stage.turns.rerun(turn.session, turn.turn, 'ops', true)).toMatchObject({ state: 'ready' });
    await stage.turns.finish(await stage.claimOne(), 'completed', []);
    const resumed = steps.resolve(turn.session, turn.turn, 0, done(1), 'ops', true);
    expect(await refusalOf(resumed)).toMatchObject({ code: 'turn_over' }); // its messages were answered by another
  });

  test('is free when it only read, or failed to do more', async () => {
    const turn = await stage.running();
    await steps.start(turn, 0, { ...wire, effect: 'read' });
    await steps.settle(turn, 0, { ...wire, effect: 'read' }, wired);
    await steps.start(turn, 1, wire);
    await steps.settle(turn, 1, wire, { error: { code: 'declined', message: 'no' } });
    await stage.turns.finish(turn, 'completed', []);
    expect(await stage.turns.rerun(turn.session, turn.turn, 'ops')).toMatchObject({ state: 'ready' });
  });
});
