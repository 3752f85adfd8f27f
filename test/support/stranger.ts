/** Somebody else's locks, at which a transaction of the work half stops where the test wants it to. */
import { onTestFinished } from 'vitest';
import { silentLog } from '../../src/base/log.ts';
import { connect, disconnect } from '../../src/db/postgres.ts';
import type { Sql } from '../../src/db/postgres.ts';
import { withSql } from './ledger.ts';
import { eventually } from './waits.ts';

export interface Blocker {
  /** Resolves when a transaction waits for what is held. */
  met(deadlineMs?: number): Promise<true>;
  /** Lets go; what waited goes on, whether its client is still there or not. */
  release(): Promise<void>;
  /** Lets go, and what waited ends with its connection: as if its client's host were gone, too. */
  sever(): Promise<void>;
}

/** Holds the session's cold row, which a message and every end of a turn update behind their events. */
export const holdSession = (url: string, session: string): Promise<Blocker> =>
  hold(url, (sql) => sql`select from ledgerline.session where session = ${session} for no key update`);

/** Holds the requests that a claim binds behind the head. */
export const holdRequests = (url: string, session: string): Promise<Blocker> =>
  hold(url, (sql) => sql`select from ledgerline.turn_request where session = ${session} for update`);

/** Holds a session's turn, which whoever takes it over updates behind its head. */
export const holdTurn = (url: string, session: string): Promise<Blocker> =>
  hold(url, (sql) => sql`select from ledgerline.turn where session = ${session} for no key update`);

/** Holds a session's deliveries, which a relay marks behind their publication. */
export const holdDeliveries = (url: string, session: string): Promise<Blocker> =>
  hold(url, (sql) => sql`select from ledgerline.outbox where session = ${session} for no key update`);

/**
 * Stops whatever stores an event of this type within its COMMIT: it is not to be undone any more, and not yet answered.
 * Needs `waitAtCommit`; a table of the test's own can have its like by `waitAtCommitOf`.
 */
export const holdCommit = (url: string, session: string, type: string): Promise<Blocker> =>
  hold(url, (sql) => sql`select pg_advisory_xact_lock(hashtext(${`${session} ${type}`}))`);

export const waitAtCommit = (url: string): Promise<unknown> =>
  waitAt(url, 'ledgerline.event', `new.session || ' ' || new.type`);

/** Of a table of the test's own: its rows are held by what they have in this column, and by the table's name. */
export const waitAtCommitOf = (url: string, table: string, column: string): Promise<unknown> =>
  waitAt(url, table, `new.${column} || ' ${table}'`);

function waitAt(url: string, table: string, word: string): Promise<unknown> {
  const name = table.replace('.', '_');
  return withSql(url, (sql) =>
    sql.unsafe(`
      create function public.wait_at_commit_of_${name}() returns trigger language plpgsql as $$
      begin perform pg_advisory_xact_lock_shared(hashtext(${word})); return null; end $$;
      create constraint trigger wait_at_commit after insert on ${table}
        deferrable initially deferred for each row execute function public.wait_at_commit_of_${name}();`),
  );
}

async function hold(url: string, lock: (sql: Sql) => PromiseLike<unknown>): Promise<Blocker> {
  const [stranger, observer] = [1, 2].map(() => connect({ url, connections: 1, name: 'stranger', log: silentLog })) as [
    Sql,
    Sql,
  ];
  const release = async (): Promise<void> => {
    await Promise.all([disconnect(stranger, 1_000), disconnect(observer, 1_000)]);
  };
  onTestFinished(release);
  await stranger`begin`;
  const [self] = await stranger<{ pid: number }[]>`select pg_backend_pid() as pid`;
  await lock(stranger);
  return {
    met: (deadlineMs) =>
      eventually(
        'somebody waits for the stranger',
        async () => {
          const waiting = await observer`
            select from pg_stat_activity a where ${self?.pid ?? 0}::int = any (pg_blocking_pids(a.pid))`;
          return waiting.length > 0;
        },
        deadlineMs,
      ),
    release,
    async sever() {
      await observer`
        select pg_terminate_backend(a.pid) from pg_stat_activity a where ${self?.pid ?? 0}::int = any (pg_blocking_pids(a.pid))`;
      await release();
    },
  };
}
