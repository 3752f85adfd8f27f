/** Connections to Postgres: how one is made, when its failure means "away", and how it is dropped for certain. */
import { connect as connectSocket } from 'node:net';
import type { NetConnectOpts, Socket } from 'node:net';
import postgres from 'postgres';
import { toError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import { MessageReader } from './message-reader.ts';
import { guarded } from './transaction-guard.ts';

/** A client: one connection or a pool of them, connecting on first use. */
export type Sql = postgres.Sql<{ bigint: number }>;
/** What takes a statement: a client, or a transaction on one of its connections. */
export type Statements = postgres.ISql<{ bigint: number }>;
export type TransactionSql = postgres.TransactionSql<{ bigint: number }>;

export interface ConnectOptions {
  readonly url: string;
  readonly connections: number;
  /** `application_name`, by which the server's own views tell our connections apart. */
  readonly name: string;
  readonly log: Log;
  readonly onNotice?: (message: string) => void;
  /** A connection was lost or ended; the client would open another by itself. */
  readonly onClose?: () => void;
  /**
   * False behind a pooler in transaction mode, which can keep neither prepared statements nor settings of a
   * connection; the database or the role must then default to READ COMMITTED by itself.
   */
  readonly prepare?: boolean;
  /** Settings for each of this client's connections. */
  readonly settings?: Readonly<Record<string, string>>;
}

/**
 * READ COMMITTED, whatever the server's default: under a serializable default a lone append failed 231 of 300 times
 * [bench]. Plans are generic because every statement here wants the same plan for every value. The timeouts free the
 * rows that a vanished host's open transaction had locked.
 */
const everyConnection = {
  default_transaction_isolation: 'read committed',
  client_min_messages: 'notice',
  plan_cache_mode: 'force_generic_plan',
  idle_in_transaction_session_timeout: '60s',
  tcp_user_timeout: '30s',
};

/** bigint as a number, in this one place; one that a number cannot hold is an error and not a neighbour. */
const bigint: postgres.PostgresType<number> = {
  to: 20,
  from: [20],
  serialize: (value: number) => String(value),
  parse: (text: string) => {
    const value = Number(text);
    if (!Number.isSafeInteger(value)) throw new RangeError(`not a safe integer: ${text}`);
    return value;
  },
};

/** What the client tells of where to connect; it leaves turning among several hosts to whoever makes the socket. */
interface Target {
  readonly host: readonly string[];
  readonly port: readonly number[];
  readonly path: string | false;
  /** Truthy when it will speak, or ask for, TLS. */
  readonly ssl: unknown;
}

const socketsOf = new WeakMap<Sql, Set<Socket>>();

export function connect(options: ConnectOptions): Sql {
  const sockets = new Set<Socket>();
  const settings: Record<string, string> = options.prepare === false ? {} : { ...everyConnection, ...options.settings };
  let turn = 0;
  const clientOptions: postgres.Options<{ bigint: postgres.PostgresType<number> }> & {
    socket: (target: Target) => Socket;
  } = {
    max: options.connections,
    prepare: options.prepare ?? true,
    fetch_types: false, // no arrays cross the wire, so their types need not be asked for on every connect
    types: { bigint },
    connect_timeout: limits.connectDeadlineMs / 1000,
    max_lifetime: null,
    // The default waits up to 20 s after failures; a server that is back must be found sooner, and a refusal is quick.
    backoff: (retries: number) => Math.min(0.01 * 3 ** retries, 0.5),
    connection: {
      application_name: options.name,
      ...settings,
    },
    onnotice: (notice) => options.onNotice?.(notice['message'] ?? ''),
    onclose: () => options.onClose?.(),
    // Sockets of our own making: the client only half-closes those of a silent server, which then outlive it. What
    // is returned is still connecting; writes wait, and a failure is the socket's error like any other.
    socket: (target) => {
      const place = turn++ % target.host.length;
      const host = target.host[place] ?? 'localhost';
      const { path } = target;
      const address = path === false || path === '' ? { host, port: target.port[place] ?? 5432 } : { path };
      const isTls = Boolean(target.ssl);
      const socket = isTls ? connectSocket(address) : connectByMessage(address);
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
      return Object.assign(socket, { host }); // the client names the server by it in TLS
    },
  };
  const sql = postgres(options.url, clientOptions);
  socketsOf.set(sql, sockets);
  return sql;
}

/** Its data are whole messages. Not under TLS, which hands over what it has deciphered in buffers of its own. */
function connectByMessage(address: NetConnectOpts): Socket {
  const reader = new MessageReader((messages) => socket.emit('data', messages));
  const took = (bytes: number): boolean => {
    try {
      reader.took(bytes);
    } catch (thrown) {
      // Node would go on reading to where this was, and what comes next would be looked for in what another connection has read [I9].
      socket.destroy(toError(thrown));
    }
    return true;
  };
  const socket: Socket = connectSocket({ ...address, onread: { buffer: () => reader.space, callback: took } });
  return socket;
}

/**
 * Ends a client: what is in flight may finish within `graceMs`, then its connections are cut. `end()` alone can wait for
 * ever on a connection that was lost in the middle of a query (porsager/postgres#1097).
 */
export async function disconnect(sql: Sql, graceMs: number): Promise<void> {
  await sql.end({ timeout: graceMs / 1000 });
  for (const socket of socketsOf.get(sql) ?? []) socket.destroy();
}

const unreachable = new Set([
  'CONNECTION_CLOSED', 'CONNECTION_DESTROYED', 'CONNECTION_ENDED', 'CONNECT_TIMEOUT',
  'ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOENT',
]); // prettier-ignore

/**
 * Classes of a server that answers and cannot serve now: connection exceptions, credentials and databases that are
 * being changed, insufficient resources, an operator's intervention, a system error; and a standby that is not yet
 * writable.
 */
const unavailable = /^(?:08|28|3D|53|57|58)|^25006$/;

/** Of the server or of the socket: `57P03`, `ECONNREFUSED`. */
export const codeOf = (error: unknown): string | undefined => {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined;
  return typeof code === 'string' ? code : undefined;
};

/**
 * READ COMMITTED, said aloud: behind a pooler the connection's own default may be another. Every statement then sees what
 * was committed before it began, so that one which follows a lock sees all that the lock's last holder did. REPEATABLE READ
 * is for who only looks, and wants to see one moment.
 */
export async function transaction<T>(
  sql: Sql,
  work: (tx: TransactionSql) => Promise<T>,
  isolation: 'read committed' | 'repeatable read' = 'read committed',
): Promise<T> {
  let isOver = false;
  let isLost = false;
  /**
   * The driver writes what follows the loss of a connection, its own ROLLBACK first, to a socket that is gone, and that
   * ends the process; or later to its next connection, in somebody else's transaction (porsager/postgres#1208, #1216). So
   * nothing follows, whatever the work made of the error: `begin` rejects by itself when the connection closes.
   */
  const silent = (thrown: unknown): Promise<never> => {
    if (isOver || isLost || isDisconnected(thrown)) return new Promise(() => undefined);
    throw thrown;
  };
  const inScope = guarded(
    work,
    (thrown) => (isLost ||= isDisconnected(thrown)),
    () => isOver,
  );
  try {
    return (await sql.begin(`isolation level ${isolation}`, (tx) => inScope(tx).catch(silent))) as T;
  } finally {
    isOver = true;
  }
}

/** The server's code for an error that the server reported: it ran nothing, or rolled back what it ran. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof postgres.PostgresError ? error.code : undefined;
}

/** The connection was lost, refused, or never came about: what was sent may or may not have been done. */
export function isDisconnected(error: unknown): boolean {
  return sqlState(error) === undefined && unreachable.has(codeOf(error) ?? '');
}

/** Postgres is away or cannot serve now: a fault that passes, and nobody's mistake. */
export function isUnavailable(error: unknown): boolean {
  return isDisconnected(error) || unavailable.test(sqlState(error) ?? '');
}
