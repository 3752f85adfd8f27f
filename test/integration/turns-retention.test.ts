/** What the work half forgets, and what it keeps. */
import { expect, test } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { forgetOld } from '../../src/turn/retention.ts';
import { turnStage } from '../support/turn-stage.ts';

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
