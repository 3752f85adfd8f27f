/** `ledgerline entries`, for those who follow the worked example: makes its tables, and runs its consumer. */
import { Command } from 'commander';
import { createLog } from '../base/log.ts';
import { readRelayConfig } from '../config.ts';
import { createEntries } from '../example/entries.ts';
import { migrateExample } from '../example/tables.ts';
import { requireSchema } from '../schema.ts';
import type { Context } from './context.ts';
import { stopped } from './stopped.ts';

export function entriesCommand(context: Context): Command {
  return new Command('entries')
    .summary('run the consumer of the worked example')
    .description(
      "Makes the tables of the worked example (docs/ADOPTING.md) in a schema of their own, and posts each refund that the example's " +
        'agent issues to a ledger of entries, once, until SIGTERM. Needs DATABASE_URL and NATS_URL.',
    )
    .addHelpText('after', '\nExample:\n  DATABASE_URL=postgres://… NATS_URL=nats://… ledgerline entries\n')
    .action(() => entries(context));
}

async function entries(context: Context): Promise<void> {
  const config = readRelayConfig(context.env);
  const log = createLog(config.logLevel);
  await requireSchema(config, log);
  await migrateExample(config.databaseUrl, log, { prepare: config.databasePrepare });
  const { databaseUrl, natsUrl, natsSubjectRoot: subjectRoot } = config;
  const consumer = createEntries({ databaseUrl, from: { natsUrl, subjectRoot }, log, clock: context.clock });
  await consumer.start();
  await stopped(context.stop);
  await consumer.stop();
  log.info('stopped');
}
