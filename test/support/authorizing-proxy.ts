/** A reverse proxy that adds the token a native EventSource cannot carry, and passes everything else on as it comes. */
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request as it passed by. */
export interface Passage {
  readonly path: string;
  readonly lastEventId: string | undefined;
  /** Undefined until there is an answer, and for ever when the server was away. */
  status: number | undefined;
}

export interface AuthorizingProxy {
  readonly url: string;
  /** In the order in which they came. */
  readonly passages: readonly Passage[];
  /** Ends every connection to the browser, as a network does. */
  cut(): void;
  stop(): Promise<void>;
}

export async function startAuthorizingProxy(target: string, token: string): Promise<AuthorizingProxy> {
  const passages: Passage[] = [];
  const server = createServer((incoming, outgoing) => {
    const { headers, url: path = '/' } = incoming;
    const lastEventId = headers['last-event-id'];
    const passage: Passage = { path, lastEventId: lastEventId?.toString(), status: undefined };
    passages.push(passage);
    pass(incoming, outgoing, { target, token, passage });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    passages,
    cut: () => server.closeAllConnections(),
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

/** Bytes, status and headers one way, and the end of either side to the other: a clean end as one, a broken one as broken. */
function pass(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { target, token, passage }: { target: string; token: string; passage: Passage },
): void {
  const { method, headers } = incoming;
  const forward = request(new URL(passage.path, target), {
    method,
    agent: false,
    headers: { ...headers, authorization: `Bearer ${token}` },
  });
  // a server that is away is a connection that fails
  forward.on('error', () => outgoing.destroy());
  outgoing.on('close', () => forward.destroy());
  forward.on('response', (answer) => {
    passage.status = answer.statusCode ?? 0;
    outgoing.writeHead(passage.status, answer.rawHeaders);
    outgoing.flushHeaders();
    answer.on('data', (chunk: Buffer) => {
      if (!outgoing.write(chunk)) answer.pause();
    });
    outgoing.on('drain', () => answer.resume());
    answer.on('end', () => outgoing.end());
    answer.on('error', () => outgoing.destroy());
  });
  incoming.pipe(forward);
}
