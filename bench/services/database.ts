/** The Postgres that a measurement runs on: LEDGERLINE_BENCH_DATABASE_URL, else an embedded one in a folder of its own. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLog } from '../../src/base/log.ts';
import { embeddedPostgres } from '../../src/db/embedded.ts';
import { migrate } from '../../src/db/migrate.ts';
import { connect, disconnect } from '../../src/db/postgres.ts';
import type { Sql } from '../../src/db/postgres.ts';

export interface BenchDatabase {
  readonly url: string;
  close(): Promise<void>;
}

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
  const folder = await mkdtemp(join(tmpdir(), 'ledgerline-bench-'));
  let server = embeddedPostgres({ folder, log: silentLog });
  await server.start();
  if (isCounted) {
    await onDatabase(server.url, (sql) => sql`alter system set shared_preload_libraries = 'pg_stat_statements'`);
    await server.stop();
    server = embeddedPostgres({ folder, log: silentLog });
    await server.start();
    await onDatabase(server.url, (sql) => sql`create extension pg_stat_statements`);
  }
  await migrate(server.url, silentLog);
  return {
    url: server.url,
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
