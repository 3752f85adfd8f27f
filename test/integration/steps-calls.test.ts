/** Calls of tools outside: begun before they are made, settled once, and after a crash treated as their class promises. */
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { toCursor } from '../../src/event/sequence.ts';
import type { EffectClass, Intent, StepStart } from '../../src/step/step.ts';
import type { Steps } from '../../src/turn/steps.ts';
import type { ClaimedTurn } from '../../src/turn/turns.ts';
import { countTo } from '../support/ledger.ts';
import { refusalOf } from '../support/refusal.ts';
import { turnStage } from '../support/turn-stage.ts';
import type { TurnStage } from '../support/turn-stage.ts';

let stage: TurnStage;
let steps: Steps;
beforeEach(async () => {
  stage = await turnStage();
  ({ steps } = stage.turns);
});

const refund = (effect: EffectClass, ...amount: readonly [] | readonly [unknown]): Intent => ({
  tool: 'issue_refund',
  effect,
  args: { order: '7731', amount: amount.length === 0 ? 40 : amount[0] },
});
const refunded = { result: { refund: 'r1', amount: 40 } };
const declined = { error: { code: 'declined', message: 'the card \u0000 was declined \ud83d' } };

/** A turn whose next free index has the given one before it. */
async function withAnswer(calls: number): Promise<ClaimedTurn> {
  const turn = await stage.running();
  const asked = countTo(calls).map((n) => ({ call: `c${n}`, tool: 'issue_refund', args: {} }));
  await steps.model(turn, 0, {}, { result: '{}', calls: asked });
  return turn;
}
const data = async (turn: ClaimedTurn) => (await stage.events(turn.session)).at(-1);
const outbox = () =>
  stage.sql(
    (sql) => sql<{ sequence: number; step: number; topic: string; payload: unknown }[]>`
      select outbox_sequence as sequence, step_index as step, topic, payload from ledgerline.outbox order by session, outbox_sequence`,
  );

describe('a call', () => {
  test('is in the journal before it is made, and its outcome when it came back', async () => {
    const turn = await stage.running();
    const key = `v1:${turn.turn}:0`;
    expect(await steps.start(turn, 0, refund('keyed'))).toEqual({ kind: 'run', key, isAgain: false });
    const facts = {
      turn: turn.turn,
      attempt: turn.attempt,
      step: 0,
      kind: 'tool',
      tool: 'issue_refund',
      effect: 'keyed',
    };
    expect(await data(turn)).toMatchObject({ type: 'step.started', data: facts });
    expect(await steps.journal(turn.session, turn.turn)).toMatchObject([
      {
        state: 'started',
        request: '{"args":{"amount":40,"order":"7731"},"tool":"issue_refund","v":1}',
        isKeyExpired: false,
      },
    ]);

    const { state, sequence } = await steps.settle(turn, 0, refund('keyed'), refunded);
    expect(state).toBe('done');
    expect(await data(turn)).toMatchObject({
      sequence,
      type: 'step.done',
      data: { ...facts, ...refunded, fromJournal: false },
    });
    expect(await steps.journal(turn.session, turn.turn)).toMatchObject([
      { state: 'done', result: JSON.stringify(refunded.result), endedAt: expect.any(String) },
    ]);
  });

  test('that failed says so, whatever its error holds [hatchet#4611]', async () => {
    const turn = await stage.running();
    await steps.start(turn, 0, refund('once'));
    expect(await steps.settle(turn, 0, refund('once'), declined)).toMatchObject({ state: 'failed' });
    const error = { code: 'declined', message: 'the card   was declined \ufffd' };
    expect(await data(turn)).toMatchObject({ type: 'step.failed', data: { error } });
    expect(await steps.start(turn, 0, refund('once'))).toEqual({ kind: 'failed', error });
    const next = await stage.lose(turn);
    expect(await steps.start(next, 0, refund('once'))).toEqual({ kind: 'failed', error });
    expect(await data(turn)).toMatchObject({ type: 'step.failed', data: { error, fromJournal: true } });
  });

  test('by many at once is made by one, and all get its result', async () => {
    const turn = await stage.running();
    const started = await Promise.all(countTo(8).map(() => steps.start(turn, 0, refund('once'))));
    expect(started.map(({ kind }) => kind).toSorted()).toEqual([...countTo(7).map(() => 'in_progress'), 'run']);
    await steps.settle(turn, 0, refund('once'), refunded);
    const result = JSON.stringify(refunded.result);
    const again = await Promise.all(countTo(8).map(() => steps.start(turn, 0, refund('once'))));
    expect(again).toEqual(countTo(8).map(() => ({ kind: 'done', result })));
  });

  test('settled again keeps its first outcome', async () => {
    const turn = await stage.running();
    await steps.start(turn, 0, refund('once'));
    await steps.settle(turn, 0, refund('once'), refunded);
    const types = await stage.types(turn.session);
    expect(await steps.settle(turn, 0, refund('once'), declined)).toEqual({ state: 'done', sequence: undefined });
    expect(await stage.types(turn.session)).toEqual(types);
  });

  test('of another intent at its index is refused, and the journaled one untouched [sdk-rust#443]', async () => {
    const turn = await stage.running();
    await steps.start(turn, 0, refund('keyed'));
    await steps.settle(turn, 0, refund('keyed'), refunded);
    const before = await steps.journal(turn.session, turn.turn);
    const others: Intent[] = [refund('keyed', 41), refund('keyed', '40'), { ...refund('keyed'), tool: 'issue_credit' }];
    for (const other of others) {
      const conflict = { code: 'step_conflict', fields: { state: 'done' } };
      expect(await refusalOf(steps.start(turn, 0, other))).toMatchObject(conflict);
      expect(await refusalOf(steps.settle(turn, 0, other, declined))).toMatchObject(conflict);
    }
    expect(await steps.journal(turn.session, turn.turn)).toEqual(before);
  });

  test('with the same arguments as another of its turn is another call', async () => {
    const turn = await withAnswer(2);
    const keys = await Promise.all([1, 2].map((index) => steps.start(turn, index, refund('keyed'))));
    expect(keys).toEqual([1, 2].map((index) => ({ kind: 'run', key: `v1:${turn.turn}:${index}`, isAgain: false })));
  });

  test.each([
    ['2^53', 2 ** 53],
    ['not a number', Number.NaN],
    ['undefined', undefined],
    ['a bigint', 40n],
    ['half a character', '\ud83d'],
  ])('for an amount of %s is refused before anything is written', async (_, amount) => {
    const turn = await stage.running();
    const types = await stage.types(turn.session);
    let ran = 0;
    const run = () => Promise.resolve({ result: (ran += 1) });
    for (const act of [
      () => steps.start(turn, 0, refund('once', amount)),
      () => steps.transactional(turn, 0, refund('transactional', amount), run),
    ]) {
      expect(await refusalOf(act())).toMatchObject({ code: 'malformed', fields: { where: 'args.amount' } });
    }
    expect(ran).toBe(0);
    expect(await steps.journal(turn.session, turn.turn)).toEqual([]);
    expect(await stage.types(turn.session)).toEqual(types);
  });

  test('whose result is too large, or no JSON, is not settled by it, and may be settled by another', async () => {
    const turn = await stage.running();
    await steps.start(turn, 0, refund('once'));
    const large = 'x'.repeat(limits.stepBytes);
    expect(await refusalOf(steps.settle(turn, 0, refund('once'), { result: large }))).toMatchObject({
      code: 'too_large',
    });
    expect(await refusalOf(steps.settle(turn, 0, refund('once'), { result: 1n }))).toMatchObject({ code: 'malformed' });
    const largest = 'x'.repeat(limits.stepBytes - 2);
    expect(await steps.settle(turn, 0, refund('once'), { result: largest })).toMatchObject({ state: 'done' });
  });

  test('that nobody began cannot be settled, and a transactional one cannot be started', async () => {
    const turn = await stage.running();
    expect(await refusalOf(steps.settle(turn, 0, refund('once'), refunded))).toMatchObject({ code: 'step_unknown' });
    expect(await refusalOf(steps.start(turn, 0, refund('transactional')))).toMatchObject({ code: 'malformed' });
    const settled = steps.settle(turn, 0, refund('transactional'), refunded);
    expect(await refusalOf(settled)).toMatchObject({ code: 'malformed' });
    expect(await steps.journal(turn.session, turn.turn)).toEqual([]);
  });
});

describe('deliveries', () => {
  test('are written with the result that asks for them, and numbered without a hole', async () => {
    const turn = await withAnswer(3);
    await Promise.all([1, 2, 3].map((index) => steps.start(turn, index, refund('once'))));
    const deliveries = [
      { topic: 'refund.issued', payload: { amount: 40 } },
      { topic: 'mail', payload: 'a\u0000b' },
    ];
    const bad = { ...refunded, deliveries: [{ topic: 'no topic', payload: 1 }] };
    expect(await refusalOf(steps.settle(turn, 1, refund('once'), bad))).toMatchObject({ code: 'malformed' });
    await Promise.all([1, 2, 3].map((index) => steps.settle(turn, index, refund('once'), { ...refunded, deliveries })));
    const rows = await outbox();
    expect(rows.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(rows.map(({ step, topic }) => `${step} ${topic}`).toSorted()).toEqual(
      [1, 2, 3].flatMap((index) => [`${index} mail`, `${index} refund.issued`]),
    );
  });
});

describe('the event of a step that has others told', () => {
  const deliveries = [
    { topic: 'refund.issued', payload: { amount: 40 } },
    { topic: 'mail', payload: 1 },
  ];
  const told = async (turn: ClaimedTurn) =>
    (await stage.events(turn.session)).filter(({ type }) => type === 'step.done').map((event) => event.data as object);

  test('names them by number, live as in the ledger [I2]', async () => {
    const turn = await withAnswer(3);
    const publish = vi.spyOn(stage.bus, 'publish');
    await steps.start(turn, 1, refund('once'));
    await steps.settle(turn, 1, refund('once'), { ...refunded, deliveries });
    await steps.start(turn, 2, refund('once'));
    await steps.settle(turn, 2, refund('once'), refunded);
    await steps.transactional(turn, 3, refund('transactional'), () => Promise.resolve({ ...refunded, deliveries }));
    const [, first, second, third] = await told(turn);
    expect(first).toMatchObject({ step: 1, ...refunded, deliveries: numbered(1, 2) });
    expect(second).not.toHaveProperty('deliveries');
    expect(third).toMatchObject({ step: 3, deliveries: numbered(3, 4) });
    const frames = publish.mock.calls.map(([, sent]) => ('frames' in sent ? String(sent.frames) : '')).join('');
    const { events } = await stage.ledger.history(turn.session, { after: toCursor(3), limit: 5 });
    expect(events).toHaveLength(5);
    for (const envelope of events) expect(frames).toContain(envelope);
  });

  test('names none where the journal already had the outcome', async () => {
    const turn = await stage.running();
    await steps.start(turn, 0, refund('once'));
    await steps.settle(turn, 0, refund('once'), { ...refunded, deliveries });
    const next = await stage.lose(turn);
    await steps.start(next, 0, refund('once'));
    const [first, again] = await told(turn);
    expect(first).toHaveProperty('deliveries');
    expect(again).toMatchObject({ fromJournal: true });
    expect(again).not.toHaveProperty('deliveries');
  });

  const numbered = (...numbers: readonly number[]) =>
    numbers.map((number, index) => ({ number, topic: deliveries[index]?.topic }));
});

describe('a call whose attempt is gone', () => {
  const answers: readonly (readonly [EffectClass, (key: string) => StepStart])[] = [
    ['read', (key) => ({ kind: 'run', key, isAgain: true })],
    ['idempotent', (key) => ({ kind: 'run', key, isAgain: true })],
    ['keyed', (key) => ({ kind: 'run', key, isAgain: true })],
    ['lookup', (key) => ({ kind: 'find', key })],
  ];
  test.each(answers)('of class %s is done as the class promises, with the same key', async (effect, answer) => {
    const turn = await stage.running();
    await steps.start(turn, 0, refund(effect));
    const next = await stage.lose(turn);
    expect(await steps.start(next, 0, refund(effect))).toEqual(answer(`v1:${turn.turn}:0`));
    expect(await steps.start(next, 0, refund(effect))).toEqual({ kind: 'in_progress' });
    expect(await steps.settle(next, 0, refund(effect), refunded)).toMatchObject({ state: 'done' });
  });

  test('and came back is not made again, and whoever watches sees it', async () => {
    const turn = await stage.running();
    await steps.start(turn, 0, refund('once'));
    await steps.settle(turn, 0, refund('once'), refunded);
    const next = await stage.lose(turn);
    expect(await steps.start(next, 0, refund('once'))).toEqual({
      kind: 'done',
      result: JSON.stringify(refunded.result),
    });
    expect(await data(turn)).toMatchObject({
      type: 'step.done',
      attempt: next.attempt,
      data: { step: 0, tool: 'issue_refund', effect: 'once', fromJournal: true, ...refunded },
    });
    expect((await stage.metrics.journalHits.get()).values[0]?.value).toBe(1);
  });

  test('among five whose turn is killed after three: three from the journal, two run once [inngest#2775]', async () => {
    const turn = await withAnswer(5);
    const indices = countTo(5);
    const ran: number[] = [];
    const call = async (attempt: ClaimedTurn, index: number): Promise<string> => {
      const begun = await steps.start(attempt, index, refund('keyed', index));
      if (begun.kind === 'run') {
        ran.push(index);
        await steps.settle(attempt, index, refund('keyed', index), { result: index });
      }
      return begun.kind;
    };
    await Promise.all([1, 2, 3].map((index) => call(turn, index)));
    const next = await stage.lose(turn);
    const kinds = await Promise.all(indices.map((index) => call(next, index)));
    expect(kinds).toEqual(['done', 'done', 'done', 'run', 'run']);
    expect(ran.toSorted((a, b) => a - b)).toEqual(indices);
  });

  test('runs once, though its turn waits for a person in between [langgraph#6208]', async () => {
    const turn = await stage.running();
    await steps.start(turn, 0, refund('once'));
    await steps.settle(turn, 0, refund('once'), refunded);
    await stage.turns.wait(turn, [{ approval: 'more', data: {} }]);
    await stage.turns.decide(turn.session, { approval: 'more', decision: 'denied', by: 'maya', comment: undefined });
    expect(await steps.start(await stage.claimOne(), 0, refund('once'))).toMatchObject({ kind: 'done' });
  });
});

describe('a fact that comes late', () => {
  const late = { ...refunded, deliveries: [{ topic: 'refund.issued', payload: { amount: 40 } }] };

  test('is taken while its call is open, with its deliveries and without an event', async () => {
    const turn = await stage.running();
    await steps.start(turn, 0, refund('keyed'));
    const next = await stage.lose(turn);
    const types = await stage.types(turn.session);
    expect(await steps.settle(turn, 0, refund('keyed'), late)).toEqual({ state: 'done', sequence: undefined });
    expect(await stage.types(turn.session)).toEqual(types);
    expect(await outbox()).toMatchObject([{ sequence: 1, step: 0, topic: 'refund.issued' }]);
    expect(await steps.start(next, 0, refund('keyed'))).toMatchObject({ kind: 'done' });
    expect(await steps.settle(next, 0, refund('keyed'), late)).toEqual({ state: 'done', sequence: undefined });
    expect(await outbox()).toHaveLength(1);
  });

  test('is taken of a call that is made again, but not that it has failed', async () => {
    const turn = await stage.running();
    await steps.start(turn, 0, refund('keyed'));
    const next = await stage.lose(turn);
    await steps.start(next, 0, refund('keyed'));
    expect(await refusalOf(steps.settle(turn, 0, refund('keyed'), declined))).toMatchObject({ code: 'fenced' });
    expect(await steps.settle(turn, 0, refund('keyed'), refunded)).toMatchObject({ state: 'done' });
    expect(await steps.settle(next, 0, refund('keyed'), declined)).toEqual({ state: 'done', sequence: undefined });
    // Whoever watches has seen it begin, and sees how it ended.
    expect(await data(next)).toMatchObject({
      type: 'step.done',
      attempt: next.attempt,
      data: { step: 0, result: refunded.result, fromJournal: true },
    });
  });

  test('is taken of a turn that is over, and in a session that was closed', async () => {
    const turn = await withAnswer(2);
    await Promise.all([1, 2].map((index) => steps.start(turn, index, refund('once'))));
    await stage.turns.finish(turn, 'completed', []);
    expect(await steps.settle(turn, 1, refund('once'), late)).toMatchObject({ state: 'done' });
    await stage.sessions.close(turn.session);
    expect(await steps.settle(turn, 2, refund('once'), late)).toMatchObject({ state: 'done' });
    expect((await outbox()).map(({ sequence }) => sequence)).toEqual([1, 2]);
  });

  test('of another intent is refused', async () => {
    const turn = await stage.running();
    await steps.start(turn, 0, refund('keyed'));
    await stage.lose(turn);
    const other = steps.settle(turn, 0, refund('keyed', 41), refunded);
    expect(await refusalOf(other)).toMatchObject({ code: 'step_conflict', fields: { state: 'started' } });
  });
});
