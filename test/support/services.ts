/** The servers of a test: the run's shared ones, and a test's own to hurt. */
import { randomBytes } from 'node:crypto';
import postgres from 'postgres';
import { inject } from 'vitest';
import { silentLog } from '../../src/base/log.ts';
import { migrate } from '../../src/db/migrate.ts';
import { startNatsServer, startPostgresServer } from './servers.ts';
import type { TestServer } from './test-server.ts';

export type { TestServer } from './test-server.ts';

/** A Postgres of the calling test's own: kill it, freeze it, restart it, and stop it in the end. */
export const startPostgres = (): Promise<TestServer> => startPostgresServer(inject('runFolder'));

/** A NATS of the calling test's own. */
export const startNats = (): Promise<TestServer> => startNatsServer(inject('runFolder'));

/** The run's Postgres, for every test that leaves it as it is; its databases come from `freshDatabase`. */
const sharedPostgresUrl = (): string => inject('postgresUrl');

/** The run's NATS. Others publish on it too: choose a subject root of your own. */
export const sharedNatsUrl = (): string => inject('natsUrl');

export interface FreshDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

export interface DatabaseOptions {
  /** What a session of this database begins with; our own connections must not depend on it. */
  readonly isolation?: 'serializable';
  /** Another server than the run's. */
  readonly on?: TestServer;
  /** Leaves the schema to the test. */
  readonly isEmpty?: boolean;
}

/** A migrated database of the calling test's own. `LEDGERLINE_TEST_ISOLATION=serializable` makes every one so. */
export async function freshDatabase(options: DatabaseOptions = {}): Promise<FreshDatabase> {
  const server = options.on?.url ?? sharedPostgresUrl();
  const name = `test_${randomBytes(6).toString('hex')}`;
  const isolation = options.isolation ?? process.env['LEDGERLINE_TEST_ISOLATION'];
  await onServer(server, async (sql) => {
    await sql`create database ${sql(name)} template template0`;
    if (isolation !== undefined) {
      await sql.unsafe(`alter database ${name} set default_transaction_isolation = '${isolation}'`);
    }
  });
  const url = new URL(server);
  url.pathname = `/${name}`;
  if (options.isEmpty !== true) await migrate(url.href, silentLog);
  return {
    url: url.href,
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
