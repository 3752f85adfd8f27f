/** The ledger on Postgres: the write path on its lanes, reads on their own bounded pools, so that neither feels the other. */
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import type { Service } from '../base/service.ts';
import type { Statements } from '../db/postgres.ts';
import { createCommitGroup } from './commit-group.ts';
import type { CommitGroupBounds } from './commit-group.ts';
import { createErasure } from './erasure.ts';
import { readHeads } from './head.ts';
import { readClock } from './database-clock.ts';
import type { Ledger } from './ledger.ts';
import { createPool } from '../db/pool.ts';
import type { Pool } from '../db/pool.ts';
import { readProducer } from './producer-row.ts';
import { markRead } from './read-position.ts';
import { readHistory, readPage } from './read.ts';
import { listSessions } from './session-list.ts';
import { closeSession, createSession, describeSession, entombSession } from './session-row.ts';
import type { EndWork } from './session-row.ts';
import { createInquiry } from './unknown-commit.ts';

export interface PostgresLedger extends Ledger, Service {
  /** A round trip with a deadline; rejects with `unavailable`. */
  ready(): Promise<void>;
  /** Milliseconds since the epoch by the clock that stamps events. Rejects with `unavailable`. */
  now(): Promise<number>;
}

/** The bounds a test may shorten. */
export type LedgerBounds = CommitGroupBounds & {
  readonly queryDeadlineMs: number;
  readonly readinessDeadlineMs: number;
};

export interface LedgerOptions {
  readonly url: string;
  readonly prepare?: boolean;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly bounds?: Partial<LedgerBounds>;
  /** What the floors above keep of a session, and end and erase with it. */
  readonly work: SessionWork;
}

export interface SessionWork {
  readonly end: EndWork;
  /** What is left of a deleted session; called until it succeeds. */
  readonly erase: (sql: Statements, session: string) => Promise<void>;
}

export function createLedger(options: LedgerOptions): PostgresLedger {
  const { log, metrics, clock, work } = options;
  const bounds: LedgerBounds = { ...limits, ...options.bounds };
  const common = { url: options.url, log, ...(options.prepare === undefined ? {} : { prepare: options.prepare }) };
  const pool = (name: string, connections: number, deadlineMs: number, settings: Record<string, string>): Pool =>
    createPool({ ...common, name: `ledgerline ${name}`, connections, deadlineMs, settings });

  const byIndex = { enable_seqscan: 'off', enable_bitmapscan: 'off' };
  // The server gives up before the client does.
  const pages = { ...byIndex, statement_timeout: `${Math.ceil(bounds.queryDeadlineMs * 0.9)}ms` };
  const replay = pool('replay', limits.replayConnections, bounds.queryDeadlineMs, pages);
  // Replays wait in a line of their own; requests for history come as they like, and must not stand before them [I9].
  const history = pool('history', limits.historyConnections, bounds.queryDeadlineMs, pages);
  const control = pool('control', limits.controlConnections, bounds.queryDeadlineMs, byIndex);
  // Closing and deleting wait for a head, and must not keep those from the others' connections who only look [I9].
  const ending = pool('ending', limits.soloConnections, bounds.headLockWaitMs + bounds.queryDeadlineMs, byIndex);
  const how = { endWork: work.end, lockWaitMs: bounds.headLockWaitMs };
  const readiness = pool('ready', 1, bounds.readinessDeadlineMs, {});

  const inquiry = createInquiry({ pool: control, clock, log, deadlineMs: bounds.queryDeadlineMs });
  const commitGroup = createCommitGroup({ ...common, metrics, clock, inquiry, bounds });
  const erasure = createErasure({ pool: control, clock, log, eraseWork: work.erase });

  return {
    name: 'ledger',
    async start() {
      erasure.request(); // what a crash left unfinished
    },
    async stop() {
      await commitGroup.stop();
      await erasure.stop();
      await Promise.all([replay, history, control, ending, readiness].map((each) => each.close(1_000)));
    },
    async ready() {
      await readiness.run('the readiness check', (sql) => sql`select max(number) from ledgerline.migration`);
    },
    now: () => readiness.run('reading the clock', readClock),
    append: (request) => commitGroup.append(request),
    page: (session, after, to, layout) =>
      replay.run('reading a page', (sql) => readPage(sql, session, after, to, layout)),
    history: (session, range) => history.run('reading history', (sql) => readHistory(sql, session, range)),
    heads: (sessions) => control.run('reading heads', (sql) => readHeads(sql, sessions)),
    create: (session, row) => control.run('creating a session', (sql) => createSession(sql, session, row)),
    describe: (session) => control.run('reading a session', (sql) => describeSession(sql, session)),
    close: (session) => ending.run('closing a session', (sql) => closeSession(sql, session, how)),
    async delete(session) {
      const head = await ending.run('deleting a session', (sql) => entombSession(sql, session, how));
      if (head?.state === 'deleted') erasure.request();
      return head;
    },
    list: (filter, range, subject) =>
      history.run('listing sessions', (sql) => listSessions(sql, filter, range, subject)),
    producer: (session, producer) => control.run('reading a producer', (sql) => readProducer(sql, session, producer)),
    markRead: (session, subject, sequence) =>
      control.run('marking a session read', (sql) => markRead(sql, session, subject, sequence)),
  };
}
