/** Tools whose effect is in this database: their writes, their journal, their event and their deliveries are one commit, once. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { Statements } from '../../src/db/postgres.ts';
import type { Steps, TransactionalResult } from '../../src/turn/steps.ts';
import type { ClaimedTurn } from '../../src/turn/turns.ts';
import { countTo } from '../support/ledger.ts';
import { refusalOf } from '../support/refusal.ts';
import { turnStage } from '../support/turn-stage.ts';
import type { TurnStage } from '../support/turn-stage.ts';
import { eventually } from '../support/waits.ts';

let stage: TurnStage;
let steps: Steps;
beforeEach(async () => {
  stage = await turnStage();
  ({ steps } = stage.turns);
  await stage.sql((sql) => sql`create table refund (key text not null, amount integer not null)`);
});

const intent = { tool: 'issue_refund', effect: 'transactional', args: { order: '7731', amount: 40 } } as const;
const issue = async (tx: Statements, key: string): Promise<TransactionalResult> => {
  await tx`insert into refund (key, amount) values (${key}::text, 40)`;
  return { result: { refund: key }, deliveries: [{ topic: 'refund.issued', payload: { key, amount: 40 } }] };
};
const refunds = () => stage.sql((sql) => sql<{ key: string }[]>`select key from refund order by key`);
const outbox = () =>
  stage.sql(
    (sql) => sql<{ sequence: number; step: number }[]>`
      select outbox_sequence as sequence, step_index as step from ledgerline.outbox order by outbox_sequence`,
  );

/** A turn whose model asked for so many refunds. */
async function asked(calls: number): Promise<ClaimedTurn> {
  const turn = await stage.running();
  const list = countTo(calls).map((n) => ({ call: `c${n}`, tool: intent.tool, args: intent.args }));
  await steps.model(turn, 0, {}, { result: '{}', calls: list });
  return turn;
}

/** Work that has written, and waits to be let on. */
function heldWork() {
  const held = { isIn: false, go: (): void => undefined };
  const gate = new Promise<void>((resolve) => (held.go = resolve));
  const work = async (tx: Statements, key: string): Promise<TransactionalResult> => {
    const result = await issue(tx, key);
    held.isIn = true;
    await gate;
    return result;
  };
  return { held, work };
}

describe('a transactional tool', () => {
  test('leaves its writes, its journal, its event and its delivery together', async () => {
    const turn = await stage.running();
    const key = `v1:${turn.turn}:0`;
    const done = await steps.transactional(turn, 0, intent, issue);
    expect(done).toMatchObject({ result: JSON.stringify({ refund: key }), isFromJournal: false });
    expect(await refunds()).toEqual([{ key }]);
    expect(await outbox()).toEqual([{ sequence: 1, step: 0 }]);
    expect(await steps.journal(turn.session, turn.turn)).toMatchObject([
      { kind: 'tool', state: 'done', result: done.result },
    ]);
    expect((await stage.events(turn.session)).at(-1)).toMatchObject({
      sequence: done.sequence,
      type: 'step.done',
      attempt: turn.attempt,
      data: { step: 0, tool: 'issue_refund', effect: 'transactional', fromJournal: false, result: { refund: key } },
    });
  });

  test('by many attempts at once has one effect, and all get its result [I14]', async () => {
    const turn = await stage.running();
    const other = stage.another().steps; // another process's connections
    const done = await Promise.all(
      countTo(12).map((n) => (n % 2 === 0 ? steps : other).transactional(turn, 0, intent, issue)),
    );
    expect(new Set(done.map(({ result }) => result)).size).toBe(1);
    expect(done.filter(({ isFromJournal }) => !isFromJournal)).toHaveLength(1);
    expect(await refunds()).toHaveLength(1);
    expect(await outbox()).toHaveLength(1);
    expect((await stage.types(turn.session)).filter((type) => type === 'step.done')).toHaveLength(1);
  });

  test('of an attempt that was taken over while it ran leaves nothing [I11]', async () => {
    const turn = await stage.running();
    const { held, work } = heldWork();
    const refused = refusalOf(steps.transactional(turn, 0, intent, work));
    await eventually('the tool has written', () => held.isIn);
    const next = await stage.lose(turn); // nobody waits for the tool: it holds no head
    held.go();
    expect(await refused).toMatchObject({ code: 'fenced' });
    expect(await refunds()).toEqual([]);
    expect(await outbox()).toEqual([]);
    expect(await steps.journal(turn.session, turn.turn)).toEqual([]);
    expect(await steps.transactional(next, 0, intent, issue)).toMatchObject({ isFromJournal: false });
    expect(await refunds()).toHaveLength(1);
    expect(await outbox()).toEqual([{ sequence: 1, step: 0 }]); // no number was lost
  });

  test('that is still at it makes its successor wait, and is the one that is refused', async () => {
    const turn = await stage.running();
    const { held, work } = heldWork();
    const refused = refusalOf(steps.transactional(turn, 0, intent, work));
    await eventually('the tool has written', () => held.isIn);
    const next = await stage.lose(turn);
    const done = steps.transactional(next, 0, intent, issue);
    await eventually('the successor waits', async () => (await waiting()) > 0);
    held.go();
    expect(await refused).toMatchObject({ code: 'fenced' });
    expect(await done).toMatchObject({ isFromJournal: false });
    expect(await refunds()).toHaveLength(1);
  });

  test('that committed before its attempt was lost is not run again', async () => {
    const turn = await stage.running();
    const { result } = await steps.transactional(turn, 0, intent, issue);
    const next = await stage.lose(turn);
    expect(await steps.transactional(next, 0, intent, issue)).toMatchObject({ result, isFromJournal: true });
    expect(await refunds()).toHaveLength(1);
    expect((await stage.events(turn.session)).at(-1)).toMatchObject({
      type: 'step.done',
      attempt: next.attempt,
      data: { fromJournal: true, result: JSON.parse(result) as unknown },
    });
    expect((await stage.metrics.journalHits.get()).values[0]?.value).toBe(1);
  });

  test('that throws has had no effect, and may be run, or settled as failed', async () => {
    const turn = await asked(2);
    const broken = async (tx: Statements, key: string): Promise<TransactionalResult> => {
      await issue(tx, key);
      throw new Error('no such order');
    };
    await expect(steps.transactional(turn, 1, intent, broken)).rejects.toThrow('no such order');
    expect(await refunds()).toEqual([]);
    expect(await steps.journal(turn.session, turn.turn)).toHaveLength(1);
    expect(await steps.transactional(turn, 1, intent, issue)).toMatchObject({ isFromJournal: false });

    const error = { code: 'unknown_order', message: 'no such order' };
    await expect(steps.transactional(turn, 2, intent, broken)).rejects.toThrow('no such order');
    const failed = await steps.settle(turn, 2, intent, { error });
    expect(failed).toMatchObject({ state: 'failed', sequence: expect.any(Number) });
    expect(await steps.settle(turn, 2, intent, { error })).toEqual({ state: 'failed', sequence: undefined });
    expect(await refusalOf(steps.transactional(turn, 2, intent, issue))).toMatchObject({ code: 'step_settled' });
    expect(await steps.settle(turn, 1, intent, { error })).toEqual({ state: 'done', sequence: undefined });
    expect(await refunds()).toHaveLength(1);
  });

  test('whose result or delivery cannot be stored has had no effect', async () => {
    const turn = await stage.running();
    const bad: readonly TransactionalResult[] = [
      { result: 1n },
      { result: 1, deliveries: [{ topic: 'no topic', payload: 1 }] },
      { result: 1, deliveries: countTo(2).map(() => ({ topic: 'twice', payload: 1 })) },
    ];
    for (const given of bad) {
      const work = async (tx: Statements, key: string) => ({ ...(await issue(tx, key)), ...given });
      expect(await refusalOf(steps.transactional(turn, 0, intent, work))).toMatchObject({ code: 'malformed' });
    }
    expect(await refunds()).toEqual([]);
    expect(await steps.transactional(turn, 0, intent, issue)).toMatchObject({ isFromJournal: false });
    expect(await outbox()).toEqual([{ sequence: 1, step: 0 }]);
  });

  test('of another intent at its index is refused, and the journaled result untouched [sdk-rust#443]', async () => {
    const turn = await stage.running();
    const { result } = await steps.transactional(turn, 0, intent, issue);
    const other = { ...intent, args: { order: '7731', amount: 41 } };
    const conflict = { code: 'step_conflict', fields: { state: 'done' } };
    expect(await refusalOf(steps.transactional(turn, 0, other, issue))).toMatchObject(conflict);
    expect(await refusalOf(steps.transactional(turn, 7, intent, issue))).toMatchObject({ code: 'step_conflict' });
    expect(await steps.journal(turn.session, turn.turn)).toMatchObject([{ state: 'done', result }]);
    expect(await refunds()).toHaveLength(1);
  });

  test('called twice with the same arguments in one turn has two effects', async () => {
    const turn = await asked(2);
    await Promise.all([1, 2].map((index) => steps.transactional(turn, index, intent, issue)));
    expect(await refunds()).toEqual([1, 2].map((index) => ({ key: `v1:${turn.turn}:${index}` })));
    expect((await outbox()).map(({ sequence }) => sequence)).toEqual([1, 2]);
  });

  test('is begun once, though it was a tool outside before: nobody knows what that one did', async () => {
    const turn = await stage.running();
    await steps.start(turn, 0, { ...intent, effect: 'lookup' });
    const refused = { code: 'step_conflict', fields: { state: 'started' } };
    expect(await refusalOf(steps.transactional(turn, 0, intent, issue))).toMatchObject(refused);
    const next = await stage.lose(turn);
    expect(await refusalOf(steps.transactional(next, 0, intent, issue))).toMatchObject({ code: 'fenced' });
    expect(await stage.types(turn.session)).toEqual(expect.arrayContaining(['step.in_doubt', 'turn.in_doubt']));
    expect(await refunds()).toEqual([]);
  });
});

test('tools that wait for a connection are not late, and cut off nobody who is at work', async () => {
  const { steps: few } = stage.another({ stepConnections: 1, stepMs: 1_000 });
  const turn = await asked(12);
  const work = async (tx: Statements, key: string): Promise<TransactionalResult> => {
    await tx`select pg_sleep(0.15)`;
    return issue(tx, key);
  };
  await Promise.all(countTo(12).map((index) => few.transactional(turn, index, intent, work)));
  expect(await refunds()).toHaveLength(12);
});

test('appends, renewals and messages do not wait for a tool that is at work', async () => {
  const turn = await stage.running();
  const { held, work } = heldWork();
  const done = steps.transactional(turn, 0, intent, work);
  await eventually('the tool has written', () => held.isIn);
  await stage.say(turn.session, 'are you at it?');
  expect(await stage.turns.renew([turn])).toHaveLength(1);
  held.go();
  expect(await done).toMatchObject({ isFromJournal: false });
});

const waiting = () =>
  stage.sql(async (sql) => {
    const [row] = await sql<{ rows: number }[]>`
      select count(*) as rows from pg_locks l join pg_database d on d.oid = l.database or l.database is null
       where d.datname = current_database() and not l.granted`;
    return row?.rows ?? 0;
  });
