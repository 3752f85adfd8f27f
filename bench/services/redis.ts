/** The Redis that a peer keeps its streams in: the `redis-server` on the path, in memory, gone with the measurement. */
import { openPortServer } from './port-server.ts';

export interface BenchRedis {
  readonly url: string;
  close(): Promise<void>;
}

/** Rejects where there is none. */
export async function openRedis(): Promise<BenchRedis> {
  const server = await openPortServer({
    command: 'redis-server',
    arguments(port, folder) {
      const address = ['--bind', '127.0.0.1', '--port', String(port)];
      return [...address, '--dir', folder, '--save', '', '--appendonly', 'no'];
    },
  });
  return { url: `redis://127.0.0.1:${server.port}`, close: () => server.close() };
}
