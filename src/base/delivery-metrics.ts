/** What an operator can count of deliveries, in the processes that publish or apply them. */
import { Counter, Gauge } from 'prom-client';
import type { Registry } from 'prom-client';

export function createRelayMetrics(registry: Registry) {
  const registers = [registry];
  return {
    unpublished: new Gauge({
      name: 'ledgerline_deliveries_unpublished',
      help: 'Deliveries that wait to be published, of all relays',
      registers,
    }),
    oldestSeconds: new Gauge({
      name: 'ledgerline_deliveries_oldest_unpublished_seconds',
      help: 'How long the oldest of them has waited',
      registers,
    }),
    dead: new Gauge({
      name: 'ledgerline_deliveries_dead',
      help: 'Deliveries that were given up, and a person should look at',
      registers,
    }),
    publishes: new Counter({
      name: 'ledgerline_delivery_publishes_total',
      help: 'What this relay asked of the broker, by how it went',
      labelNames: ['outcome'],
      registers,
    }),
    shards: new Gauge({ name: 'ledgerline_relay_shards', help: 'Shards that this relay publishes', registers }),
  };
}

export type RelayMetrics = ReturnType<typeof createRelayMetrics>;

export function createInboxMetrics(registry: Registry) {
  const registers = [registry];
  return {
    received: new Counter({
      name: 'ledgerline_inbox_deliveries_total',
      help: 'Deliveries that this consumer was given, by what it did with them',
      labelNames: ['consumer', 'outcome'],
      registers,
    }),
    lag: new Gauge({
      name: 'ledgerline_inbox_pending',
      help: 'Deliveries that this consumer has before it',
      labelNames: ['consumer'],
      registers,
    }),
  };
}

export type InboxMetrics = ReturnType<typeof createInboxMetrics>;
