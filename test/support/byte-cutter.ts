/** A wire to a gateway on which a producer's stream of events is cut once, behind the byte that the test names. */
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

export interface ByteCutter {
  readonly url: string;
  /** The session's next stream is cut when so many bytes of its request have been passed on, its head included. */
  cut(session: string, afterBytes: number): void;
  /** Sessions whose stream has been cut. */
  readonly cuts: ReadonlySet<string>;
  stop(): Promise<void>;
}

const STREAM = /^POST \/internal\/sessions\/([^/]+)\/events\?/;

export async function startByteCutter(target: string): Promise<ByteCutter> {
  const { hostname, port } = new URL(target);
  const planned = new Map<string, number>();
  const cuts = new Set<string>();
  const sockets = new Set<Socket>();

  const server = createServer((client) => {
    const gateway = connect(Number(port), hostname);
    for (const socket of [client, gateway]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => undefined); // a cut is what this is for
      socket.on('close', () => sockets.delete(socket));
    }
    let left: number | undefined;
    let session = '';
    client.on('data', (bytes: Buffer) => {
      const begun = STREAM.exec(bytes.toString('latin1', 0, 200))?.[1];
      if (begun !== undefined) {
        session = begun;
        left = planned.get(begun);
        planned.delete(begun);
      }
      if (left === undefined || bytes.length < left) {
        if (left !== undefined) left -= bytes.length;
        gateway.write(bytes);
        return;
      }
      cuts.add(session);
      gateway.write(bytes.subarray(0, left), () => gateway.destroy());
      client.destroy();
    });
    gateway.on('data', (bytes: Buffer) => client.write(bytes));
    gateway.on('close', () => client.destroy());
    client.on('close', () => gateway.destroySoon());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut: (id, afterBytes) => void planned.set(id, afterBytes),
    cuts,
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
