/** What stands before several gateways: each connection goes to the next of them that takes it. */
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

export interface Balancer {
  readonly url: string;
  stop(): Promise<void>;
}

export async function startBalancer(urls: readonly string[]): Promise<Balancer> {
  const ports = urls.map((url) => Number(new URL(url).port));
  const sockets = new Set<Socket>();
  let turn = 0;

  function track(socket: Socket): Socket {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('error', () => undefined); // a gateway that was killed is what this is for
    return socket.on('close', () => sockets.delete(socket));
  }

  function carry(client: Socket, tries: number): void {
    const port = ports[(turn += 1) % ports.length] ?? 0;
    const gateway = track(connect(port, '127.0.0.1'));
    gateway.once('connect', () => {
      gateway.off('close', onRefused);
      client.pipe(gateway).pipe(client);
      gateway.once('close', () => client.destroy());
      client.once('close', () => gateway.destroy());
    });
    const onRefused = (): void => {
      if (tries > 1) carry(client, tries - 1);
      else client.destroy();
    };
    gateway.once('close', onRefused);
  }

  const server = createServer((client) => carry(track(client), ports.length));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
