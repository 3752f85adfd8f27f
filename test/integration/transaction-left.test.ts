/** What the work of a transaction leaves behind: nothing of it is stored by itself, and nothing that fails is told as done. */
import { beforeEach, describe, expect, test } from 'vitest';
import { silentLog } from '../../src/base/log.ts';
import { transaction } from '../../src/db/postgres.ts';
import type { TransactionSql } from '../../src/db/postgres.ts';
import { createPool } from '../../src/db/pool.ts';
import type { Pool } from '../../src/db/pool.ts';
import { countTo, withSql } from '../support/ledger.ts';
import { database } from '../support/stage.ts';

let url: string;
let pool: Pool;
beforeEach(async () => {
  ({ url } = await database());
  await withSql(url, (sql) => sql`create table effect (name text primary key)`);
  pool = createPool({ url, log: silentLog, name: 'left', connections: 1, deadlineMs: 20_000 });
  return () => pool.close(1_000);
});

const run = <T>(work: (tx: TransactionSql) => Promise<T>): Promise<T> =>
  pool.run('working', (sql) => transaction(sql, work));
const write = (tx: TransactionSql, name: string) => tx`insert into effect (name) values (${name}::text)`;
const effects = () =>
  withSql(url, async (sql) => {
    const rows = await sql<{ name: string }[]>`select name from effect order by name`;
    return rows.map(({ name }) => name);
  });
/** Whatever was sent before is done by now: there is but one connection. */
const behind = () => run((tx) => tx`select 1`);

describe('behind the end of its work', () => {
  const ways: Readonly<Record<string, (tx: TransactionSql) => () => PromiseLike<unknown>>> = {
    'a statement': (tx) => () => write(tx, 'stray'),
    'a statement that was made before': (tx) => {
      const made = write(tx, 'stray');
      return () => made;
    },
    'a text': (tx) => () => tx.unsafe(`insert into effect (name) values ('stray')`),
    'a savepoint': (tx) => () => tx.savepoint((inner) => write(inner, 'stray')),
  };
  test.each(Object.keys(ways))('%s is refused, whether it was committed or rolled back', async (way) => {
    for (const isCommitted of [true, false]) {
      let stray: () => PromiseLike<unknown> = () => Promise.resolve();
      const done = run(async (tx) => {
        stray = ways[way]?.(tx) ?? stray;
        await write(tx, 'kept');
        if (!isCommitted) throw new Error('no more');
      });
      await done.catch(() => undefined);
      await expect((async () => await stray())()).rejects.toMatchObject({ code: 'unavailable' });
      await behind();
      expect(await effects()).toEqual(['kept']);
    }
  });

  test('what a savepoint left is refused, too', async () => {
    let inner: TransactionSql | undefined;
    await run((tx) =>
      tx.savepoint(async (one) => {
        inner = one;
        await write(one, 'kept');
      }),
    );
    await expect((async () => inner && (await write(inner, 'stray')))()).rejects.toMatchObject({ code: 'unavailable' });
    await behind();
    expect(await effects()).toEqual(['kept']);
  });
});

describe('a statement that nobody waits for', () => {
  test('and that fails when the work has ended is told, and nothing is told as done', async () => {
    let over = 0;
    for (const round of countTo(20)) {
      const done = run(async (tx) => {
        await write(tx, `kept-${round}`);
        void tx`select pg_sleep(0.005)`.execute();
        write(tx, `kept-${round}`).catch(() => undefined); // a duplicate
      });
      await expect(done).rejects.toMatchObject({ code: '23505' });
      over += 1;
    }
    expect([over, await effects()]).toEqual([20, []]);
  });

  test('and that is begun by one that ends with the work fails the whole of it as well', async () => {
    for (const round of countTo(20)) {
      const name = `kept-${round}`;
      const done = run(async (tx) => {
        void write(tx, name).then(() => write(tx, name).catch(() => undefined));
        await tx`select 1`;
      });
      const isDone = await done.then(
        () => true,
        () => false,
      );
      expect((await effects()).includes(name)).toBe(isDone);
    }
  });

  test('is committed with the rest when it goes well', async () => {
    await run(async (tx) => {
      await tx`select 1`;
      void tx`select pg_sleep(0.005)`.execute();
      write(tx, 'kept').catch(() => undefined);
    });
    expect(await effects()).toEqual(['kept']);
  });
});

test('an error that the work has caught rolls all of it back, unless a savepoint did', async () => {
  const caught = run(async (tx) => {
    await write(tx, 'a');
    await write(tx, 'a').catch(() => undefined);
    return 'done';
  });
  await expect(caught).rejects.toMatchObject({ code: '23505' });
  expect(await effects()).toEqual([]);
  const saved = run(async (tx) => {
    await write(tx, 'a');
    await tx.savepoint((inner) => write(inner, 'a')).catch(() => undefined);
    return 'done';
  });
  expect([await saved, await effects()]).toEqual(['done', ['a']]);
});

test.each(['under a statement', 'between two statements'])(
  'a connection that is lost %s is told as such, whatever the work makes of it, and the next one is served',
  async (when) => {
    for (const _ of countTo(20)) {
      const end = (pid: number) => withSql(url, (sql) => sql`select pg_terminate_backend(${pid}::int)`);
      const work = run(async (tx) => {
        const [self] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`;
        try {
          const ended = end(self?.pid ?? 0);
          if (when === 'under a statement') await Promise.all([tx`select pg_sleep(60)`, ended]);
          await ended;
          await write(tx, 'stray');
        } catch (cause) {
          throw new TypeError('it failed', { cause });
        }
      });
      await expect(work).rejects.toMatchObject({ code: 'unavailable' });
      await run((tx) => write(tx, 'kept').then(() => tx`delete from effect`));
    }
    expect(await effects()).toEqual([]);
  },
);
