/** The schema: applied once by anybody, explained in the catalog, and written down as it came out. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { silentLog } from '../../src/base/log.ts';
import { migrate } from '../../src/db/migrate.ts';
import { schemaText, unexplained } from '../support/schema-text.ts';
import { freshDatabase } from '../support/services.ts';
import type { FreshDatabase } from '../support/services.ts';
import { withSql } from '../support/ledger.ts';

describe('the schema', () => {
  let database: FreshDatabase;
  beforeAll(async () => {
    database = await freshDatabase();
  });
  afterAll(() => database.drop());

  it('is what sql/schema.sql says; after a migration, `vitest run test/integration/schema.test.ts -u` writes it anew', async () => {
    await expect(await withSql(database.url, schemaText)).toMatchFileSnapshot('../../sql/schema.sql');
  });

  it('gives a reason for every table, index, constraint and function', async () => {
    expect(await withSql(database.url, unexplained)).toEqual([]);
  });

  it('has no index on a column of the head that an append changes', async () => {
    const indexed = await withSql(
      database.url,
      (sql) => sql<{ column: string }[]>`
        select a.attname as column from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey)
         where i.indrelid = 'ledgerline.session_head'::regclass`,
    );
    const kept = ['last_sequence', 'lease_until', 'floor', 'state', 'fence'];
    expect(indexed.map((row) => row.column).toSorted()).toEqual(['due_at', 'session', 'session']);
    expect(indexed.filter((row) => kept.includes(row.column))).toEqual([]);
  });

  it('is left alone when it is up to date', async () => {
    const { from, to } = await migrate(database.url, silentLog);
    expect(from).toBe(to);
    expect(to).toBeGreaterThan(0);
  });
});

describe('migrating', () => {
  it('is safe for any number of processes at once', async () => {
    const database = await freshDatabase({ isEmpty: true });
    try {
      const all = await Promise.all(Array.from({ length: 8 }, () => migrate(database.url, silentLog)));
      const numbers = await withSql(
        database.url,
        (sql) => sql<{ number: number }[]>`select number from ledgerline.migration order by number`,
      );
      expect(new Set(all.map(({ to }) => to))).toEqual(new Set([numbers.at(-1)?.number]));
    } finally {
      await database.drop();
    }
  });

  it('refuses a database that a newer release has migrated', async () => {
    const database = await freshDatabase();
    try {
      await withSql(
        database.url,
        (sql) => sql`insert into ledgerline.migration (number, name) values (9999, '9999_future.sql')`,
      );
      await expect(migrate(database.url, silentLog)).rejects.toMatchObject({
        code: 'schema_newer',
        fields: { database: 9999 },
      });
    } finally {
      await database.drop();
    }
  });

  it('gives up on a table that somebody reads for long, for all others would wait behind it', async () => {
    const database = await freshDatabase();
    const folder = await mkdtemp(join(tmpdir(), 'ledgerline-migration-'));
    const set = { folder: pathToFileURL(`${folder}/`), schema: 'ledgerline' };
    try {
      await writeFile(join(folder, '9001_later.sql'), 'alter table ledgerline.event add column later int;');
      await withSql(database.url, (sql) =>
        sql.begin(async (tx) => {
          await tx`lock table ledgerline.event in access share mode`;
          await expect(migrate(database.url, silentLog, {}, set)).rejects.toMatchObject({
            code: 'unavailable',
            message: expect.stringContaining('9001_later.sql would change a table that somebody else holds') as unknown,
          });
        }),
      );
      expect(await migrate(database.url, silentLog, {}, set)).toMatchObject({ to: 9001 });
    } finally {
      await rm(folder, { recursive: true });
      await database.drop();
    }
  });

  it('refuses a database that cannot hold every payload', async () => {
    const database = await freshDatabase({ isEmpty: true });
    const name = `latin_${Date.now()}`;
    const url = new URL(database.url);
    url.pathname = `/${name}`;
    try {
      await withSql(database.url, (sql) =>
        sql.unsafe(`create database ${name} template template0 encoding 'LATIN1' locale 'C'`),
      );
      await expect(migrate(url.href, silentLog)).rejects.toMatchObject({ code: 'configuration' });
    } finally {
      await withSql(database.url, (sql) => sql.unsafe(`drop database if exists ${name} with (force)`));
      await database.drop();
    }
  });

  it('calls a Postgres that is away unavailable', async () => {
    await expect(migrate('postgres://nobody@127.0.0.1:1/nothing', silentLog)).rejects.toMatchObject({
      code: 'unavailable',
    });
  });
});
