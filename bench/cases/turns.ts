/**
 * How soon an agent begins to answer, and how many turns stream side by side.
 *
 * Method, first words. A server's half and a worker's half, each with connections and a bus of its own, in this process, on
 * one Postgres with fsync on. The system is idle; one message at a time is stored as the HTTP route stores it, to a
 * session that was never spoken to, and the agent appends a delta as soon as it runs. Timed is from the moment that the
 * message's answer was there (it is ready then) to the delta's broadcast, with NATS between the two halves, and with
 * nothing between them, so that only the worker's own looking finds the turn. Without a debounce, and with the
 * usual one, which is part of the wait.
 *
 * Method, side by side. So many turns run at once; each appends a batch of three deltas of 60 bytes under its fence, 30 times
 * a second, on a schedule that does not wait for the answers. Three rounds each, of which the median counts. More turns are
 * added until the 99th percentile of an append passes 100 ms or the schedule cannot be kept; Postgres runs on the same cores.
 *
 * Postgres as in `bench/services/database`, NATS as in `bench/services/broker`.
 */
import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { systemClock } from '../../src/base/clock.ts';
import { limits } from '../../src/base/limits.ts';
import { silentLog } from '../../src/base/log.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import type { Bus } from '../../src/bus/bus.ts';
import { localBus } from '../../src/bus/local-bus.ts';
import { natsBus } from '../../src/bus/nats-bus.ts';
import { createLedger } from '../../src/ledger/postgres-ledger.ts';
import { createSessions } from '../../src/session/sessions.ts';
import { createTurns } from '../../src/turn/postgres-turns.ts';
import { sessionWork } from '../../src/turn/session-work.ts';
import type { ClaimedTurn } from '../../src/turn/turns.ts';
import { defineAgent } from '../../src/worker/define-agent.ts';
import { createWorker } from '../../src/worker/worker.ts';
import { openBroker } from '../services/broker.ts';
import { openDatabase } from '../services/database.ts';
import { median, progress, progressOfRound, quantile, rounded, spread } from '../report.ts';
import type { Report } from '../report.ts';

const common = (url: string) => ({ url, log: silentLog, metrics: createMetrics(), clock: systemClock });

/** One process's half: the parts, and how they end. */
function half(url: string, bus: Bus, debounceMs: number) {
  const parts = common(url);
  const ledger = createLedger({ ...parts, work: sessionWork });
  const sessions = createSessions({ ...parts, ledger, bus });
  const turns = createTurns({ ...parts, bus, bounds: { debounceMs, debounceCapMs: Math.max(debounceMs, 1) } });
  const services = [bus, ledger, turns.service];
  return {
    bus,
    ledger,
    sessions,
    turns,
    async start() {
      for (const service of services) await service.start();
    },
    async stop() {
      for (const service of services.toReversed()) await service.stop();
    },
  };
}

async function firstWords(url: string, buses: [Bus, Bus], debounceMs: number, count: number): Promise<number[]> {
  const [server, agents] = [half(url, buses[0], debounceMs), half(url, buses[1], debounceMs)];
  const agent = defineAgent({
    name: 'bench',
    run: async (turn) => {
      await turn.append('text.delta', { message: turn.turn, text: 'Hello' });
      await turn.flush();
    },
  });
  const worker = createWorker({ agent, ...agents, log: silentLog, clock: systemClock });
  await server.start();
  await agents.start();
  await worker.start();
  const times: number[] = [];
  try {
    for (let index = -3; index < count; index++) {
      const session = `bench-${randomUUID()}`;
      await server.ledger.create(session, {});
      let heard: (() => void) | undefined;
      const first = new Promise<number>((resolve) => (heard = () => resolve(performance.now())));
      // The second event of the attempt is the delta; the first announces it.
      const subscription = agents.bus.subscribe(session, (broadcast) => {
        if (broadcast.kind === 'events' && broadcast.last > 2) heard?.();
      });
      await subscription.ready;
      // Not in step with the worker's own looking.
      await new Promise((resolve) => setTimeout(resolve, Math.random() * limits.claimPollMs));
      await server.turns.request({ session, key: 'k', content: 'hello', onBusy: 'enqueue', by: 'bench' });
      const ready = performance.now();
      const ms = (await first) - ready;
      subscription.unsubscribe();
      if (index >= 0) times.push(ms);
    }
  } finally {
    await worker.stop();
    await agents.stop();
    await server.stop();
  }
  return times;
}

const payload = JSON.stringify({ message: 'm-1', text: ' of the order that you placed on' });
const event = { type: 'text.delta', data: payload, bytes: Buffer.byteLength(payload) };
const batch = [event, event, event];
const FLUSH_MS = 1_000 / 30;

interface Level {
  readonly turns: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly keepsPace: boolean;
}

async function sideBySide(url: string, turnsWanted: number, roundMs: number): Promise<Level> {
  const one = half(url, localBus(common(url)), 0);
  await one.start();
  try {
    const sessions = Array.from({ length: turnsWanted }, () => `bench-${randomUUID()}`);
    await Promise.all(sessions.map((session) => one.ledger.create(session, {})));
    await Promise.all(
      sessions.map((session) =>
        one.turns.request({ session, key: 'k', content: 'hello', onBusy: 'enqueue', by: 'bench' }),
      ),
    );
    const claimed: ClaimedTurn[] = [];
    while (claimed.length < turnsWanted) {
      claimed.push(
        ...(await one.turns.claim({
          worker: 'bench',
          limit: limits.claimTurns,
          waitMs: 1_000,
          policy: 'retry',
          maxAttempts: 3,
          turnMs: limits.turnDeadlineMs,
        })),
      );
    }
    const times: number[] = [];
    let due = 0;
    const end = performance.now() + roundMs;
    await Promise.all(
      claimed.map(async (turn, index) => {
        const inFlight = new Set<Promise<unknown>>();
        let at = performance.now() + (FLUSH_MS * index) / claimed.length;
        while (at < end) {
          await new Promise((resolve) => setTimeout(resolve, Math.max(0, at - performance.now())));
          const sent = at; // what comes late is late from when it should have been sent
          due += 1;
          const append = one.sessions
            .append({ session: turn.session, events: batch, fence: turn })
            .then(() => times.push(performance.now() - sent))
            .finally(() => inFlight.delete(append));
          inFlight.add(append);
          at += FLUSH_MS;
        }
        await Promise.all(inFlight);
      }),
    );
    await Promise.all(claimed.map((turn) => one.turns.finish(turn, 'completed', [])));
    return {
      turns: turnsWanted,
      perSecond: (times.length / roundMs) * 1_000,
      p50: median(times),
      p99: quantile(times, 0.99),
      keepsPace: due >= turnsWanted * 30 * (roundMs / 1_000) * 0.9,
    };
  } finally {
    await one.stop();
  }
}

export async function run({ quick }: { quick: boolean }): Promise<Report> {
  const rows: Record<string, string | number>[] = [];
  const database = await openDatabase();
  const nats = await openBroker();
  try {
    const local = (): Bus => localBus(common(database.url));
    const root = `bench-${randomUUID()}`;
    const shared = (): Bus => natsBus({ ...common(database.url), url: nats.url, subjectRoot: root });
    for (const debounceMs of [0, limits.debounceMs]) {
      const sides: [string, () => [Bus, Bus]][] = [
        ['with NATS', () => [shared(), shared()]],
        ['without a wake-up', () => [local(), local()]],
      ];
      for (const [side, buses] of sides) {
        progress(`first words ${side}, debounce ${debounceMs} ms`);
        const times = await firstWords(database.url, buses(), debounceMs, quick ? 10 : 40);
        rows.push({
          what: `ready to first delta, ${side}, debounce ${debounceMs} ms`,
          'p50 ms': rounded(median(times)),
          'least and most ms': spread(times),
        });
      }
    }
    let last = 0;
    for (let turns = 25; ; turns = Math.ceil(turns * 1.5)) {
      const levels: Level[] = [];
      for (let round = 0; round < 3; round++) {
        progressOfRound(round, 3, `${turns} turns side by side`);
        levels.push(await sideBySide(database.url, turns, quick ? 2_000 : 6_000));
      }
      const p99 = median(levels.map((level) => level.p99));
      rows.push({
        what: `${turns} turns, 30 flushes a second each`,
        'flushes/s': Math.round(median(levels.map((level) => level.perSecond))),
        'p50 ms': rounded(median(levels.map((level) => level.p50))),
        'p99 ms': rounded(p99),
        'least and most ms': spread(levels.map((level) => level.p99)),
      });
      if (p99 > 100 || levels.filter((level) => level.keepsPace).length < 2) break;
      last = turns;
    }
    rows.push({ what: `turns side by side before the p99 of an append passes 100 ms`, turns: last });
    return {
      name: 'Turns: first words, and streams side by side',
      method:
        'An idle system, one message at a time, from its answer to the broadcast of the first delta of an agent that answers at once; the worker has connections and a bus of its own. Then turns that each flush three deltas 30 times a second on a fixed schedule, one process beside its Postgres.',
      rows,
    };
  } finally {
    await nats.close();
    await database.close();
  }
}
