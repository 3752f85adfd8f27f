/** `ledgerline relay`: publishes what turns deliver, to JetStream. */
import { Command } from 'commander';
import { createRelayMetrics } from '../base/delivery-metrics.ts';
import { deliveryLimits } from '../base/delivery-limits.ts';
import { limits } from '../base/limits.ts';
import { createLog } from '../base/log.ts';
import { createMetrics, watchProcess } from '../base/metrics.ts';
import { startAll, stopAll } from '../base/service.ts';
import type { Service } from '../base/service.ts';
import { readRelayConfig } from '../config.ts';
import { createPool } from '../db/pool.ts';
import type { Pool } from '../db/pool.ts';
import type { DeliveryChannel } from '../outbox/delivery.ts';
import { jetStreamChannel } from '../outbox/jetstream-channel.ts';
import { createRelay } from '../outbox/relay.ts';
import { createListener } from '../http/listener.ts';
import { createWorkerApp } from '../http/worker-app.ts';
import { requireSchema } from '../schema.ts';
import type { Context } from './context.ts';
import { explainPort, parsePort } from './port.ts';
import { processBus } from './process-bus.ts';
import { stopped } from './stopped.ts';

/** Collectors are on other hosts, and no label names a session. */
const LISTEN_HOST = '0.0.0.0';

export function relayCommand(context: Context): Command {
  return new Command('relay')
    .summary('publish deliveries')
    .description(
      'Publishes what turns deliver to JetStream, in the order of each session, until SIGTERM. Needs DATABASE_URL and NATS_URL. ' +
        'One is enough; more of them share the sessions, or stand by for one that dies. It makes the stream that it needs, with ' +
        'LEDGERLINE_STREAM_REPLICAS copies (1, 3 or 5), unless there is one.',
    )
    .option(
      '-p, --port <port>',
      'serve /healthz, /readyz and /metrics there, 0 picks a free one (default: none)',
      parsePort,
    )
    .addHelpText(
      'after',
      '\nExample:\n  DATABASE_URL=postgres://user:password@host/database NATS_URL=nats://host:4222 ledgerline relay\n',
    )
    .action((options: { port?: number }) => relay(context, options.port));
}

async function relay(context: Context, listenPort: number | undefined): Promise<void> {
  const config = readRelayConfig(context.env);
  const log = createLog(config.logLevel);
  await requireSchema(config, log);
  const { clock } = context;
  const metrics = createMetrics();
  const bus = processBus(config, log, clock);
  const pool = createPool({
    url: config.databaseUrl,
    prepare: config.databasePrepare,
    connections: deliveryLimits.relayConnections,
    name: 'ledgerline relay',
    deadlineMs: limits.queryDeadlineMs,
    log,
  });
  const channel = jetStreamChannel({
    url: config.natsUrl,
    subjectRoot: config.natsSubjectRoot,
    replicas: config.streamReplicas,
    log,
    clock,
  });
  const itself = createRelay({
    pool,
    channel,
    clock,
    log,
    metrics: createRelayMetrics(metrics.registry),
    onHint: (listener) => bus.onWake((wake) => void (wake.kind === 'delivery' && listener())),
  });
  const isDraining = (): boolean => context.stop.aborted;
  const listeners: Service[] =
    listenPort === undefined
      ? []
      : [
          createListener({
            name: 'relay listener',
            app: createWorkerApp({ log, metrics, clock, isDraining, ready: () => itself.ready() }),
            host: LISTEN_HOST,
            port: listenPort,
            isHttp2: false,
            log,
          }),
        ];
  const services = [...listeners, bus, ...standing(pool, channel), itself];
  if (listeners.length > 0) watchProcess(metrics);
  await startAll(services, log).catch((thrown: unknown) => {
    throw explainPort(thrown, { [listenPort ?? 0]: '--port' });
  });
  await stopped(context.stop);
  log.info('draining');
  await stopAll(services, log);
  log.info('stopped');
}

/** What the relay stands on, as services: gone after it, and in this order. */
function standing(pool: Pool, channel: DeliveryChannel): Service[] {
  return [
    { name: 'database', start: () => Promise.resolve(), stop: () => pool.close(limits.connectDeadlineMs) },
    { name: 'delivery channel', start: () => channel.start(), stop: () => channel.stop() },
  ];
}
