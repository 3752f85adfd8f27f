/** The worked example on a real database: one refund, one delivery, one entry; and amounts that are none change nothing. */
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { readEntries, readRefunds } from '../../src/example/books.ts';
import { createEntries } from '../../src/example/entries.ts';
import { supportAgent } from '../../src/example/support-agent.ts';
import type { SupportAgentOptions } from '../../src/example/support-agent.ts';
import { supportModel } from '../../src/example/support-model.ts';
import { migrateExample } from '../../src/example/tables.ts';
import { createWorker } from '../../src/worker/worker.ts';
import { local, outboxStage } from '../support/outbox-stage.ts';
import { turnStage } from '../support/turn-stage.ts';
import { eventually } from '../support/waits.ts';

/** A session with a support agent beside it. */
async function shop(options?: SupportAgentOptions) {
  const stage = await turnStage();
  await migrateExample(stage.url, silentLog);
  const { turns, sessions, bus, sql } = stage;
  const worker = createWorker({ agent: supportAgent(options), turns, sessions, bus, log: silentLog, drainMs: 0 });
  await worker.start();
  onTestFinished(() => worker.stop());
  const session = await stage.session();
  const count = (table: string) => sql(async (client) => (await client`select from ${client(table)}`).length);
  return {
    stage,
    session,
    count,
    until: (type: string, times = 1) =>
      eventually(`${times} of ${type}`, async () => {
        await stage.hurry(session);
        return (await stage.types(session)).filter((one) => one === type).length >= times;
      }),
    async decide(decision: 'approved' | 'denied') {
      const asked = (await stage.events(session)).find(({ type }) => type === 'approval.required');
      const { approval } = asked!.data as { approval: string };
      await turns.decide(session, { approval, decision, by: 'maya', comment: undefined });
    },
    journal: () =>
      sql(
        (client) => client<
          { index: number; kind: string; tool: string | null; effect: string | null; state: string }[]
        >`
          select step_index as index, kind, tool, effect, state from ledgerline.step order by step_index`,
      ),
    reply: async () => (await stage.events(session)).findLast(({ type }) => type === 'message.completed')?.data,
  };
}

test('a refund of order 7731 is step 2 of its turn, behind a person’s approval, and its delivery is posted once', async () => {
  const { stage, session, until, decide, journal, reply } = await shop();
  await stage.say(session, 'Please refund order 7731');
  await until('turn.waiting');
  expect(await stage.sql(readRefunds)).toEqual([]);
  await decide('approved');
  await until('turn.completed');
  expect((await journal()).map((step) => ({ ...step }))).toEqual([
    { index: 0, kind: 'model', tool: null, effect: null, state: 'done' },
    { index: 1, kind: 'tool', tool: 'lookup_order', effect: 'read', state: 'done' },
    { index: 2, kind: 'tool', tool: 'issue_refund', effect: 'transactional', state: 'done' },
    { index: 3, kind: 'input', tool: null, effect: null, state: 'done' },
    { index: 4, kind: 'model', tool: null, effect: null, state: 'done' },
  ]);
  const [refund, ...others] = await stage.sql(readRefunds);
  expect(refund).toMatchObject({ key: expect.stringMatching(/^v1:.+:2$/), order: '7731', cents: 40 });
  expect(others).toEqual([]);
  expect(await reply()).toMatchObject({ content: 'Done: the deposit is on its way back to you.' });

  const outbox = await outboxStage(stage.url);
  const channel = await local();
  const entries = createEntries({ databaseUrl: stage.url, from: channel, log: silentLog, clock: systemClock });
  await entries.start();
  onTestFinished(() => entries.stop());
  await outbox.relay(channel);
  const [entry] = await eventually('it is posted', async () => {
    const rows = await stage.sql(readEntries);
    return rows.length > 0 && rows;
  });
  expect(entry).toMatchObject({ refund: refund?.key, order: '7731', cents: 40 });
  expect(await outbox.rows(session)).toMatchObject([{ number: 1, state: 'published' }]);
});

test('a refund that is denied is none, and the model hears who said so', async () => {
  const { stage, session, until, decide, count, reply } = await shop();
  await stage.say(session, 'Please refund order 7731');
  await until('turn.waiting');
  await decide('denied');
  await until('turn.completed');
  expect(await reply()).toMatchObject({ content: 'I refunded nothing: maya did not approve it.' });
  expect([await count('example.refund'), await count('ledgerline.outbox')]).toEqual([0, 0]);
});

test('what the model says behind the refund fails twice, and the refund stays one', async () => {
  let asked = 0;
  const { stage, session, until, decide, count } = await shop({
    ask: (question) => {
      asked += 1;
      return asked === 2 || asked === 3
        ? Promise.reject(new Error('the model is away'))
        : Promise.resolve(supportModel(question));
    },
  });
  await stage.say(session, 'Please refund order 7731');
  await until('turn.waiting');
  await decide('approved');
  await until('turn.completed');
  expect(asked).toBe(4);
  expect([await count('example.refund'), await count('ledgerline.outbox')]).toEqual([1, 1]);
});

test.each<[string, unknown]>([
  ['true', true],
  ['0', 0],
  ['-1', -1],
  ['40.5', 40.5],
  ['"40"', '40'],
  ['2^53', 2 ** 53],
  ['null', null],
  ['nothing', undefined],
])('an amount of %s is refused before anything is written', async (_, cents) => {
  const { stage, session, until, count, journal, reply } = await shop({
    ask: (question) =>
      Promise.resolve(
        question.answered > 0
          ? supportModel(question)
          : { result: { text: '' }, calls: [{ call: 'refund', tool: 'issue_refund', args: { order: '7731', cents } }] },
      ),
  });
  await stage.say(session, 'Please refund order 7731');
  await until('turn.completed');
  expect(await reply()).toMatchObject({ content: expect.stringMatching(/^I refunded nothing: .*cents/) });
  expect((await stage.types(session)).filter((type) => type.startsWith('approval.'))).toEqual([]);
  expect([await count('example.refund'), await count('ledgerline.outbox')]).toEqual([0, 0]);
  // The model's two answers, and nothing of the call.
  expect((await journal()).map(({ index, kind }) => [index, kind])).toEqual([
    [0, 'model'],
    [2, 'model'],
  ]);
});

test.each([
  ['of an order that is not there', { order: '99999', cents: 40 }, 'There is no order 99999.'],
  ['of more than was paid', { order: '7731', cents: 48_941 }, 'No more than €489.40 was paid for order 7731.'],
])('a refund %s is refused by the tool, asks nobody, and leaves nothing but its failed step', async (_, args, why) => {
  const { stage, session, until, count, reply } = await shop({
    ask: (question) =>
      Promise.resolve(
        question.answered > 0
          ? supportModel(question)
          : { result: { text: '' }, calls: [{ call: 'refund', tool: 'issue_refund', args }] },
      ),
  });
  await stage.say(session, 'Please refund something');
  await until('turn.completed');
  expect(await reply()).toMatchObject({ content: `I refunded nothing: ${why}` });
  expect([await count('example.refund'), await count('ledgerline.outbox')]).toEqual([0, 0]);
});

test('the example’s tables are made once, in a schema of their own, and say what each is for', async () => {
  const stage = await turnStage();
  const all = await Promise.all([1, 2, 3].map(() => migrateExample(stage.url, silentLog)));
  expect(new Set(all.map(({ to }) => to))).toEqual(new Set([1]));
  const unexplained = await stage.sql(
    (sql) => sql`
      select c.relname from pg_class c where c.relnamespace = 'example'::regnamespace and c.relkind = 'r' and obj_description(c.oid, 'pg_class') is null
      union all
      select k.conname from pg_constraint k
       where k.connamespace = 'example'::regnamespace and k.contype <> 'n' and obj_description(k.oid, 'pg_constraint') is null`,
  );
  expect([...unexplained]).toEqual([]);
});
