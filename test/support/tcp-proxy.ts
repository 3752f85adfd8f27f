/** A wire between two processes that a test may cut, clog or rewrite. */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';

export interface TcpProxy {
  readonly port: number;
  readonly connections: number;
  /** Of what the server said, over all connections. */
  readonly deliveredBytes: number;
  /** Ends every connection and takes no new one. */
  cut(): Promise<void>;
  /** On the same port. */
  restore(): Promise<void>;
  /** From now on carries nothing in either direction and keeps every connection open, as a vanished peer does. */
  clog(): void;
  /** New connections are carried again; those that were clogged never are. */
  unclog(): void;
  stop(): Promise<void>;
}

export interface ProxyOptions {
  readonly host?: string;
  readonly port: number;
  /** Stands in the way of what the server says on one connection; returns what takes its chunks. */
  readonly rewrite?: (say: (bytes: Buffer) => void) => (chunk: Buffer) => void;
}

export async function startTcpProxy({ host = '127.0.0.1', port: target, rewrite }: ProxyOptions): Promise<TcpProxy> {
  const pairs = new Set<readonly [Socket, Socket]>();
  const clogged = new Set<readonly [Socket, Socket]>();
  let isClogged = false;
  let deliveredBytes = 0;

  function carry(client: Socket): void {
    const server = connect(target, host);
    const pair = [client, server] as const;
    pairs.add(pair);
    const say = (bytes: Buffer): void => {
      deliveredBytes += bytes.length;
      client.write(bytes);
    };
    const hear = rewrite?.(say) ?? say;
    server.on('data', hear);
    client.on('data', (bytes: Buffer) => server.write(bytes));
    for (const [end, other] of [pair, [server, client] as const]) {
      end.on('error', () => undefined);
      end.on('close', () => {
        if (!clogged.has(pair)) other.destroy();
        if (!client.destroyed || !server.destroyed) return;
        pairs.delete(pair);
        clogged.delete(pair);
      });
    }
    if (isClogged) clogPair(pair);
  }

  function clogPair(pair: readonly [Socket, Socket]): void {
    clogged.add(pair);
    for (const end of pair) end.removeAllListeners('data').pause();
  }

  function cutAll(): void {
    for (const pair of pairs) for (const end of pair) end.destroy();
  }

  const listen = async (port: number): Promise<Server> => {
    // half-open: the end of one side is not passed on by itself
    const server = createServer({ allowHalfOpen: true }, carry).listen(port, '127.0.0.1');
    await once(server, 'listening');
    return server;
  };
  let server = await listen(0);
  const { port } = server.address() as AddressInfo;

  const cut = async (): Promise<void> => {
    const isClosed = server.listening ? once(server, 'close') : Promise.resolve();
    server.close();
    cutAll();
    await isClosed;
  };
  return {
    port,
    get connections() {
      return pairs.size;
    },
    get deliveredBytes() {
      return deliveredBytes;
    },
    cut,
    async restore() {
      server = await listen(port);
    },
    clog() {
      isClogged = true;
      for (const pair of pairs) clogPair(pair);
    },
    unclog() {
      isClogged = false;
    },
    stop: cut,
  };
}
