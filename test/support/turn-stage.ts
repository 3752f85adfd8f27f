/** The work half on a database of the calling test's own, and the few words its tests repeat. */
import { randomUUID } from 'node:crypto';
import { onTestFinished } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import type { Metrics } from '../../src/base/metrics.ts';
import { localBus } from '../../src/bus/local-bus.ts';
import type { Bus } from '../../src/bus/bus.ts';
import type { Sql } from '../../src/db/postgres.ts';
import type { TurnNow } from '../../src/event/turn-state.ts';
import { createLedger } from '../../src/ledger/postgres-ledger.ts';
import type { PostgresLedger } from '../../src/ledger/postgres-ledger.ts';
import { createSessions } from '../../src/session/sessions.ts';
import type { Sessions } from '../../src/session/sessions.ts';
import { createTurns } from '../../src/turn/postgres-turns.ts';
import type { PostgresTurns, TurnBounds } from '../../src/turn/postgres-turns.ts';
import { sessionWork } from '../../src/turn/session-work.ts';
import type { AcceptedMessage, ClaimRequest, ClaimedTurn, Message } from '../../src/turn/turns.ts';
import { withSql } from './ledger.ts';
import { database } from './stage.ts';
import type { DatabaseOptions } from './services.ts';

export interface TurnStage {
  readonly url: string;
  readonly turns: PostgresTurns;
  readonly sessions: Sessions;
  readonly ledger: PostgresLedger;
  readonly metrics: Metrics;
  readonly bus: Bus;
  /** Another process's view of the same database, as far as turns go. */
  another(bounds?: Partial<TurnBounds>): PostgresTurns;
  session(): Promise<string>;
  now(session: string): Promise<TurnNow | undefined>;
  say(session: string, text: string, more?: Partial<Message>): Promise<AcceptedMessage>;
  claim(more?: Partial<ClaimRequest>): Promise<readonly ClaimedTurn[]>;
  /** The one turn that can be claimed. */
  claimOne(more?: Partial<ClaimRequest>): Promise<ClaimedTurn>;
  /** A turn of a session of its own, as its first attempt has it. */
  running(more?: Partial<ClaimRequest>): Promise<ClaimedTurn>;
  /** Its worker dies, and another takes it over. */
  lose(turn: ClaimedTurn): Promise<ClaimedTurn>;
  sql<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  /** `type` of each event, in order, and that they are numbered without a gap. */
  types(session: string): Promise<string[]>;
  events(session: string): Promise<{ sequence: number; type: string; turn?: string; attempt?: number; data: never }[]>;
  /** As if its worker had been silent for longer than its lease. */
  expire(session: string): Promise<void>;
  /** As if whatever is ready, or paused, were due now. */
  hurry(session: string): Promise<void>;
}

export async function turnStage(bounds: Partial<TurnBounds> = {}, options?: DatabaseOptions): Promise<TurnStage> {
  const { url } = await database(options);
  const metrics = createMetrics();
  const common = { url, log: silentLog, metrics, clock: systemClock };
  const bus = localBus(common);
  const own = { debounceMs: 0, debounceCapMs: 0, ...bounds };
  const ledgerBounds = bounds.leaseMs === undefined ? {} : { bounds: { leaseMs: bounds.leaseMs } };
  const ledger = createLedger({ ...common, work: sessionWork, ...ledgerBounds });
  const sessions = createSessions({ ...common, ledger, bus });
  const all: PostgresTurns[] = [];
  const another = (more: Partial<TurnBounds> = {}): PostgresTurns => {
    const turns = createTurns({ ...common, bus, bounds: { ...own, ...more } });
    all.push(turns);
    return turns;
  };
  const turns = another();
  onTestFinished(async () => {
    await Promise.all(all.map((each) => each.service.stop()));
    await ledger.stop();
    await bus.stop();
  });

  const sql = <T>(work: (client: Sql) => Promise<T>): Promise<T> => withSql(url, work);
  async function events(session: string) {
    const page = await ledger.history(session, { limit: 1_000 });
    const parsed = page.events.map((text) => JSON.parse(text) as Awaited<ReturnType<TurnStage['events']>>[number]);
    const gap = parsed.find((event, index) => event.sequence !== index + 1);
    if (gap !== undefined) throw new Error(`the ledger has a gap before ${gap.sequence}`);
    return parsed;
  }
  const claim = (more: Partial<ClaimRequest> = {}) =>
    turns.claim({ worker: 'w', limit: 10, waitMs: 0, policy: 'retry', maxAttempts: 3, turnMs: 60_000, ...more });

  async function claimOne(more?: Partial<ClaimRequest>): Promise<ClaimedTurn> {
    const claimed = await claim(more);
    const [only] = claimed;
    if (only === undefined || claimed.length > 1) throw new Error(`claimed ${claimed.length} turns`);
    return only;
  }
  const stage: TurnStage = {
    url,
    turns,
    sessions,
    ledger,
    metrics,
    bus,
    another,
    async session() {
      const session = `s-${randomUUID()}`;
      await ledger.create(session, {});
      return session;
    },
    now: async (session) => (await ledger.describe(session))?.turn,
    say: (session, text, more) =>
      turns.request({ session, key: randomUUID(), content: text, onBusy: 'enqueue', by: 'maya', ...more }),
    claim,
    claimOne,
    async running(more) {
      await stage.say(await stage.session(), 'hello');
      return claimOne(more);
    },
    async lose({ session }) {
      await stage.expire(session);
      await turns.recover();
      await stage.hurry(session);
      return claimOne();
    },
    sql,
    events,
    types: async (session) => (await events(session)).map((event) => event.type),
    expire: (session) =>
      sql(async (client) => {
        await client`
          update ledgerline.session_head set lease_until = clock_timestamp() - interval '1 second'
           where session = ${session}::text and lease_until is not null`;
      }),
    hurry: (session) =>
      sql(async (client) => {
        await client`
          update ledgerline.session_head set due_at = clock_timestamp() - interval '1 second'
           where session = ${session}::text and due_at is not null`;
      }),
  };
  return stage;
}
