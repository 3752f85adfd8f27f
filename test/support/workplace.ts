/** A database with turns, and workers beside it: what a test of the work half needs, with nothing of HTTP. */
import { randomUUID } from 'node:crypto';
import { onTestFinished } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import type { Service } from '../../src/base/service.ts';
import { localBus } from '../../src/bus/local-bus.ts';
import type { TurnNow } from '../../src/event/turn-state.ts';
import { START, after } from '../../src/event/sequence.ts';
import { createLedger } from '../../src/ledger/postgres-ledger.ts';
import { createSessions } from '../../src/session/sessions.ts';
import { createTurns } from '../../src/turn/postgres-turns.ts';
import { sessionWork } from '../../src/turn/session-work.ts';
import type { TurnBounds } from '../../src/turn/postgres-turns.ts';
import type { OnBusy, Turns } from '../../src/turn/turns.ts';
import { defineAgent } from '../../src/worker/define-agent.ts';
import type { AgentDefinition } from '../../src/worker/define-agent.ts';
import type { HistoryEvent } from '../../src/worker/agent-turn.ts';
import { createWorker } from '../../src/worker/worker.ts';
import type { WorkerOptions } from '../../src/worker/worker.ts';
import { freshDatabase } from './services.ts';

export interface Workplace {
  readonly url: string;
  readonly turns: Turns & { recover(): Promise<number> };
  /** A session of the test's own. */
  session(): Promise<string>;
  now(session: string): Promise<TurnNow | undefined>;
  say(session: string, content: string, onBusy?: OnBusy): Promise<void>;
  /** Every event of the session, from the start. */
  told(session: string): Promise<readonly HistoryEvent[]>;
  /** A worker that has started; it is stopped with the test, unless the test stops it. */
  worker(
    run: AgentDefinition['run'],
    more?: Partial<AgentDefinition> & { readonly options?: Partial<WorkerOptions> },
  ): Promise<Service>;
}

export async function workplace(bounds: Partial<TurnBounds> = {}): Promise<Workplace> {
  const database = await freshDatabase();
  onTestFinished(() => database.drop());
  const metrics = createMetrics();
  const common = { url: database.url, log: silentLog, metrics, clock: systemClock };
  const bus = localBus({ log: silentLog, metrics });
  const ledger = createLedger({ ...common, work: sessionWork });
  const sessions = createSessions({ ...common, ledger, bus });
  const turns = createTurns({ ...common, bus, bounds: { debounceMs: 0, debounceCapMs: 0, ...bounds } });
  for (const service of [bus, ledger, turns.service]) {
    await service.start();
    onTestFinished(() => service.stop());
  }
  return {
    url: database.url,
    turns,
    async session() {
      const session = `t-${randomUUID()}`;
      await sessions.create(session, {});
      return session;
    },
    now: async (session) => (await ledger.describe(session))?.turn,
    async say(session, content, onBusy = 'enqueue') {
      await turns.request({ session, key: randomUUID(), content, onBusy, by: 'maya' });
    },
    async told(session) {
      const all: HistoryEvent[] = [];
      for (let cursor = START; ;) {
        const { events, last } = await sessions.history(session, { after: cursor, limit: 1_000 });
        all.push(...events.map((text) => JSON.parse(text) as HistoryEvent));
        if (last === undefined) return all;
        cursor = after(last);
      }
    },
    async worker(run, { options, ...definition } = {}) {
      const agent = defineAgent({ name: 'test', run, ...definition });
      const worker = createWorker({ agent, turns, sessions, bus, log: silentLog, drainMs: 0, ...options });
      await worker.start();
      onTestFinished(() => worker.stop());
      return worker;
    },
  };
}
