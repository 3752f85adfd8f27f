/** Whether the database is at the migration that this release needs. */
import { LedgerlineError } from './base/errors.ts';
import type { Log } from './base/log.ts';
import type { ServerConfig } from './config.ts';
import { compareSchema } from './db/migrate.ts';

/** Migrating is a step of a deploy, not a side effect of a start: the release that serves meanwhile may have to agree first. */
export async function requireSchema(
  { databaseUrl, databasePrepare }: Pick<ServerConfig, 'databaseUrl' | 'databasePrepare'>,
  log: Log,
): Promise<void> {
  const { database, release } = await compareSchema(databaseUrl, log, { prepare: databasePrepare });
  if (database === release) return;
  throw new LedgerlineError(
    'unavailable',
    `the database is at migration ${database} and this release needs ${release}: run ledgerline migrate, or serve --migrate`,
  );
}
