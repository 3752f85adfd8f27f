/** Puts a server of Node's on a free port with a long queue of connections, as all that are compared have it. */
import type { AddressInfo, Server } from 'node:net';

export async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 }, resolve);
  });
  return (server.address() as AddressInfo).port;
}
