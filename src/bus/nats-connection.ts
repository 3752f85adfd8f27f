/**
 * One connection to NATS from its dial to its loss. The client's own reconnecting stays off: it forgets nothing of a
 * connection that ended badly (nats.node#531, #532), and it cannot be stopped while it dials. A loss ends this object,
 * and `nats-bus` makes the next one.
 */
import { DebugEvents, Events, connect } from 'nats';
import type { NatsConnection } from 'nats';
import { toError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import { detach } from '../base/service.ts';
import { knock } from '../base/nats-server.ts';
import type { NatsServer } from '../base/nats-server.ts';

export interface Connection {
  /** False from the loss on, a moment before `lost` tells. */
  readonly isOpen: boolean;
  /** Of the server that answered; it may change it. A message beyond it would cost the whole connection (nats.py#896). */
  readonly maxPayloadBytes: number;
  /** False when too much is on its way already, and this message was let go. */
  publish(subject: string, bytes: Buffer): boolean;
  /** Returns how to unsubscribe. */
  subscribe(subject: string, receive: (bytes: Uint8Array) => void): () => void;
  /** True when the server has taken in all that was sent before; false when the connection was lost first. */
  flushed(): Promise<boolean>;
  /** Resolves, never rejects, when the connection is gone. */
  readonly lost: Promise<void>;
  /** Now; what is unsent is thrown away. */
  close(): Promise<void>;
}

export interface DialOptions {
  readonly server: NatsServer;
  readonly signal: AbortSignal;
  readonly log: Log;
  /** The server said that something went wrong, the connection itself stays. */
  readonly onError: (message: string) => void;
}

export async function dial({ server, signal, log, onError }: DialOptions): Promise<Connection> {
  await knock(server, limits.connectDeadlineMs, signal);
  const client = await connect({
    servers: `${server.hostname.includes(':') ? `[${server.hostname}]` : server.hostname}:${server.port}`,
    ...server.login,
    ...(server.isTls ? { tls: {} } : {}),
    name: 'ledgerline',
    timeout: limits.connectDeadlineMs,
    reconnect: false,
    // A frozen server keeps its sockets open: only unanswered pings tell.
    pingInterval: limits.natsPingMs,
    maxPingOut: limits.natsPingsOut,
  });
  detach(watch(client, log, onError), log, 'the watch of the NATS connection failed');
  return wrap(client, log);
}

async function watch(client: NatsConnection, log: Log, onError: (message: string) => void): Promise<void> {
  for await (const status of client.status()) {
    // The client would first wait for its unsent bytes to leave: against a frozen server with full buffers, for ever.
    if (status.type === DebugEvents.StaleConnection) await client.close();
    if (status.type === Events.Error) onError(JSON.stringify(status.data));
    if (status.type === Events.LDM) log.info('the NATS server is going away');
  }
}

const LITTLE_UNSENT_BYTES = limits.busUnsentBytes / 8;

function wrap(client: NatsConnection, log: Log): Connection {
  let sentBytes = 0;
  let confirmedBytes = 0;
  let isConfirming = false;
  let isFull = false;
  const unsentBytes = () => sentBytes - confirmedBytes;

  // A flush that is under way when the connection is closed never settles in the client, so the loss settles it here;
  // by a set, since a race with `lost` would leave something on it each time.
  const underWay = new Set<(isTakenIn: boolean) => void>();
  const lost = client.closed().then(() => {
    for (const settle of underWay) settle(false);
  });

  function flushed(): Promise<boolean> {
    return new Promise((resolve) => {
      const settle = (isTakenIn: boolean) => {
        underWay.delete(settle);
        resolve(isTakenIn);
      };
      underWay.add(settle);
      client.flush().then(
        () => settle(true),
        () => settle(false),
      );
    });
  }

  /** Asks the server until little is left that it has not taken in. */
  async function confirm(): Promise<void> {
    isConfirming = true;
    while (unsentBytes() > LITTLE_UNSENT_BYTES) {
      const mark = sentBytes;
      if (!(await flushed())) return;
      confirmedBytes = mark;
    }
    isFull = false;
    isConfirming = false;
  }

  return {
    get isOpen() {
      return !client.isClosed();
    },
    get maxPayloadBytes() {
      return client.info?.max_payload ?? 0;
    },
    publish(subject, bytes) {
      // The client queues without a bound; until the pings notice a frozen server that could be anything [I6].
      isFull ||= unsentBytes() + bytes.length > limits.busUnsentBytes;
      const isTaken = !isFull;
      if (isTaken) {
        client.publish(subject, bytes);
        sentBytes += bytes.length;
      }
      if (!isConfirming && (isFull || unsentBytes() > LITTLE_UNSENT_BYTES)) detach(confirm(), log, 'a flush failed');
      return isTaken;
    },
    subscribe(subject, receive) {
      const subscription = client.subscribe(subject, {
        callback(failure, message) {
          // A refusal also comes by the status. What is thrown in here would end the client's reader without a word.
          if (failure !== null) return;
          try {
            receive(message.data);
          } catch (thrown) {
            log.error({ err: toError(thrown), subject }, 'a listener of the bus failed');
          }
        },
      });
      return () => subscription.unsubscribe();
    },
    flushed,
    lost,
    close: () => client.close(),
  };
}
