/** A database that is made anew beside another one: empty each time, and never somebody else's. */
import { randomBytes } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { silentLog } from '../../src/base/log.ts';
import { makeScratchDatabase } from '../../src/db/scratch-database.ts';
import { withSql } from '../support/ledger.ts';
import { database } from '../support/stage.ts';

const suffix = '_trial';
const nameOf = (url: string): string => decodeURIComponent(new URL(url).pathname.slice(1));

async function beside(): Promise<{ url: string; name: string }> {
  const { url } = await database({ isEmpty: true });
  const name = `${nameOf(url)}${suffix}`;
  onTestFinished(() =>
    withSql(url, async (sql) => void (await sql`drop database if exists ${sql(name)} with (force)`)),
  );
  return { url, name };
}

const make = (url: string): Promise<string> => makeScratchDatabase({ url, suffix, log: silentLog });

it('is named after the other one, and empty each time, whoever is connected', async () => {
  const { url, name } = await beside();
  const scratch = await make(url);
  expect(nameOf(scratch)).toBe(name);
  await withSql(scratch, async (sql) => {
    await sql`create table left_over ()`;
    await make(url);
    // It was cut off, and comes back to the new one.
    await expect(sql`select from left_over`).rejects.toThrow(/terminat|CONNECTION|does not exist/);
  });
  const tables = await withSql(scratch, (sql) => sql`select from pg_catalog.pg_class where relname = 'left_over'`);
  expect(tables).toHaveLength(0);
});

it('is never made in the place of a database that somebody else made', async () => {
  const { url, name } = await beside();
  await withSql(url, (sql) => sql`create database ${sql(name)} template template0`);
  const theirs = new URL(url);
  theirs.pathname = `/${name}`;
  await withSql(theirs.href, (sql) => sql`create table kept ()`);
  await expect(make(url)).rejects.toMatchObject({
    code: 'configuration',
    message: expect.stringContaining(`there is a database ${name} that Ledgerline did not make`),
  });
  expect(await withSql(theirs.href, (sql) => sql`select from kept`)).toHaveLength(0);
});

it('says what to do when the role may make none', async () => {
  const { url } = await beside();
  const role = `trial_${randomBytes(6).toString('hex')}`;
  await withSql(url, (sql) => sql.unsafe(`create role ${role} login password 'secret'`));
  onTestFinished(() => withSql(url, async (sql) => void (await sql.unsafe(`drop role ${role}`))));
  const poor = new URL(url);
  [poor.username, poor.password] = [role, 'secret'];
  await expect(make(poor.href)).rejects.toMatchObject({
    code: 'configuration',
    message: expect.stringMatching(/may not make a database of its own: .*CREATEDB.*permission denied/),
  });
});
