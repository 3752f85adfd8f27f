/** What a person must resolve stands beside the turn that needs it, and costs nothing to find. */
import { beforeEach, expect, test, vi } from 'vitest';
import { listAttention } from '../../src/turn/turn-list.ts';
import type { Statements } from '../../src/db/postgres.ts';
import type { EffectClass } from '../../src/step/step.ts';
import type { ClaimedTurn } from '../../src/turn/turns.ts';
import { explained } from '../support/plan.ts';
import { refusalOf } from '../support/refusal.ts';
import { turnStage } from '../support/turn-stage.ts';
import type { TurnStage } from '../support/turn-stage.ts';

let stage: TurnStage;
beforeEach(async () => {
  stage = await turnStage();
});

const attention = () => stage.turns.list('attention', 10, { kind: 'all' });

/** A turn that its worker has left with these calls open; a read among them is no doubt. */
async function leftOpen(...calls: readonly (readonly [tool: string, effect: EffectClass])[]): Promise<ClaimedTurn> {
  const { steps } = stage.turns;
  const turn = await stage.running();
  const asked = calls.map(([tool], index) => ({ call: `c${index}`, tool, args: {} }));
  await steps.model(turn, 0, {}, { result: '1', calls: asked });
  for (const [index, [tool, effect]] of calls.entries()) {
    await steps.start(turn, index + 1, { tool, effect, args: {} });
  }
  await stage.expire(turn.session);
  await stage.turns.recover();
  return turn;
}

test('a turn in doubt is listed with its open calls, until each is resolved', async () => {
  const { session, turn } = await leftOpen(['look', 'read'], ['charge', 'once'], ['post:it', 'once']);
  const charge = { step: 2, tool: 'charge', effect: 'once' };
  const post = { step: 3, tool: 'post:it', effect: 'once' };
  expect(await attention()).toMatchObject([{ turn, status: 'in_doubt', doubts: [charge, post] }]);
  expect(await stage.turns.list('active', 10, { kind: 'all' })).toEqual([]);
  const resolve = (step: number) =>
    stage.turns.steps.resolve(session, turn, step, { outcome: 'done', result: 1 }, 'ops', false);
  await resolve(2);
  expect(await attention()).toMatchObject([{ turn, doubts: [post] }]);
  await resolve(3);
  expect(await attention()).toMatchObject([{ turn, status: 'in_doubt', doubts: [] }]);
  await stage.turns.retry(session, turn, 'ops');
  expect(await stage.turns.list('active', 10, { kind: 'all' })).toMatchObject([{ turn, doubts: [] }]);
});

test('who resolves a step as done may say what others are to be told of it, as its tool would have', async () => {
  const { steps } = stage.turns;
  const { session, turn } = await leftOpen(['charge', 'once']);
  const resolve = (topic: string) => {
    const deliveries = [
      { topic, payload: { cents: 40 } },
      { topic: 'mail', payload: 1 },
    ];
    return steps.resolve(session, turn, 1, { outcome: 'done', result: 1, deliveries }, 'ops', true);
  };
  expect(await refusalOf(resolve('no topic'))).toMatchObject({ code: 'malformed' });
  const wake = vi.spyOn(stage.bus, 'wake');
  await resolve('charged');
  expect(wake.mock.calls.map(([{ kind }]) => kind)).toContain('delivery');
  const numbered = [
    { number: 1, topic: 'charged' },
    { number: 2, topic: 'mail' },
  ];
  const [resolved] = (await stage.events(session)).slice(-2);
  expect(resolved).toMatchObject({ type: 'step.resolved', data: { step: 1, result: 1, deliveries: numbered } });
  const { deliveries } = await steps.deliveries(session, { limit: 10 });
  expect(deliveries.toReversed()).toMatchObject(
    numbered.map(({ number, topic }) => ({ outboxSequence: number, topic, turn, step: 1, state: 'waiting' })),
  );
  // The journal does it no more.
  const next = await stage.claimOne();
  expect(await steps.start(next, 1, { tool: 'charge', effect: 'once', args: {} })).toMatchObject({ kind: 'done' });
});

test('a turn that failed or waits has none', async () => {
  const failing = await stage.running();
  await stage.turns.fail(failing, { code: 'broken', message: 'it broke' }, false);
  const waiting = await stage.running();
  await stage.turns.wait(waiting, [{ approval: 'a', data: {} }]);
  expect((await attention()).map(({ status, doubts }) => [status, doubts])).toEqual([
    ['failed', []],
    ['waiting', []],
  ]);
});

test('a long journal is not read for what is in doubt of it, nor is that of any other turn', async () => {
  const one = await leftOpen(['charge', 'once']);
  const other = await stage.running();
  await stage.sql(async (sql) => {
    await sql`
      insert into ledgerline.step (session, turn_id, step_index, kind, state, fence, request_hash, tool, effect, ended_at)
      select t.session, t.turn_id, n, 'tool', 'done', 1, '', 'look', 'read', clock_timestamp()
        from (values (${one.session}::text, ${one.turn}::text), (${other.session}::text, ${other.turn}::text)) t (session, turn_id),
             generate_series(10, 20000) n`;
    await sql`set enable_seqscan = off`;
    const { lines, pages } = await explained(sql, (on: Statements) => listAttention(on, 200, { kind: 'all' }));
    expect(lines).toMatch(/using step_open/);
    expect(lines).not.toMatch(/Seq Scan|using step_pkey/);
    expect(pages).toBeLessThan(50);
  });
});
