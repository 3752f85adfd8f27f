/** How far a producer has come is read from the index's two ends, however much it has stored. */
import { expect, test } from 'vitest';
import type { Statements } from '../../src/db/postgres.ts';
import { readProducer } from '../../src/ledger/producer-row.ts';
import { withSql } from '../support/ledger.ts';
import { freshDatabase } from '../support/services.ts';

test('with 200,000 events of a producer, asking for its counter touches a few pages', async () => {
  const database = await freshDatabase();
  await withSql(database.url, async (sql) => {
    await sql`insert into ledgerline.session (session) values ('s1')`;
    await sql`insert into ledgerline.session_head (session, last_sequence) values ('s1', 200000)`;
    await sql`
      insert into ledgerline.event (session, sequence, type, payload, bytes, created_at, producer_id, producer_sequence)
      select 's1', i, 'a', '1', 1, clock_timestamp(), 'p', i from generate_series(1, 200000) i`;
    await sql`set enable_seqscan = off`;
    await sql`set enable_bitmapscan = off`;
    expect(await readProducer(sql, 's1', 'p')).toMatchObject({ counter: 200_000, first: 1, last: 200_000 });
    let lines = '';
    const explaining = (async (strings: TemplateStringsArray, ...values: never[]) => {
      const [first = '', ...rest] = strings;
      const text = [`explain (analyze, buffers, timing off, summary off) ${first}`, ...rest];
      const plan = await sql<{ 'QUERY PLAN': string }[]>(
        Object.assign(text, { raw: text }) as unknown as TemplateStringsArray,
        ...values,
      );
      lines = plan.map((row) => row['QUERY PLAN']).join('\n');
      return [];
    }) as unknown as Statements;
    await readProducer(explaining, 's1', 'p');
    const [, hit, read] = /Buffers: shared hit=(\d+)(?: read=(\d+))?/.exec(lines) ?? [];
    expect(lines).not.toMatch(/Sort|Seq Scan/);
    expect(Number(hit) + Number(read ?? 0)).toBeLessThan(30);
  });
  await database.drop();
});
