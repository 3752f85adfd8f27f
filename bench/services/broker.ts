/** The NATS that a measurement runs on: LEDGERLINE_BENCH_NATS_URL (with JetStream), else the `nats-server` on the path, in a folder of its own. */
import { openPortServer } from './port-server.ts';

export interface BenchBroker {
  readonly url: string;
  close(): Promise<void>;
}

/** With JetStream, whose streams go with `close`. Rejects where there is none. */
export async function openBroker(): Promise<BenchBroker> {
  const given = process.env['LEDGERLINE_BENCH_NATS_URL'];
  if (given !== undefined) return { url: given, close: () => Promise.resolve() };
  const server = await openPortServer({
    command: 'nats-server',
    arguments: (port, folder) => ['--addr', '127.0.0.1', '--port', String(port), '--jetstream', '--store_dir', folder],
  });
  return { url: `nats://127.0.0.1:${server.port}`, close: () => server.close() };
}
