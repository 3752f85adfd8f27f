/** What stands behind an nginx in the place of a gateway, and writes down what it is asked. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The same for requests of one connection. */
  readonly connection: Socket;
}

export interface Upstream {
  /** `host:port`. */
  readonly address: string;
  readonly asked: readonly Asked[];
  stop(): Promise<void>;
}

/** On a free port, unless one is given. */
export async function startUpstream(answer: (response: ServerResponse) => void, port = 0): Promise<Upstream> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    const { method = '', url = '', headers, socket } = request;
    asked.push({ method, path: url, headers, connection: socket });
    answer(response);
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
