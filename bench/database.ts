/** The Postgres that a measurement runs on: LEDGERLINE_BENCH_DATABASE_URL, else an embedded one in a folder of its own. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLog } from '../src/base/log.ts';
import { embeddedPostgres } from '../src/db/embedded.ts';
import { migrate } from '../src/db/migrate.ts';

export interface BenchDatabase {
  readonly url: string;
  close(): Promise<void>;
}

/** Migrated, and gone with `close`. */
export async function openDatabase(): Promise<BenchDatabase> {
  const given = process.env['LEDGERLINE_BENCH_DATABASE_URL'];
  if (given !== undefined) {
    await migrate(given, silentLog);
    return { url: given, close: () => Promise.resolve() };
  }
  const folder = await mkdtemp(join(tmpdir(), 'ledgerline-bench-'));
  const server = embeddedPostgres({ folder, log: silentLog });
  await server.start();
  await migrate(server.url, silentLog);
  return {
    url: server.url,
    async close() {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
