/** `ledgerline worker`: runs an agent beside the database. */
import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { createLog } from '../base/log.ts';
import { limits } from '../base/limits.ts';
import { createMetrics, watchProcess } from '../base/metrics.ts';
import { startAll, stopAll } from '../base/service.ts';
import type { Service } from '../base/service.ts';
import { readWorkerConfig } from '../config.ts';
import type { Environment } from '../config.ts';
import { createListener } from '../http/listener.ts';
import { createWorkerApp } from '../http/worker-app.ts';
import { requireSchema } from '../schema.ts';
import { loadAgent } from './agent-file.ts';
import { createAgentHost } from './agent-host.ts';
import type { Context } from './context.ts';
import { DATA_FOLDER, readDevServer } from './dev-file.ts';
import { explainPort, parsePort } from './port.ts';
import { processBus } from './process-bus.ts';
import { stopped } from './stopped.ts';

/** Collectors are on other hosts, and no label names a session. */
const LISTEN_HOST = '0.0.0.0';

interface WorkerCommandOptions {
  readonly concurrency?: number;
  readonly name?: string;
  readonly port?: number;
}

export function workerCommand(context: Context): Command {
  return new Command('worker')
    .summary('run an agent that answers messages')
    .description(
      'Imports the agent that FILE exports by default (defineAgent of ledgerline/worker) and runs its turns until SIGTERM. ' +
        'Needs DATABASE_URL, and NATS_URL if the gateways have it; without the first it works for the development server ' +
        'of this folder (`ledgerline dev --no-agent`). Turns that do not end within LEDGERLINE_DRAIN_MS are given back for ' +
        'another worker. If the process hangs for longer than a lease, it ends itself.',
    )
    .argument('<file>', 'a JavaScript module')
    .option('-c, --concurrency <n>', "turns at the same time (default: the agent's own)", concurrency)
    .option(
      '--name <name>',
      "for people who ask who runs a turn (default: the agent's name and the host's)",
      workerName,
    )
    .option(
      '-p, --port <port>',
      'serve /healthz, /readyz and /metrics there, 0 picks a free one (default: none)',
      parsePort,
    )
    .addHelpText('after', '\nExample:\n  DATABASE_URL=postgres://… NATS_URL=nats://… ledgerline worker agent.js\n')
    .action((file: string, options: WorkerCommandOptions) => work(context, file, options));
}

async function work(context: Context, file: string, options: WorkerCommandOptions): Promise<void> {
  const config = readWorkerConfig(await withDevDatabase(context));
  const found = await loadAgent(file, context.folder);
  const agent = options.concurrency === undefined ? found : { ...found, concurrency: options.concurrency };
  const log = createLog(config.logLevel);
  await requireSchema(config, log);
  const { clock } = context;
  if (config.natsUrl === undefined) {
    log.warn(
      'NATS_URL is not set: readers see what the agent writes, and it sees what it is asked, up to seconds late',
    );
  }
  const bus = processBus(config, log, clock);
  const metrics = createMetrics();
  const host = createAgentHost({ agent, config, bus, log, clock, name: options.name, hasWatchdog: true, metrics });
  const isDraining = (): boolean => context.stop.aborted;
  const listeners: Service[] =
    options.port === undefined
      ? []
      : [
          createListener({
            name: 'worker listener',
            app: createWorkerApp({ log, metrics, clock, isDraining, ready: () => host.ready() }),
            host: LISTEN_HOST,
            port: options.port,
            isHttp2: false,
            log,
          }),
        ];
  // The listener lets go last: while turns are given back it says that the worker drains.
  const services = [...listeners, bus, host];
  if (listeners.length > 0) watchProcess(metrics);
  await startAll(services, log).catch((thrown: unknown) => {
    throw explainPort(thrown, { [options.port ?? 0]: '--port' });
  });
  await stopped(context.stop);
  log.info('draining');
  await stopAll(services, log);
  log.info('stopped');
}

/** With no database named it is the one of the folder's development server, if one runs. */
async function withDevDatabase({ env, folder }: Context): Promise<Environment> {
  if ((env['DATABASE_URL'] ?? '') !== '') return env;
  const dev = await readDevServer(join(folder, DATA_FOLDER));
  return dev?.database === undefined ? env : { ...env, DATABASE_URL: dev.database };
}

function concurrency(text: string): number {
  const number = Number(text);
  if (/^[0-9]{1,4}$/.test(text) && number >= 1 && number <= limits.renewAttempts) return number;
  throw new InvalidArgumentError(`It is a whole number from 1 to ${limits.renewAttempts}.`);
}

function workerName(text: string): string {
  if (/^[\x21-\x7e]{1,128}$/.test(text)) return text;
  throw new InvalidArgumentError('It is 1 to 128 visible characters without spaces.');
}
