/** However a turn ends, what it began outside and nobody settled is not forgotten: it is in doubt, and a person sees it. */
import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { EffectClass, Intent } from '../../src/step/step.ts';
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

const wire = (effect: EffectClass): Intent => ({ tool: 'wire_money', effect, args: { amount: 40 } });
const wired = { result: { wire: 'w1' } };
const error = { code: 'broken', message: 'no' };

async function begun(effect: EffectClass, more: { policy?: 'once' } = {}): Promise<ClaimedTurn> {
  const turn = await stage.running(more);
  await steps.start(turn, 0, wire(effect));
  return turn;
}

async function stopAsked(turn: ClaimedTurn): Promise<void> {
  await stage.turns.stop(turn.session, 'maya');
}

const lost = async (turn: ClaimedTurn): Promise<void> => {
  await stage.expire(turn.session);
  await stage.turns.recover();
};

const stopped = { reason: 'stopped' };
/** The last is the end that was asked for, as its event says it. */
const ends: readonly [string, { policy?: 'once' }, (turn: ClaimedTurn) => Promise<unknown>, object][] = [
  ['its worker fails it for good', {}, (turn) => stage.turns.fail(turn, error, false), { reason: 'failed', error }],
  ['its worker fails its one try', { policy: 'once' }, (turn) => stage.turns.fail(turn, error, true), { error }],
  ['its worker is lost in its one try', { policy: 'once' }, lost, { error: { code: 'worker_lost' } }],
  ['its worker finishes it', {}, (turn) => stage.turns.finish(turn, 'completed', []), { reason: 'completed' }],
  [
    'it is stopped and its worker ends it',
    {},
    (turn) => stopAsked(turn).then(() => stage.turns.finish(turn, 'cancelled', [])),
    stopped,
  ],
  [
    'it is stopped and its worker gives it back',
    {},
    (turn) => stopAsked(turn).then(() => stage.turns.release(turn)),
    stopped,
  ],
  ['it is stopped and its worker is lost', {}, (turn) => stopAsked(turn).then(() => lost(turn)), stopped],
  [
    'it is stopped between two attempts',
    {},
    (turn) => stage.turns.release(turn).then(() => stopAsked(turn)),
    { ...stopped, by: 'maya' },
  ],
  ['its session is closed', {}, (turn) => stage.sessions.close(turn.session), { reason: 'closed' }],
];

describe.each(['once', 'keyed', 'lookup'] as const)('a call with an effect (%s) that is open', (effect) => {
  test.each(ends)('is in doubt when %s, and its turn is, which says so', async (_, more, end, asked) => {
    const turn = await begun(effect, more);
    await end(turn);
    const last = (await stage.events(turn.session)).slice(-2);
    expect(last).toMatchObject([
      { type: 'step.in_doubt', data: { turn: turn.turn, step: 0, effect } },
      { type: 'turn.in_doubt', data: { turn: turn.turn, inputs: [1], step: 0, ...asked } },
    ]);
    expect(await steps.doubts(10)).toMatchObject([{ session: turn.session, index: 0 }]);
    const listed = await stage.turns.list('attention', 10, { kind: 'all' });
    const { reason, error: why = { code: reason } } = asked as { reason?: string; error?: object };
    expect(listed).toMatchObject([{ turn: turn.turn, status: 'in_doubt', error: why }]);
    expect(await stage.claim()).toEqual([]);
  });
});

describe('a call without one', () => {
  test.each(ends)('is nobody’s doubt when %s', async (_, more, end) => {
    const turn = await begun('idempotent', more);
    await end(turn);
    expect(await steps.doubts(10)).toEqual([]);
    expect(await stage.types(turn.session)).not.toContain('turn.in_doubt');
  });
});

test('a call that its attempt has left, and no end was asked for, says no other reason than its step', async () => {
  const turn = await begun('once');
  await lost(turn);
  const [last] = (await stage.events(turn.session)).slice(-1);
  expect(last).toMatchObject({ type: 'turn.in_doubt', data: { step: 0 } });
  expect(Object.keys(last?.data ?? {})).toEqual(['turn', 'attempt', 'inputs', 'step']);
  expect(await stage.turns.list('attention', 10, { kind: 'all' })).toMatchObject([{ error: undefined }]);
});

test('the end that met an open call has the same answer again, and keeps why and what was said', async () => {
  const turn = await begun('once');
  const failed = await stage.turns.fail(turn, error, false);
  expect(failed).toMatchObject({ status: 'in_doubt', state: 'idle' });
  expect(await stage.turns.fail(turn, error, false)).toEqual(failed);
  const [kept] = await stage.sql((sql) => sql`select error from ledgerline.turn`);
  expect(kept).toEqual({ error });

  const other = await begun('once');
  const said = [{ type: 'note', data: '{}', bytes: 2 }] as const;
  const finished = await stage.turns.finish(other, 'completed', said);
  expect((await stage.types(other.session)).slice(-3)).toEqual(['note', 'step.in_doubt', 'turn.in_doubt']);
  expect(await stage.turns.finish(other, 'completed', said)).toEqual(finished);
});

test('what a call came to is taken from the attempt that made it, though a person is asked, and ends the doubt', async () => {
  const turn = await begun('once');
  await lost(turn);
  const declined = { error: { code: 'declined', message: 'no' } };
  expect(await refusalOf(steps.settle(turn, 0, wire('once'), declined))).toMatchObject({ code: 'fenced' });
  const stranger = { ...turn, attempt: turn.attempt + 7 };
  expect(await refusalOf(steps.settle(stranger, 0, wire('once'), wired))).toMatchObject({ code: 'fenced' });
  expect(await steps.settle(turn, 0, wire('once'), wired)).toEqual({ state: 'done', sequence: undefined });
  expect(await steps.doubts(10)).toEqual([]);
  const late = steps.resolve(turn.session, turn.turn, 0, { outcome: 'not_done' }, 'ops', true);
  expect(await refusalOf(late)).toMatchObject({ code: 'step_settled', fields: { state: 'done' } });
  await stage.turns.retry(turn.session, turn.turn, 'ops');
  const next = await stage.claimOne();
  expect(await steps.start(next, 0, wire('once'))).toMatchObject({
    kind: 'done',
    result: JSON.stringify(wired.result),
  });
});

test('a verdict that is given again, for its answer was lost, hears that the step is settled', async () => {
  const turn = await begun('once');
  await lost(turn);
  const resolve = () => steps.resolve(turn.session, turn.turn, 0, { outcome: 'done', result: 1 }, 'ops', true);
  await resolve();
  const settled = { code: 'step_settled', fields: { state: 'done' } };
  expect(await refusalOf(resolve())).toMatchObject(settled);
  await stage.claimOne();
  expect(await refusalOf(resolve())).toMatchObject(settled);
});

test('whatever is to be delivered wakes a relay, once it is committed, and nothing else does', async () => {
  const deliveries = [
    { topic: 'a', payload: 1 },
    { topic: 'b', payload: 2 },
  ];
  const wake = vi.spyOn(stage.bus, 'wake');
  const wakes = () => wake.mock.calls.filter(([{ kind }]) => kind === 'delivery').length;
  const turn = await begun('keyed');
  expect(wakes()).toBe(0);
  await steps.settle(turn, 0, wire('keyed'), { ...wired, deliveries });
  expect(wakes()).toBe(1);
  await steps.settle(turn, 0, wire('keyed'), { ...wired, deliveries });
  expect(wakes()).toBe(1);
  await steps.transactional(turn, 1, wire('transactional'), () => Promise.resolve({ ...wired, deliveries }));
  expect(wakes()).toBe(2);
  await steps.start(turn, 2, wire('keyed'));
  await stage.lose(turn);
  await steps.settle(turn, 2, wire('keyed'), { ...wired, deliveries });
  expect(wakes()).toBe(3);
});
