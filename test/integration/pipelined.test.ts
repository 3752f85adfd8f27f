/** A transaction whose BEGIN and COMMIT wait for no answer of their own is as whole as any other. */
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { silentLog } from '../../src/base/log.ts';
import { pipelined } from '../../src/db/pipelined.ts';
import { createPool } from '../../src/db/pool.ts';
import type { Pool } from '../../src/db/pool.ts';
import type { Statements } from '../../src/db/postgres.ts';
import { startCutProxy } from '../support/cut-proxy.ts';
import type { CutProxy } from '../support/cut-proxy.ts';
import { countTo, withSql } from '../support/ledger.ts';
import { database } from '../support/stage.ts';

let proxy: CutProxy;
let pool: Pool;
beforeEach(async () => {
  const { url } = await database();
  await withSql(url, (sql) => sql`create table if not exists kept (n int primary key)`);
  await withSql(url, (sql) => sql`truncate kept`);
  proxy = await startCutProxy(url);
  pool = createPool({ url: proxy.url, log: silentLog, name: 'pipelined', connections: 2, deadlineMs: 10_000 });
  onTestFinished(async () => {
    await pool.close(1_000);
    await proxy.close();
  });
});

const keep = (tx: Statements, n: number) => tx`insert into kept (n) values (${n}::int)`;
const kept = (): Promise<number[]> =>
  pool.run('looking', async (sql) => (await sql<{ n: number }[]>`select n from kept order by n`).map((row) => row.n));

it.each([true, false])('keeps all of it, and gives its connection back (COMMIT sent ahead: %s)', async (isAhead) => {
  const numbers = countTo(20);
  await Promise.all(
    numbers.map((n) =>
      pool.run('keeping', (sql) =>
        pipelined(sql, async (tx, commit) => {
          await tx`select 1`;
          const both = Promise.all([keep(tx, n), keep(tx, -n)]);
          if (isAhead) commit();
          await both;
        }),
      ),
    ),
  );
  expect((await kept()).filter((n) => n > 0)).toEqual(numbers);
  expect(await kept()).toHaveLength(40);
});

it.each([true, false])(
  'keeps nothing of what is refused, whoever swallows that (COMMIT sent ahead: %s)',
  async (isAhead) => {
    const refused = pool.run('keeping', (sql) =>
      pipelined(sql, async (tx, commit) => {
        const both = Promise.allSettled([keep(tx, 1), keep(tx, 1)]);
        if (isAhead) commit();
        await both;
      }),
    );
    await expect(refused).rejects.toMatchObject({ code: '23505' });
    expect(await kept()).toEqual([]);
  },
);

it('rolls back when its work gives up', async () => {
  const given = pool.run('keeping', (sql) =>
    pipelined(sql, async (tx) => {
      await keep(tx, 1);
      throw new Error('no more');
    }),
  );
  await expect(given).rejects.toThrow('no more');
  expect(await kept()).toEqual([]);
});

it('takes nothing behind its COMMIT', async () => {
  const late = pool.run('keeping', (sql) =>
    pipelined(sql, async (tx, commit) => {
      const first = keep(tx, 1);
      commit();
      await first;
      await keep(tx, 2);
    }),
  );
  await expect(late).rejects.toMatchObject({ code: 'unavailable' });
  expect(await kept()).toEqual([1]);
});

it.each(['D', 'C'])(
  'is unavailable when its connection is lost at an answer (%s), and the next one is served',
  async (at) => {
    await kept();
    for (const n of countTo(5)) {
      let isToCut = true;
      proxy.fromServer = (type, text) => {
        if (!isToCut || type !== at || !(at === 'D' || text.startsWith('COMMIT'))) return 'pass';
        isToCut = false;
        return 'cut';
      };
      const lost = pool.run('keeping', (sql) =>
        pipelined(sql, async (tx) => {
          await tx`select ${n}::int as n`;
          await keep(tx, n);
        }),
      );
      await expect(lost).rejects.toMatchObject({ code: 'unavailable' });
      expect(isToCut).toBe(false);
      proxy.fromServer = () => 'pass';
      expect(await kept()).toBeDefined();
    }
  },
);

it('is unavailable when its connection is lost at its ROLLBACK, and the next one is served', async () => {
  await kept();
  proxy.fromServer = (type, text) => (type === 'C' && text.startsWith('ROLLBACK') ? 'cut' : 'pass');
  const refused = pool.run('keeping', (sql) => pipelined(sql, (tx) => tx`select 1 / ${0}::int`));
  await expect(refused).rejects.toMatchObject({ code: 'unavailable' });
  expect(await kept()).toEqual([]);
});
