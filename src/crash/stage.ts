/** Where a run is played: a database of its own, with a customer who asks for a refund and a person who approves it. */
import { randomId } from '../base/clock.ts';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import { createMetrics } from '../base/metrics.ts';
import { startAll, stopAll } from '../base/service.ts';
import { localBus } from '../bus/local-bus.ts';
import { migrate } from '../db/migrate.ts';
import { createPool } from '../db/pool.ts';
import { makeScratchDatabase } from '../db/scratch-database.ts';
import { toCursor } from '../event/sequence.ts';
import { DEMO_ORDER } from '../example/order.ts';
import { migrateExample } from '../example/tables.ts';
import type { Books } from '../lab/crash-lab.ts';
import { createLedger } from '../ledger/postgres-ledger.ts';
import { createSessions } from '../session/sessions.ts';
import { createTurns } from '../turn/postgres-turns.ts';
import { sessionWork } from '../turn/session-work.ts';
import { readBooks } from './books.ts';

export interface StageOptions {
  /** The development server's own database, beside which the lab's is made. */
  readonly databaseUrl: string;
  readonly databasePrepare: boolean;
  readonly log: Log;
  readonly clock: Clock;
}

/** An event of the conversation. */
export interface StageEvent {
  readonly sequence: number;
  readonly type: string;
  readonly at: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface Stage {
  readonly databaseUrl: string;
  /** Those that were not told before, in order. */
  events(): Promise<readonly StageEvent[]>;
  approve(approval: string): Promise<void>;
  books(turn: string | undefined): Promise<Omit<Books, 'modelCalls'>>;
  close(): Promise<void>;
}

const CUSTOMER = 'customer';
const PERSON = 'crash lab';

export async function openStage({ databaseUrl, databasePrepare: prepare, log, clock }: StageOptions): Promise<Stage> {
  const url = await makeScratchDatabase({ url: databaseUrl, prepare, suffix: '_crash_lab', log });
  await migrate(url, log, { prepare });
  await migrateExample(url, log, { prepare });

  const metrics = createMetrics();
  const common = { url, prepare, log, metrics, clock };
  const bus = localBus({ log, metrics });
  const ledger = createLedger({ ...common, work: sessionWork });
  const sessions = createSessions({ ledger, bus, metrics, log, clock });
  // Never started: to look for lost turns is the part of the process that goes on with them.
  const turns = createTurns({ ...common, bus, bounds: { debounceMs: 0 } });
  const pool = createPool({
    ...common,
    connections: 1,
    name: 'ledgerline crash lab',
    deadlineMs: limits.queryDeadlineMs,
  });
  const services = [bus, ledger];
  const session = randomId();
  let told = toCursor(0);

  async function close(): Promise<void> {
    await turns.service.stop();
    await pool.close(limits.connectDeadlineMs);
    await stopAll(services, log);
  }

  try {
    await startAll(services, log);
    await sessions.create(session, { metadata: { title: `Refund of order ${DEMO_ORDER}` } });
    const content = `Please refund the deposit of order ${DEMO_ORDER}.`;
    await turns.request({ session, key: randomId(), content, onBusy: 'enqueue', by: CUSTOMER });
  } catch (thrown) {
    await close();
    throw thrown;
  }

  return {
    databaseUrl: url,
    async events() {
      const page = await sessions.history(session, { after: told, limit: limits.historyRows });
      const events = page.events.map((text) => JSON.parse(text) as StageEvent);
      told = toCursor(events.at(-1)?.sequence ?? told);
      return events;
    },
    async approve(approval) {
      await turns.decide(session, { approval, decision: 'approved', by: PERSON, comment: undefined });
    },
    books: (turn) => pool.run('reading the books', (sql) => readBooks(sql, session, turn)),
    close,
  };
}
