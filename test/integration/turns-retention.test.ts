/** What the work half forgets, and what it keeps. */
import { expect, test } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { silentLog } from '../../src/base/log.ts';
import { connect, disconnect } from '../../src/db/postgres.ts';
import { forgetOld } from '../../src/turn/retention.ts';
import { refusalOf } from '../support/refusal.ts';
import { turnStage } from '../support/turn-stage.ts';
import { eventually } from '../support/waits.ts';

test('keys and turns are forgotten when they are old; failures only when somebody has taken note of them', async () => {
  const stage = await turnStage();
  const answered = await stage.session();
  await stage.say(answered, 'hello', { key: 'k' });
  await stage.turns.finish(await stage.claimOne(), 'completed', []);
  const failed = await stage.session();
  await stage.say(failed, 'hello');
  const failure = await stage.claimOne();
  await stage.turns.fail(failure, { code: 'x', message: 'x' }, false);

  const age = (days: number) =>
    stage.sql(async (sql) => {
      await sql`update ledgerline.client_request set created_at = clock_timestamp() - ${days}::int * interval '1 day'`;
      await sql`update ledgerline.turn set ended_at = clock_timestamp() - ${days}::int * interval '1 day'`;
    });
  const forget = () => stage.sql((sql) => forgetOld(sql, 10));
  await age(limits.clientRequestDays - 1);
  expect(await forget()).toBe(0);
  expect(await stage.say(answered, 'hello', { key: 'k' })).toMatchObject({ isRepeat: true });
  await age(limits.turnDays + 1);
  expect(await forget()).toBe(3); // two keys, one answered turn
  expect(await stage.turns.list('attention', 10, { kind: 'all' })).toHaveLength(1);
  await stage.turns.acknowledge(failed, failure.turn);
  expect(await forget()).toBe(1);
  expect(await stage.types(answered)).toHaveLength(3); // the events stay
});

test.each(['retry', 'rerun', 'acknowledge'] as const)(
  'a turn that is being forgotten is gone for who asks for %s in that moment, and no head is left with a turn that is none',
  async (act) => {
    const stage = await turnStage();
    const session = await stage.session();
    await stage.say(session, 'hello');
    const { turn, ...failure } = await stage.claimOne();
    await stage.turns.fail({ turn, ...failure }, { code: 'x', message: 'x' }, false);
    await stage.turns.acknowledge(session, turn);
    await stage.sql((sql) => sql`update ledgerline.turn set ended_at = clock_timestamp() - interval '1 year'`);
    const forgetting = connect({ url: stage.url, connections: 1, name: 'forgetting', log: silentLog });
    await forgetting`begin`;
    expect(await forgetOld(forgetting, 10)).toBe(1);
    const refused = refusalOf(stage.turns[act](session, turn, 'ops'));
    await eventually('it waits for who forgets', () =>
      stage.sql(async (sql) => (await sql`select from pg_locks where not granted`).length > 0),
    );
    await forgetting`commit`;
    await disconnect(forgetting, 1_000);
    expect(await refused).toMatchObject({ code: 'turn_unknown' });
    expect(await stage.now(session)).toMatchObject({ state: 'idle' });
    await stage.say(session, 'next');
    expect(await stage.claimOne()).toMatchObject({ session });
  },
);
