/** An agent with all that it stands on, beside the database: a ledger, sessions and turns of its own, and the worker. */
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { createMetrics } from '../base/metrics.ts';
import type { Metrics } from '../base/metrics.ts';
import { startAll, stopAll } from '../base/service.ts';
import type { Service } from '../base/service.ts';
import type { Bus } from '../bus/bus.ts';
import type { WorkerConfig } from '../config.ts';
import { createLedger } from '../ledger/postgres-ledger.ts';
import { createSessions } from '../session/sessions.ts';
import { createTurns } from '../turn/postgres-turns.ts';
import { sessionWork } from '../turn/session-work.ts';
import type { Agent } from '../worker/define-agent.ts';
import { createWorker } from '../worker/worker.ts';

export interface AgentHostOptions {
  readonly agent: Agent;
  readonly config: Pick<WorkerConfig, 'databaseUrl' | 'databasePrepare' | 'leaseMs' | 'drainMs'>;
  /** Started and stopped by whoever made it. */
  readonly bus: Bus;
  readonly log: Log;
  readonly clock: Clock;
  /** For people who ask which worker runs a turn. */
  readonly name?: string | undefined;
  readonly hasWatchdog?: boolean;
  /** The process's, if it shows them. */
  readonly metrics?: Metrics;
}

export interface AgentHost extends Service {
  /** A round trip to the ledger; rejects when there is none. */
  ready(): Promise<void>;
}

export function createAgentHost({
  agent,
  config,
  bus,
  log,
  clock,
  name,
  hasWatchdog = false,
  metrics = createMetrics(),
}: AgentHostOptions): AgentHost {
  const bounds = { leaseMs: config.leaseMs };
  const common = { url: config.databaseUrl, prepare: config.databasePrepare, log, metrics, clock };
  const ledger = createLedger({ ...common, bounds, work: sessionWork });
  const sessions = createSessions({ ledger, bus, metrics, log, clock });
  const turns = createTurns({ ...common, bus, bounds });
  const worker = createWorker({
    agent,
    turns,
    sessions,
    bus,
    log,
    clock,
    drainMs: config.drainMs,
    hasWatchdog,
    ...(name === undefined ? {} : { name }),
  });
  const services = [ledger, turns.service, worker];
  return {
    name: 'agent',
    start: () => startAll(services, log),
    stop: () => stopAll(services, log),
    ready: () => ledger.ready(),
  };
}
