/** The process that dies: agent, relay, channel and consumer in one, with a point to die at and without what is to be missed. */
import type { Clock } from '../base/clock.ts';
import { crashLimits } from '../base/crash-limits.ts';
import { createRelayMetrics } from '../base/delivery-metrics.ts';
import { deliveryLimits } from '../base/delivery-limits.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import { createMetrics } from '../base/metrics.ts';
import { startAll, stopAll } from '../base/service.ts';
import type { Service } from '../base/service.ts';
import { localBus } from '../bus/local-bus.ts';
import { createPool } from '../db/pool.ts';
import { connect, disconnect } from '../db/postgres.ts';
import { createEntries } from '../example/entries.ts';
import { issueRefund, refundTools } from '../example/refund-tools.ts';
import { supportAgent } from '../example/support-agent.ts';
import { supportModel } from '../example/support-model.ts';
import type { AskModel } from '../example/support-model.ts';
import type { CrashPlan, Safeguard } from '../lab/crash-lab.ts';
import { createLedger } from '../ledger/postgres-ledger.ts';
import { localChannel } from '../outbox/local-channel.ts';
import { createRelay } from '../outbox/relay.ts';
import { createSessions } from '../session/sessions.ts';
import { createTurns } from '../turn/postgres-turns.ts';
import { sessionWork } from '../turn/session-work.ts';
import { createWorker } from '../worker/worker.ts';
import type { WorkerSteps } from '../worker/turn-steps.ts';
import { channelWithFacts, channelWithPoints } from './delivery-points.ts';
import type { Tell } from './fact.ts';
import { dyingAt, modelWithPoints, refundWithPoints, stepsWithPoints, turnsWithEnd } from './points.ts';
import { entriesWithoutInbox } from './without-inbox.ts';
import { stepsWithoutKey } from './without-step-key.ts';
import { stepsWithoutTransaction } from './without-transaction.ts';

export interface VictimOptions {
  readonly plan: CrashPlan;
  readonly databaseUrl: string;
  readonly databasePrepare: boolean;
  readonly log: Log;
  readonly clock: Clock;
  readonly tell: Tell;
}

export function createVictim({ plan, databaseUrl: url, databasePrepare: prepare, ...options }: VictimOptions): Service {
  const { log, clock, tell } = options;
  const isOff = (safeguard: Safeguard): boolean => plan.without.includes(safeguard);
  const passing = dyingAt(plan.point, tell);
  const metrics = createMetrics();
  const { leaseMs, recoverMs, relayRenewMs: renewMs, relayPollMs: pollMs } = crashLimits;
  const bounds = { leaseMs };
  const common = { url, prepare, log, metrics, clock };

  const bus = localBus({ log, metrics });
  const ledger = createLedger({ ...common, bounds, work: sessionWork });
  const sessions = createSessions({ ledger, bus, metrics, log, clock });
  const turns = createTurns({ ...common, bus, bounds: { leaseMs, recoverMs } });
  const { turns: ending, finished } = turnsWithEnd(turns);
  const apart = connect({ url, prepare, connections: 1, name: 'ledgerline crash lab', log });
  const pool = createPool({
    url,
    prepare,
    connections: deliveryLimits.relayConnections,
    name: 'ledgerline relay',
    deadlineMs: limits.queryDeadlineMs,
    log,
  });

  const ask: AskModel = (asked) => {
    tell({ fact: 'model_asked' });
    return Promise.resolve(supportModel(asked));
  };
  const agent = supportAgent({
    ask: modelWithPoints(ask, passing),
    tools: { ...refundTools, issue_refund: refundWithPoints(issueRefund, passing) },
  });
  const worker = createWorker({
    agent,
    turns: { ...ending, steps: stepsOf() },
    sessions,
    bus,
    log,
    clock,
    drainMs: 0,
  });

  const faithful = channelWithFacts(localChannel({ clock, log }), tell);
  const channel = channelWithPoints(faithful, plan.point, passing, finished);
  const relay = createRelay({
    pool,
    channel,
    clock,
    log,
    metrics: createRelayMetrics(metrics.registry),
    onHint: (listener) => bus.onWake((wake) => void (wake.kind === 'delivery' && listener())),
    bounds: { leaseMs, renewMs, pollMs },
  });
  const consumer = isOff('inbox')
    ? entriesWithoutInbox({ pool, channel, log })
    : createEntries({ databaseUrl: url, from: channel, log, clock });

  /** The point lies between the two commits, where there are two. */
  function stepsOf(): WorkerSteps {
    const found = isOff('step_key') ? stepsWithoutKey(turns.steps) : turns.steps;
    const steps = stepsWithPoints(found, passing);
    return isOff('transaction') ? stepsWithoutTransaction(steps, apart) : steps;
  }

  const database: Service = {
    name: 'database',
    start: () => Promise.resolve(),
    async stop() {
      await Promise.all([pool.close(limits.connectDeadlineMs), disconnect(apart, limits.connectDeadlineMs)]);
    },
  };
  const carrying: Service = { name: 'delivery channel', start: () => channel.start(), stop: () => channel.stop() };
  const services = [bus, database, ledger, turns.service, carrying, consumer, relay, worker];
  return {
    name: 'victim',
    start: () => startAll(services, log),
    stop: () => stopAll(services, log),
  };
}
