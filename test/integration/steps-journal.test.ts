/** The journal of a turn: what was answered, asked and told, at indices that never mean anything else. */
import { beforeEach, describe, expect, test } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import type { Steps } from '../../src/turn/steps.ts';
import type { ClaimedTurn } from '../../src/turn/turns.ts';
import { countTo } from '../support/ledger.ts';
import { refusalOf } from '../support/refusal.ts';
import { eventually } from '../support/waits.ts';
import { turnStage } from '../support/turn-stage.ts';
import type { TurnStage } from '../support/turn-stage.ts';

let stage: TurnStage;
let steps: Steps;
beforeEach(async () => {
  stage = await turnStage();
  ({ steps } = stage.turns);
});

const lookup = { tool: 'lookup_order', effect: 'read', args: { order: '7731' } } as const;
const answer = {
  result: '{"text":"I will look it up.", "n": 9007199254740993}',
  calls: [
    { call: 'c1', tool: 'lookup_order', args: { order: '7731' } },
    { call: 'c2', tool: 'issue_refund', args: { order: '7731', amount: 40 } },
  ],
};
const noCalls = { result: '"Done."', calls: [] };

describe("a model's answer", () => {
  test('is kept to the letter, with the indices of the calls that it asks for', async () => {
    const turn = await stage.running();
    const { state, sequence } = await steps.model(turn, 0, { prompt: 'hello' }, answer);
    expect(state).toBe('done');
    expect(await steps.journal(turn.session, turn.turn)).toMatchObject([
      {
        index: 0,
        kind: 'model',
        state: 'done',
        reserved: 2,
        fence: turn.attempt,
        request: '{"prompt":"hello"}',
        result: `{"result":${answer.result},"calls":${JSON.stringify(answer.calls)}}`,
      },
    ]);
    expect((await stage.events(turn.session)).at(-1)).toMatchObject({
      sequence,
      type: 'step.done',
      turn: turn.turn,
      attempt: turn.attempt,
      data: { turn: turn.turn, attempt: turn.attempt, step: 0, kind: 'model', reserved: 2, fromJournal: false },
    });
  });

  test('that is told again is a repeat; another one at its index is refused, and the journal keeps the first', async () => {
    const turn = await stage.running();
    await steps.model(turn, 0, {}, answer);
    const before = await steps.journal(turn.session, turn.turn);
    const types = await stage.types(turn.session);
    expect(await steps.model(turn, 0, { prompt: 'told otherwise' }, answer)).toEqual({
      state: 'done',
      sequence: undefined,
    });
    expect(await refusalOf(steps.model(turn, 0, {}, noCalls))).toMatchObject({
      code: 'step_conflict',
      fields: { state: 'done' },
    });
    expect(await steps.journal(turn.session, turn.turn)).toEqual(before);
    expect(await stage.types(turn.session)).toEqual(types);
  });

  test('comes at the next free index and at no other', async () => {
    const turn = await stage.running();
    for (const index of [1, 2]) {
      expect(await refusalOf(steps.model(turn, index, {}, noCalls))).toMatchObject({ code: 'step_conflict' });
    }
    await steps.model(turn, 0, {}, answer);
    for (const index of [1, 2, 4]) {
      expect(await refusalOf(steps.model(turn, index, {}, noCalls))).toMatchObject({
        code: 'step_conflict',
        fields: { state: null },
      });
    }
    expect(await steps.model(turn, 3, {}, noCalls)).toMatchObject({ state: 'done' });
  });

  test.each(['read', 'keyed', 'once'] as const)(
    'is refused while a call (%s) is open, whoever began it',
    async (effect) => {
      const call = { ...lookup, effect };
      const message = `the step 2 (lookup_order, ${effect}) is open: start it again and settle it before the model is asked further`;
      const open = { code: 'step_conflict', fields: { state: 'started' }, message };
      const asking = (attempt: ClaimedTurn) => refusalOf(steps.model(attempt, 3, {}, noCalls));
      const turn = await stage.running();
      await steps.model(turn, 0, {}, answer);
      await steps.start(turn, 2, call);
      expect(await asking(turn)).toMatchObject(open);
      await stage.turns.release(turn);
      const next = await stage.claimOne(); // which does not come to the call
      expect(await asking(next)).toMatchObject(open);
      expect(await steps.model(next, 0, {}, answer)).toMatchObject({ state: 'done' }); // what the journal has is told again
      await steps.settle(turn, 2, call, { result: 1 });
      expect(await steps.model(next, 3, {}, noCalls)).toMatchObject({ state: 'done' });
    },
  );

  test('by many at once is one', async () => {
    const turn = await stage.running();
    const settled = await Promise.all(countTo(6).map(() => steps.model(turn, 0, {}, answer)));
    expect(settled.filter(({ sequence }) => sequence !== undefined)).toHaveLength(1);
    expect(await steps.journal(turn.session, turn.turn)).toHaveLength(1);
  });

  test.each([
    ['is no JSON', { result: '{', calls: [] }, 'malformed'],
    ['is too large', { result: JSON.stringify('x'.repeat(limits.modelAnswerBytes)), calls: [] }, 'too_large'],
    [
      'asks for too many calls',
      { result: '1', calls: countTo(limits.callsPerAnswer + 1).map((n) => ({ call: `c${n}`, tool: 't', args: {} })) },
      'too_large',
    ],
  ])('that %s is refused, and nothing is written', async (_, bad, code) => {
    const turn = await stage.running();
    expect(await refusalOf(steps.model(turn, 0, {}, bad))).toMatchObject({ code });
    expect(await steps.journal(turn.session, turn.turn)).toEqual([]);
  });
});

describe('the journal', () => {
  test('has so many steps of a turn, and not more', async () => {
    const turn = await stage.running();
    const last = limits.stepsPerTurn - 1;
    const one = { result: '1', calls: [{ call: 'c', tool: 't', args: {} }] };
    const full = { code: 'too_large', fields: { limit: 'stepsPerTurn', max: limits.stepsPerTurn } };
    expect(await refusalOf(steps.model(turn, last + 1, {}, noCalls))).toMatchObject(full);
    expect(await refusalOf(steps.model(turn, last, {}, one))).toMatchObject(full);
    expect(await refusalOf(steps.start(turn, last + 1, lookup))).toMatchObject(full);
    await stage.sql(async (sql) => {
      await sql`
        insert into ledgerline.step (session, turn_id, step_index, kind, state, fence, request_hash, ended_at)
        values (${turn.session}::text, ${turn.turn}::text, ${last - 1}::int, 'model', 'done', 1, '', clock_timestamp())`;
    });
    expect(await steps.model(turn, last, {}, noCalls)).toMatchObject({ state: 'done' });
    await stage.say(turn.session, 'wait', { onBusy: 'steer' });
    expect(await stage.turns.steer(turn)).toHaveLength(1); // what people say is never lost for that
  });

  test('of a turn that there is not is told from one with nothing in it', async () => {
    const turn = await stage.running();
    expect(await steps.journal(turn.session, turn.turn)).toEqual([]);
    expect(await refusalOf(steps.journal(turn.session, 'other'))).toMatchObject({ code: 'turn_unknown' });
  });

  test('has a call only where an answer has reserved, or next', async () => {
    const turn = await stage.running();
    await steps.model(turn, 0, {}, answer);
    expect(await refusalOf(steps.start(turn, 4, lookup))).toMatchObject({ code: 'step_conflict' });
    for (const index of [2, 1, 3]) {
      expect(await steps.start(turn, index, lookup)).toEqual({
        kind: 'run',
        key: `v1:${turn.turn}:${index}`,
        isAgain: false,
      });
    }
    expect(await refusalOf(steps.start(turn, 0, lookup))).toMatchObject({ code: 'step_conflict' }); // a model's
  });

  test('has a decision and messages that joined at the next free index, behind what an answer has reserved', async () => {
    const turn = await stage.running();
    await steps.model(turn, 0, {}, answer);
    await stage.say(turn.session, 'and hurry', { onBusy: 'steer' });
    const [joined] = await stage.turns.steer(turn);
    await stage.turns.wait(turn, [{ approval: 'refund', data: {} }]);
    const comment = 'fine\u0000';
    const { sequence } = await stage.turns.decide(turn.session, {
      approval: 'refund',
      decision: 'approved',
      by: 'maya',
      comment,
    });
    const again = await stage.claimOne();
    const journal = await steps.journal(turn.session, turn.turn);
    expect(journal.map(({ index, kind, state, result }) => [index, kind, state, JSON.parse(result ?? '')])).toEqual([
      [0, 'model', 'done', expect.anything()],
      [3, 'input', 'done', { steered: [joined?.sequence] }],
      [4, 'input', 'done', { decision: { approval: 'refund', decision: 'approved', by: 'maya', comment, sequence } }],
    ]);
    expect(await steps.start(again, 2, lookup)).toMatchObject({ kind: 'run' });
    await steps.settle(again, 2, lookup, { result: 1 });
    expect(await steps.model(again, 5, {}, noCalls)).toMatchObject({ state: 'done' });
  });

  test('goes with its session', async () => {
    const turn = await stage.running();
    await steps.model(turn, 0, {}, answer);
    await stage.sessions.delete(turn.session);
    await eventually('the journal is erased', async () => (await rows()) === 0);
  });

  const rows = () =>
    stage.sql(async (sql) => (await sql<{ rows: number }[]>`select count(*) as rows from ledgerline.step`)[0]?.rows);
});

describe('progress', () => {
  test('has the tries counted anew: a turn that gets on is not given up for its many attempts', async () => {
    let turn = await stage.lose(await stage.running({ maxAttempts: 2 }));
    const { session } = turn;
    expect(turn.tryNumber).toBe(2);
    for (const index of countTo(4).map((n) => n - 1)) {
      await steps.model(turn, index, {}, noCalls);
      turn = await stage.lose(turn);
      expect(turn.tryNumber).toBe(2);
    }
    await stage.expire(session);
    await stage.turns.recover();
    expect((await stage.events(session)).at(-1)).toMatchObject({ type: 'turn.failed' });
  });

  test('is no more tries than a turn may have that is to be tried once', async () => {
    const turn = await stage.running({ maxAttempts: 1 });
    await steps.model(turn, 0, {}, noCalls);
    await stage.expire(turn.session);
    await stage.turns.recover();
    expect((await stage.events(turn.session)).at(-1)).toMatchObject({ type: 'turn.failed' });
  });
});

test('an attempt that was taken over writes nothing into the journal [I11]', async () => {
  const stale = await stage.running();
  const owner = await stage.lose(stale);
  const types = await stage.types(stale.session);
  const writes = [
    () => steps.model(stale, 0, {}, answer),
    () => steps.start(stale, 0, lookup),
    () => steps.transactional(stale, 0, { ...lookup, effect: 'transactional' }, () => Promise.resolve({ result: 1 })),
    () => steps.settle(stale, 0, { ...lookup, effect: 'transactional' }, { error: { code: 'x', message: 'x' } }),
  ];
  for (const write of writes) expect(await refusalOf(write())).toMatchObject({ code: 'fenced' });
  expect(await steps.journal(owner.session, owner.turn)).toEqual([]);
  expect(await stage.types(stale.session)).toEqual(types);
  expect((await stage.metrics.fencedWrites.get()).values[0]?.value).toBe(4);
});
