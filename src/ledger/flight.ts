/** One connection that carries one flush at a time, and tells four ends apart: answered, refused, never sent, lost. */
import { randomId } from '../base/clock.ts';
import { LedgerlineError, toError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { detach, withDeadline } from '../base/service.ts';
import { connect, disconnect, isDisconnected } from '../db/postgres.ts';
import type { ConnectOptions, Sql } from '../db/postgres.ts';
import { isReceipt } from './receipt.ts';

export type Landing<T> =
  | { readonly kind: 'answered'; readonly value: T }
  /** The server reported an error: it stored nothing. */
  | { readonly kind: 'refused'; readonly error: Error }
  /** No connection came about: nothing was sent. */
  | { readonly kind: 'unsent'; readonly error: Error }
  /** The connection was lost, or the server silent, after sending: whether it committed is unknown. */
  | { readonly kind: 'lost'; readonly connection: string; readonly receipt: string | undefined; readonly error: Error };

export interface Flight {
  send<T>(statement: (sql: Sql) => Promise<T>, deadlineMs: number): Promise<Landing<T>>;
  close(graceMs: number): Promise<void>;
}

export type FlightOptions = Omit<ConnectOptions, 'connections' | 'onNotice' | 'onClose' | 'settings'>;

/** Walks along indices, though a young table's statistics may speak for reading it whole. */
const settings = { enable_seqscan: 'off', enable_bitmapscan: 'off' };

interface Connection {
  readonly sql: Sql;
  readonly name: string;
  /** The receipt that the running statement announced. */
  receipt: string | undefined;
  isClosed: boolean;
}

export function createFlight(options: FlightOptions): Flight {
  let open: Connection | undefined;

  /**
   * A client is used until its first fault and never reconnects by itself: only so is a statement that fails on an open
   * connection known to be sent, and one that finds none known not to be. Its name is its own, so that its backend
   * can be found and ended (`unknown-commit`).
   */
  async function ready(): Promise<Connection> {
    if (open?.isClosed === false) return open;
    if (open !== undefined) drop(open);
    const name = `${options.name} ${randomId().slice(0, 8)}`;
    const connection: Connection = {
      name,
      receipt: undefined,
      isClosed: false,
      sql: connect({
        ...options,
        name,
        settings,
        connections: 1,
        onNotice: (message) => {
          if (isReceipt(message)) connection.receipt = message;
        },
        onClose: () => {
          connection.isClosed = true;
        },
      }),
    };
    open = connection;
    await withDeadline(Promise.resolve(connection.sql`select 1`), limits.connectDeadlineMs, 'connecting');
    return connection;
  }

  function drop(connection: Connection): void {
    if (open === connection) open = undefined;
    detach(disconnect(connection.sql, 0), options.log, 'a lost connection did not end');
  }

  return {
    async send(statement, deadlineMs) {
      let connection: Connection;
      try {
        connection = await ready();
      } catch (error) {
        if (open !== undefined) drop(open);
        return { kind: 'unsent', error: toError(error) };
      }
      connection.receipt = undefined;
      try {
        return { kind: 'answered', value: await withDeadline(statement(connection.sql), deadlineMs, 'a flush') };
      } catch (error) {
        const isLate = error instanceof LedgerlineError && error.code === 'unavailable';
        if (!isLate && !isDisconnected(error)) return { kind: 'refused', error: toError(error) };
        drop(connection);
        return { kind: 'lost', connection: connection.name, receipt: connection.receipt, error: toError(error) };
      }
    },
    async close(graceMs) {
      if (open !== undefined) await disconnect(open.sql, graceMs);
    },
  };
}
