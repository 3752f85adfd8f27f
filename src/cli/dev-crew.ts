/** Who works behind the development server's gateway: the demo's agent, the relay of what turns deliver, and the consumer of refunds. */
import type { Clock } from '../base/clock.ts';
import { createRelayMetrics } from '../base/delivery-metrics.ts';
import { deliveryLimits } from '../base/delivery-limits.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import { createMetrics } from '../base/metrics.ts';
import { startAll, stopAll } from '../base/service.ts';
import type { Service } from '../base/service.ts';
import type { Bus } from '../bus/bus.ts';
import type { ServerConfig } from '../config.ts';
import { createPool } from '../db/pool.ts';
import { createEntries } from '../example/entries.ts';
import { migrateExample } from '../example/tables.ts';
import type { DeliveryChannel } from '../outbox/delivery.ts';
import { jetStreamChannel } from '../outbox/jetstream-channel.ts';
import { localChannel } from '../outbox/local-channel.ts';
import { createRelay } from '../outbox/relay.ts';
import type { Agent } from '../worker/define-agent.ts';
import { createAgentHost } from './agent-host.ts';

export interface DevCrewOptions {
  /** Absent if messages are left to a worker of the person's own; the consumer of refunds is absent with it. */
  readonly agent: Agent | undefined;
  readonly config: ServerConfig;
  /** It goes through the lab's faults like everybody's. */
  readonly bus: Bus;
  readonly log: Log;
  readonly clock: Clock;
}

/** What carries deliveries. Within the process there is a consumer for them only beside the demo's agent: without both they wait. */
export type Carrier = 'jetstream' | 'process' | 'nobody';

export const carrierOf = ({ natsUrl }: Pick<ServerConfig, 'natsUrl'>, hasAgent: boolean): Carrier => {
  if (natsUrl !== undefined) return 'jetstream';
  return hasAgent ? 'process' : 'nobody';
};

/** It lives on when the gateway restarts. What its turns have not finished goes on after the next start, so nobody waits for them. */
export function createDevCrew({ agent, config, bus, log, clock }: DevCrewOptions): Service {
  const { databaseUrl, databasePrepare: prepare } = config;
  const channel = channelOf(carrierOf(config, agent !== undefined), config, log, clock);
  const services: Service[] = [];
  if (channel !== undefined) {
    services.push({ name: 'delivery channel', start: () => channel.start(), stop: () => channel.stop() });
    if (agent !== undefined) {
      services.push(exampleTables(config, log), createEntries({ databaseUrl, from: channel, log, clock }));
    }
    services.push(relayWithPool(channel, { config, bus, log, clock }));
  }
  if (agent !== undefined) {
    const hosted = { databaseUrl, databasePrepare: prepare, leaseMs: config.leaseMs, drainMs: 0 };
    services.push(createAgentHost({ agent, config: hosted, bus, log, clock }));
  }
  return { name: 'crew', start: () => startAll(services, log), stop: () => stopAll(services, log) };
}

function channelOf(carrier: Carrier, config: ServerConfig, log: Log, clock: Clock): DeliveryChannel | undefined {
  const { natsUrl: url, natsSubjectRoot: subjectRoot } = config;
  if (carrier === 'nobody') return undefined;
  return url === undefined ? localChannel({ clock, log }) : jetStreamChannel({ url, subjectRoot, log, clock });
}

function relayWithPool(channel: DeliveryChannel, { config, bus, log, clock }: Omit<DevCrewOptions, 'agent'>): Service {
  const pool = createPool({
    url: config.databaseUrl,
    prepare: config.databasePrepare,
    connections: deliveryLimits.relayConnections,
    name: 'ledgerline relay',
    deadlineMs: limits.queryDeadlineMs,
    log,
  });
  const relay = createRelay({
    pool,
    channel,
    clock,
    log,
    metrics: createRelayMetrics(createMetrics().registry),
    onHint: (listener) => bus.onWake((wake) => void (wake.kind === 'delivery' && listener())),
  });
  return {
    name: 'relay',
    start: () => relay.start(),
    async stop() {
      await relay.stop();
      await pool.close(limits.connectDeadlineMs);
    },
  };
}

/** Where the demo's agent refunds, and its consumer posts. */
const exampleTables = ({ databaseUrl, databasePrepare: prepare }: ServerConfig, log: Log): Service => ({
  name: 'example',
  start: () => migrateExample(databaseUrl, log, { prepare }).then(() => undefined),
  stop: () => Promise.resolve(),
});
