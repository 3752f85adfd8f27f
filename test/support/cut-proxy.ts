/** A way to Postgres that a test can cut at a message of its choice, while the server goes on and does not know. */
import { createServer, connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

/** `lose` loses this message; `cut` loses it and the connection; `last` still delivers it. */
export type Ruling = 'pass' | 'lose' | 'cut' | 'last';

export interface CutProxy {
  readonly url: string;
  /** Judges each message of the server: its type letter and its text. */
  fromServer: (type: string, text: string) => Ruling;
  /** Judges what the client sends, chunk by chunk. */
  fromClient: (text: string) => Ruling;
  readonly cuts: number;
  close(): Promise<void>;
}

export async function startCutProxy(target: string): Promise<CutProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let cuts = 0;

  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    let pending = Buffer.alloc(0);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
      socket.on('error', () => undefined); // a cut is what this is for
    }
    const cut = (): void => {
      cuts += 1;
      client.destroy(); // the server's side stays, so that it can commit
    };
    upstream.on('data', (bytes: Buffer) => {
      pending = Buffer.concat([pending, bytes]);
      while (pending.length >= 5 && pending.length > pending.readUInt32BE(1)) {
        const message = pending.subarray(0, pending.readUInt32BE(1) + 1);
        pending = pending.subarray(message.length);
        if (client.destroyed) continue;
        const ruling = proxy.fromServer(message.toString('latin1', 0, 1), message.toString('utf8', 5));
        if (ruling === 'pass') client.write(message);
        else if (ruling === 'cut') cut();
        else if (ruling === 'last') client.write(message, cut);
      }
    });
    client.on('data', (bytes: Buffer) => {
      const ruling = proxy.fromClient(bytes.toString());
      if (ruling === 'pass' || ruling === 'last') upstream.write(bytes);
      if (ruling === 'cut' || ruling === 'last') cut();
    });
    upstream.on('close', () => client.end());
    client.on('end', () => upstream.end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  const url = new URL(target);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  const proxy: CutProxy = {
    url: url.href,
    fromServer: () => 'pass',
    fromClient: () => 'pass',
    get cuts() {
      return cuts;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return proxy;
}
