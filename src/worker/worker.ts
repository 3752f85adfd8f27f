/** Claims turns for an agent, runs so many of them at once, and gives back what is not done when it is asked to end. */
import { assert } from '../base/assert.ts';
import { backoffMs } from '../base/backoff.ts';
import { sleep, systemClock } from '../base/clock.ts';
import type { Clock } from '../base/clock.ts';
import { toError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import { detach } from '../base/service.ts';
import type { Service } from '../base/service.ts';
import type { Bus, Subscription } from '../bus/bus.ts';
import type { Sessions } from '../session/sessions.ts';
import type { Turns } from '../turn/turns.ts';
import { workerName } from './define-agent.ts';
import type { Agent } from './define-agent.ts';
import { createRenewal } from './renewal.ts';
import { runTurn } from './running-turn.ts';
import type { RunningTurn, RunningTurnOptions } from './running-turn.ts';
import { createWatchdog, noWatchdog } from './watchdog.ts';

export interface WorkerOptions {
  readonly agent: Agent;
  readonly turns: Pick<Turns, 'claim' | 'renew'> & RunningTurnOptions['turns'];
  readonly sessions: Pick<Sessions, 'append' | 'history'>;
  readonly bus: Pick<Bus, 'onWake'>;
  readonly log: Log;
  /** The agent's and the host's, if left out. */
  readonly name?: string;
  /** How long running turns may go on after `stop`. 10 s if left out. */
  readonly drainMs?: number;
  /** Ends the whole process when its loop is blocked beyond a lease; not for one that does anything else. */
  readonly hasWatchdog?: boolean;
  readonly clock?: Clock;
  readonly sleep?: typeof sleep;
  /** In the place of what follows from the lease, for a test. */
  readonly renewMs?: number;
  readonly selfStopMs?: number;
}

const claimPause = { firstMs: 200, capMs: 5_000 } as const;

/** A database that is away must not keep the process: what is not given back is taken over when its lease is over. */
const GIVE_BACK_MS = 5_000;

export function createWorker(options: WorkerOptions): Service {
  const { agent, turns, sessions, bus, log, clock = systemClock, drainMs = limits.drainMs } = options;
  const pause = options.sleep ?? sleep;
  const worker = options.name ?? workerName(agent);
  const stopping = new AbortController();
  const running = new Set<RunningTurn>();
  const watchdog = options.hasWatchdog === true ? createWatchdog(log) : noWatchdog;
  const renewal = createRenewal({ turns, clock, log, watchdog, renewMs: options.renewMs });
  let claiming: Promise<void> = Promise.resolve();
  let hints: Subscription | undefined;
  let freed: (() => void) | undefined;

  function begin(claimed: Parameters<typeof runTurn>[0]): void {
    const turn = runTurn(claimed, {
      agent,
      turns,
      sessions,
      clock,
      sleep: pause,
      log,
      selfStopMs: options.selfStopMs,
    });
    running.add(turn);
    renewal.add(turn);
    // An attempt that is over keeps its place while its agent is at work: never more run than may [solid_queue#761].
    const left = turn.done.finally(() => {
      running.delete(turn);
      renewal.remove(turn);
      freed?.();
    });
    detach(left, log, 'an attempt ended with a defect');
  }

  async function claimSome(free: number): Promise<void> {
    const { policy, maxAttempts, turnMs } = agent;
    const limit = Math.min(free, limits.claimTurns);
    const request = { worker, limit, waitMs: limits.claimWaitMs, policy, maxAttempts, turnMs };
    const claimed = await turns.claim(request, stopping.signal);
    assert(claimed.length <= limit, 'a claim brings no more than was asked for [odd-jobs#115]');
    for (const turn of claimed) begin(turn);
  }

  async function claimOnAndOn(): Promise<void> {
    let failures = 0;
    while (!stopping.signal.aborted) {
      const free = agent.concurrency - running.size;
      if (free === 0) {
        await new Promise<void>((resolve) => (freed = resolve));
        continue;
      }
      try {
        await claimSome(free);
        failures = 0;
      } catch (thrown) {
        log.warn({ err: toError(thrown) }, 'no turn could be claimed');
        await pause(backoffMs(claimPause, failures, clock.random()), stopping.signal);
        failures += 1;
      }
    }
  }

  async function drain(): Promise<void> {
    stopping.abort();
    freed?.();
    // What a claim brings that was under way is drained like the rest.
    await claiming;
    const ended = new AbortController();
    const all = Promise.all([...running].map(({ done }) => done)).finally(() => ended.abort());
    if (running.size > 0) log.info({ running: running.size }, 'draining');
    await pause(drainMs, ended.signal);
    const given = new AbortController();
    const back = Promise.all([...running].map((turn) => turn.cutShort('draining'))).finally(() => given.abort());
    await Promise.race([back, pause(GIVE_BACK_MS, given.signal)]);
    for (const turn of running) turn.lose('draining');
    await back;
    detach(all, log, 'an attempt ended with a defect');
    hints?.unsubscribe();
    renewal.stop();
    await watchdog.stop();
  }

  let stopped: Promise<void> | undefined;
  return {
    name: 'worker',
    start() {
      hints = bus.onWake((wake) => {
        if (wake.kind !== 'stop') return;
        const isOurs = [...running].some(
          ({ attempt }) => attempt.session === wake.session && attempt.turn === wake.turn,
        );
        if (isOurs) renewal.renewNow();
      });
      claiming = claimOnAndOn();
      log.info({ worker, agent: agent.name, concurrency: agent.concurrency }, 'working');
      return Promise.resolve();
    },
    stop: () => (stopped ??= drain()),
  };
}
