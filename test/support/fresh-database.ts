/** Databases that nobody else uses: made anew, or as a copy of one that is there. */
import { randomBytes } from 'node:crypto';
import postgres from 'postgres';
import { silentLog } from '../../src/base/log.ts';
import { migrate } from '../../src/db/migrate.ts';

export interface FreshDatabase {
  readonly url: string;
  readonly name: string;
  drop(): Promise<void>;
}

export interface Making {
  /** A database of the server that nobody is connected to, to copy instead of migrating an empty one. */
  readonly template?: string;
  /** What a session of it begins with. `LEDGERLINE_TEST_ISOLATION=serializable` makes every database so. */
  readonly isolation?: 'serializable' | undefined;
  /** Leaves the schema to the test. */
  readonly isEmpty?: boolean | undefined;
}

export async function makeDatabase(server: string, making: Making = {}): Promise<FreshDatabase> {
  const { template, isEmpty } = making;
  const isolation = making.isolation ?? process.env['LEDGERLINE_TEST_ISOLATION'];
  const name = `test_${randomBytes(6).toString('hex')}`;
  await onServer(server, async (sql) => {
    await sql`create database ${sql(name)} template ${sql(template ?? 'template0')}`;
    if (isolation !== undefined) {
      await sql.unsafe(`alter database ${name} set default_transaction_isolation = '${isolation}'`);
    }
  });
  const url = new URL(server);
  url.pathname = `/${name}`;
  if (template === undefined && isEmpty !== true) await migrate(url.href, silentLog);
  return {
    url: url.href,
    name,
    drop: () => onServer(server, async (sql) => void (await sql`drop database if exists ${sql(name)} with (force)`)),
  };
}

async function onServer(url: string, work: (sql: postgres.Sql) => Promise<void>): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  try {
    await work(sql);
  } finally {
    await sql.end();
  }
}
