/** `ledgerline serve`: a gateway in production, against servers of its own. */
import { Command } from 'commander';
import { createLog } from '../base/log.ts';
import { readServerConfig } from '../config.ts';
import { migrate } from '../db/migrate.ts';
import { createGateway } from '../gateway.ts';
import { requireSchema } from '../schema.ts';
import type { Context } from './context.ts';
import { explainPort } from './port.ts';
import { stopped } from './stopped.ts';

export function serveCommand(context: Context): Command {
  return new Command('serve')
    .summary('run a gateway against your Postgres and NATS')
    .description(
      'Runs a gateway until SIGTERM. Needs DATABASE_URL, LEDGERLINE_TOKEN_SECRET and LEDGERLINE_INTERNAL_KEY; with NATS_URL ' +
        'several gateways share one database. docs/OPERATIONS.md has every setting.',
    )
    .option('--migrate', 'bring the database up to date first')
    .addHelpText(
      'after',
      `
Example:
  ledgerline migrate && ledgerline serve
`,
    )
    .action((options: { migrate?: true }) => serve(context, options.migrate === true));
}

async function serve(context: Context, isMigrating: boolean): Promise<void> {
  const config = readServerConfig(context.env);
  const log = createLog(config.logLevel);
  if (isMigrating) await migrate(config.databaseUrl, log, { prepare: config.databasePrepare });
  else await requireSchema(config, log);
  if (config.natsUrl === undefined) {
    log.warn('NATS_URL is not set: this must be the only gateway of its database, or readers wait for the head check');
  }
  const gateway = createGateway(config, log);
  await gateway.start().catch((thrown: unknown) => {
    throw explainPort(thrown, {
      [config.publicPort]: 'LEDGERLINE_PUBLIC_PORT',
      [config.internalPort]: 'LEDGERLINE_INTERNAL_PORT',
    });
  });
  log.info({ public: gateway.publicUrl, internal: gateway.internalUrl }, 'serving');
  await stopped(context.stop);
  log.info('draining');
  await gateway.stop();
  log.info('stopped');
}
