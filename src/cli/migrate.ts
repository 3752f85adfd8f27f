/** `ledgerline migrate`: brings the database to this release's schema. */
import { Command } from 'commander';
import { createLog } from '../base/log.ts';
import { readDatabaseConfig } from '../config.ts';
import { migrate } from '../db/migrate.ts';
import type { Context } from './context.ts';

export function migrateCommand(context: Context): Command {
  return new Command('migrate')
    .summary('bring the database up to date')
    .description(
      'Applies the migrations that DATABASE_URL lacks, in the schema "ledgerline". Safe to run from several places at once, ' +
        'and while an older release is running.',
    )
    .addHelpText('after', '\nExample:\n  DATABASE_URL=postgres://user:password@host:5432/database ledgerline migrate\n')
    .action(async () => {
      const { databaseUrl, databasePrepare: prepare } = readDatabaseConfig(context.env);
      const { from, to } = await migrate(databaseUrl, createLog('warn'), { prepare });
      await context.output.print(from === to ? `schema is at ${to} already\n` : `schema ${from} → ${to}\n`);
    });
}
