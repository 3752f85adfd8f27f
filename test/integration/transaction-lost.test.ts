/** A connection that is lost within a transaction: told as what it is, once, and the process goes on [porsager/postgres#1208]. */
import { expect, it } from 'vitest';
import { silentLog } from '../../src/base/log.ts';
import { transaction } from '../../src/db/postgres.ts';
import type { TransactionSql } from '../../src/db/postgres.ts';
import { createPool } from '../../src/db/pool.ts';
import { countTo, withSql } from '../support/ledger.ts';
import { database, fragilePostgres } from '../support/stage.ts';
import { eventually } from '../support/waits.ts';

const pool = (url: string) => createPool({ url, log: silentLog, name: 'lost', connections: 2, deadlineMs: 20_000 });

const sleeps = (tx: TransactionSql) => tx`select pg_sleep(60)`;

it('a transaction whose server dies under a statement is refused, and so are those that wait for a connection', async () => {
  const server = await fragilePostgres();
  const lost = pool(server.databaseUrl);
  const all = countTo(6).map(() => lost.run('sleeping', (sql) => transaction(sql, (tx) => sleeps(tx))));
  const fates = Promise.allSettled(all);
  await withSql(server.databaseUrl, (sql) =>
    eventually('two sleep', async () => {
      const asleep = await sql`select from pg_stat_activity where wait_event = 'PgSleep'`;
      return asleep.length === 2;
    }),
  );
  await server.kill();
  for (const fate of await fates) expect(fate).toMatchObject({ status: 'rejected', reason: { code: 'unavailable' } });
  await server.restart();
  await eventually('it serves again', () => lost.run('asking', (sql) => transaction(sql, (tx) => tx`select 1`)));
  await lost.close(1_000);
});

it.each(['under a statement', 'between two statements'])(
  'a transaction whose connection the server ends %s is refused, and the next one is served',
  async (when) => {
    const { url } = await database();
    const lost = pool(url);
    for (const _ of countTo(20)) {
      const end = (pid: number) => withSql(url, (sql) => sql`select pg_terminate_backend(${pid}::int)`);
      const work = lost.run('working', (sql) =>
        transaction(sql, async (tx) => {
          const [self] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`;
          const ended = end(self?.pid ?? 0);
          if (when === 'under a statement') await Promise.all([sleeps(tx), ended]);
          await ended;
          return tx`select 1`;
        }),
      );
      await expect(work).rejects.toMatchObject({ code: 'unavailable' });
      await lost.run('asking', (sql) => transaction(sql, (tx) => tx`select 1`));
    }
    await lost.close(1_000);
  },
);
