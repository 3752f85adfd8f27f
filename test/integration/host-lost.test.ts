/** A host that vanishes in the middle of a transaction gives back what it had locked: the server ends what says nothing more. */
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { silentLog } from '../../src/base/log.ts';
import { connect, disconnect, transaction } from '../../src/db/postgres.ts';
import type { Sql } from '../../src/db/postgres.ts';
import { turnStage } from '../support/turn-stage.ts';
import type { TurnStage } from '../support/turn-stage.ts';

let stage: TurnStage;
beforeEach(async () => {
  stage = await turnStage();
});

function connected(settings: Readonly<Record<string, string>> = {}): Sql {
  const sql = connect({ url: stage.url, connections: 1, name: 'host', log: silentLog, settings });
  onTestFinished(() => disconnect(sql, 1_000));
  return sql;
}

test('every connection says how long the server waits for a host that says nothing', async () => {
  const sql = connected({ lock_timeout: '7s' });
  const rows = await sql<{ name: string; seconds: number }[]>`
    select name, (setting::float8 * case unit when 'ms' then 0.001 else 1 end)::float8 as seconds from pg_settings
     where name in ('idle_in_transaction_session_timeout', 'tcp_user_timeout', 'lock_timeout') order by name`;
  expect(rows.map(({ name, seconds }) => [name, seconds])).toEqual([
    ['idle_in_transaction_session_timeout', 60],
    ['lock_timeout', 7],
    ['tcp_user_timeout', 30],
  ]);
});

test('a transaction whose host is gone is ended, and its session goes on', async () => {
  const session = await stage.session();
  const host = connected({ idle_in_transaction_session_timeout: '500ms' });
  let isLocked: () => void = () => undefined;
  const locked = new Promise<void>((resolve) => (isLocked = resolve));
  const abandoned = transaction(host, async (tx) => {
    await tx`update ledgerline.session_head set fence = fence + 7 where session = ${session}::text`;
    isLocked();
    await new Promise<never>(() => undefined);
  });
  const ended = abandoned.catch((thrown: unknown) => thrown);
  await locked;
  // It waits for the head until the server has taken it back.
  expect(await stage.say(session, 'hello')).toMatchObject({ sequence: 1, state: 'ready' });
  expect(await ended).toBeInstanceOf(Error);
  expect(await stage.claimOne()).toMatchObject({ session, attempt: 1 }); // nothing of it was kept
});

test('what the work of a transaction sends behind its own end is refused, and no commit of its own', async () => {
  const sql = connected();
  await sql`create table note (text text)`;
  let late: Promise<unknown> = Promise.resolve();
  const failed = transaction(sql, async (tx) => {
    await tx`insert into note (text) values ('rolled back')`;
    late = Promise.resolve()
      .then(() => Promise.resolve())
      .then(() => tx`insert into note (text) values ('late')`)
      .catch((thrown: unknown) => thrown);
    throw new Error('it took too long');
  });
  await expect(failed).rejects.toThrow('it took too long');
  expect(await late).toMatchObject({ code: 'unavailable' });
  expect(await sql`select text from note`).toEqual([]);
});
