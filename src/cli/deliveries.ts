/** `ledgerline deliveries`: what does not go out by itself, and what a person may do about it; by the database alone. */
import { Argument, Command, InvalidArgumentError } from 'commander';
import { LedgerlineError } from '../base/errors.ts';
import { deliveryLimits } from '../base/delivery-limits.ts';
import { limits } from '../base/limits.ts';
import { createLog } from '../base/log.ts';
import { readDatabaseConfig, readRelayConfig } from '../config.ts';
import { createPool } from '../db/pool.ts';
import type { Pool } from '../db/pool.ts';
import { jetStreamChannel } from '../outbox/jetstream-channel.ts';
import type { DeliverySummary } from '../outbox/delivery-summary.ts';
import { acknowledge, listDeliveries, redrive, skip } from '../outbox/operate.ts';
import { reconcile } from '../outbox/reconcile.ts';
import { sessionArgument } from './arguments.ts';
import type { Context } from './context.ts';
import { table } from './table.ts';

interface ListOptions {
  readonly all?: true;
  readonly json?: true;
}

export function deliveriesCommand(context: Context): Command {
  const command = new Command('deliveries')
    .summary('list the deliveries that are not out, and settle them')
    .description(
      'Lists the deliveries that wait, are refused or are dead, the longest first. Needs DATABASE_URL. The commands below settle ' +
        'them; a running relay does the rest.',
    )
    .option('--all', 'list those that are dead and acknowledged, too')
    .option('--json', 'print one line of JSON a delivery')
    .addHelpText(
      'after',
      `
Examples:
  ledgerline deliveries
  ledgerline deliveries redrive run-42 7
  ledgerline deliveries ack run-42 7
  ledgerline deliveries reconcile
`,
    )
    .action((options: ListOptions) => list(context, options));
  const about = (name: string, summary: string, description: string, act: Act): void => {
    const one = new Command(name).summary(summary).description(description);
    one
      .addArgument(sessionArgument())
      .addArgument(new Argument('<number>', 'its number in the session').argParser(number));
    command.addCommand(one.action((session: string, which: number) => act(context, session, which)));
  };
  about(
    'redrive',
    'publish one again',
    'Publishes a delivery again, dead or not. Consumers that have applied it know it again; those that passed it apply it now, ' +
      'behind what came after it.',
    redriveOne,
  );
  about(
    'skip',
    'give one up',
    'Gives up a delivery that waits: consumers are told to pass its number, and what waits behind it goes on.',
    skipOne,
  );
  about(
    'ack',
    'take a dead one off the list',
    'Takes a dead delivery off the list. It can be published again for as long as it is kept: a week.',
    acknowledgeOne,
  );
  command.addCommand(
    new Command('reconcile')
      .summary('find what the broker lost')
      .description(
        'Compares what was published with what the stream holds, and publishes again what is missing. Needs NATS_URL, too.',
      )
      .action(() => reconcileAll(context)),
  );
  return command;
}

type Act = (context: Context, session: string, number: number) => Promise<void>;

async function withDatabase<T>(context: Context, work: (pool: Pool) => Promise<T>): Promise<T> {
  const { databaseUrl: url, databasePrepare: prepare } = readDatabaseConfig(context.env);
  const log = createLog('warn');
  const pool = createPool({
    url,
    prepare,
    connections: 1,
    name: 'ledgerline deliveries',
    deadlineMs: limits.queryDeadlineMs,
    log,
  });
  try {
    return await work(pool);
  } finally {
    await pool.close(limits.connectDeadlineMs);
  }
}

async function list(context: Context, { all, json }: ListOptions): Promise<void> {
  const { output } = context;
  const deliveries = await withDatabase(context, (pool) =>
    pool.run('listing deliveries', (sql) => listDeliveries(sql, all === true)),
  );
  if (deliveries.length === 0) {
    output.note('every delivery is out');
    return;
  }
  await output.print(
    json === true ? deliveries.map((delivery) => `${JSON.stringify(delivery)}\n`).join('') : tableOf(deliveries),
  );
  if (deliveries.length === deliveryLimits.deliveriesPerList) {
    output.note(`these are the first ${deliveries.length}; there may be more`);
  }
}

const tableOf = (deliveries: readonly DeliverySummary[]): string =>
  table(
    ['SESSION', 'NUMBER', 'TOPIC', 'STATE', 'SINCE', 'TRIES', 'ERROR'],
    deliveries.map(({ session, outboxSequence, topic, state, since, attempts, error }) => [
      session,
      String(outboxSequence),
      topic,
      state,
      since,
      String(attempts),
      error ?? '',
    ]),
  );

const redriveOne: Act = async (context, session, which) => {
  const found = await withDatabase(context, (pool) =>
    pool.run('redriving a delivery', (sql) => redrive(sql, session, which)),
  );
  if (found === undefined) throw unknown(session, which, 'or it was published more than a week ago');
  context.output.note(`${session}: delivery ${which} (${found.topic}) will be published again`);
};

const skipOne: Act = async (context, session, which) => {
  const found = await withDatabase(context, (pool) =>
    pool.run('skipping a delivery', (sql) => skip(sql, session, which)),
  );
  if (found === undefined) throw unknown(session, which, 'or it does not wait any more');
  context.output.note(`${session}: delivery ${which} (${found.topic}) is given up`);
};

const acknowledgeOne: Act = async (context, session, which) => {
  const found = await withDatabase(context, (pool) =>
    pool.run('acknowledging a delivery', (sql) => acknowledge(sql, session, which)),
  );
  if (found === undefined) throw unknown(session, which, 'or it is not dead: skip it first');
  context.output.note(`${session}: delivery ${which} (${found.topic}) is acknowledged`);
};

const unknown = (session: string, which: number, or: string): LedgerlineError =>
  new LedgerlineError('not_found', `${session} has no delivery ${which}, ${or}`);

async function reconcileAll(context: Context): Promise<void> {
  const { natsUrl: url, natsSubjectRoot: subjectRoot } = readRelayConfig(context.env);
  const channel = jetStreamChannel({ url, subjectRoot, log: createLog('warn') });
  try {
    const { compared, lost } = await withDatabase(context, (pool) =>
      reconcile({ pool, channel, signal: context.stop }),
    );
    const verdict = lost === 0 ? 'the stream holds them all' : `${lost} are missing and will be published again`;
    context.output.note(`compared ${compared} deliveries: ${verdict}`);
  } finally {
    await channel.stop();
  }
}

function number(text: string): number {
  const value = Number(text);
  if (/^[1-9][0-9]{0,15}$/.test(text) && Number.isSafeInteger(value)) return value;
  throw new InvalidArgumentError('It is the number of a delivery, from 1.');
}
