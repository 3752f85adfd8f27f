/** The Postgres that a measurement runs on: LEDGERLINE_BENCH_DATABASE_URL, else an embedded one in a folder of its own. */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLog } from '../../src/base/log.ts';
import { embeddedPostgres } from '../../src/db/embedded.ts';
import type { EmbeddedPostgres } from '../../src/db/embedded.ts';
import { migrate } from '../../src/db/migrate.ts';
import { connect, disconnect } from '../../src/db/postgres.ts';
import type { Sql } from '../../src/db/postgres.ts';

export interface BenchDatabase {
  /** Changes with a restart. */
  readonly url: string;
  close(): Promise<void>;
}

/** One that nobody else uses, so that it may be stopped. */
export interface OwnDatabase extends BenchDatabase {
  /** In an orderly way, with these settings from then on. */
  restart(settings: Settings): Promise<void>;
}

/** Of postgresql.conf. */
export type Settings = Readonly<Record<string, string>>;

export interface DatabaseOptions {
  /** Postgres counts the statements that it runs, for `statementsSoFar`; a server that is given must do so by itself. */
  readonly isCounted?: boolean;
}

/** Migrated, and gone with `close`. */
export async function openDatabase({ isCounted = false }: DatabaseOptions = {}): Promise<BenchDatabase> {
  const given = process.env['LEDGERLINE_BENCH_DATABASE_URL'];
  if (given !== undefined) {
    await migrate(given, silentLog);
    return { url: given, close: () => Promise.resolve() };
  }
  const database = await openOwnDatabase();
  if (isCounted) {
    await database.restart({ shared_preload_libraries: 'pg_stat_statements' });
    await onDatabase(database.url, (sql) => sql`create extension pg_stat_statements`);
  }
  return database;
}

/** Embedded, whatever server is given. Migrated, and gone with `close`. */
export async function openOwnDatabase(): Promise<OwnDatabase> {
  const folder = await mkdtemp(join(tmpdir(), 'ledgerline-bench-'));
  // Root's Postgres runs as somebody else: where he cannot come in, the data would go elsewhere, and stay.
  await chmod(folder, 0o755);
  const start = async (): Promise<EmbeddedPostgres> => {
    const server = embeddedPostgres({ folder, log: silentLog });
    await server.start();
    return server;
  };
  let server = await start();
  await migrate(server.url, silentLog);
  return {
    get url() {
      return server.url;
    },
    async restart(settings) {
      await onDatabase(server.url, async (sql) => {
        for (const [name, value] of Object.entries(settings)) await sql.unsafe(`alter system set ${name} = '${value}'`);
      });
      await server.stop();
      server = await start();
    },
    async close() {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Runs `work` on one connection of its own. */
export async function onDatabase<T>(url: string, work: (sql: Sql) => Promise<T>): Promise<T> {
  const sql = connect({ url, connections: 1, name: 'bench', log: silentLog });
  try {
    return await work(sql);
  } finally {
    await disconnect(sql, 1_000);
  }
}

/** Statements that this Postgres has run for everybody. */
export const statementsSoFar = (url: string): Promise<number> =>
  onDatabase(url, async (sql) => {
    const [row] = await sql<{ calls: number }[]>`
      select coalesce(sum(calls), 0)::bigint as calls from pg_stat_statements`;
    return row?.calls ?? 0;
  });
