/** A client for short statements: each use has a deadline, and a client that fell silent or lost a connection is replaced whole. */
import { LedgerlineError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { detach, withDeadline } from '../base/service.ts';
import { connect, disconnect, isDisconnected, isUnavailable } from './postgres.ts';
import type { ConnectOptions, Sql } from './postgres.ts';

export interface Pool {
  /** Runs a query on a client; `unavailable` when Postgres is away or does not answer in time. */
  run<T>(what: string, query: (sql: Sql) => PromiseLike<T>): Promise<T>;
  close(graceMs: number): Promise<void>;
}

export interface PoolOptions extends ConnectOptions {
  readonly deadlineMs: number;
}

/** How long other queries of a client that is being replaced may take to finish. */
const REPLACED_GRACE_MS = 1_000;

export function createPool(options: PoolOptions): Pool {
  const log: Log = options.log;
  let client = connect(options);
  let isClosed = false;

  /**
   * Not left to the client's own reconnecting: a connection that a server ended in the middle of a query keeps the old
   * error and gives it to the first query of the next connection (postgres 3.4.9).
   */
  function replace(failed: Sql): void {
    if (isClosed || client !== failed) return; // closing, or another query saw the same failure first
    client = connect(options);
    detach(disconnect(failed, REPLACED_GRACE_MS), log, 'a lost client did not end');
  }

  return {
    async run(what, query) {
      const used = client;
      try {
        return await withDeadline(Promise.resolve(query(used)), options.deadlineMs, what);
      } catch (error) {
        const isLate = error instanceof LedgerlineError && error.code === 'unavailable';
        if (isLate || isDisconnected(error)) replace(used);
        if (isUnavailable(error)) throw new LedgerlineError('unavailable', `${what}: Postgres is away`, {}, error);
        throw error;
      }
    },
    close(graceMs) {
      isClosed = true;
      return disconnect(client, graceMs);
    },
  };
}
