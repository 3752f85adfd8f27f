/** The NATS that a measurement runs on: LEDGERLINE_BENCH_NATS_URL (with JetStream), else the `nats-server` on the path, in a folder of its own. */
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sleep } from '../src/base/clock.ts';
import { spawnGuarded } from '../src/db/guarded-process.ts';
import { freePort } from '../src/db/postgres-process.ts';

export interface BenchBroker {
  readonly url: string;
  close(): Promise<void>;
}

/** With JetStream, whose streams go with `close`. Undefined where there is none: the report says so. */
export async function openBroker(): Promise<BenchBroker | undefined> {
  const given = process.env['LEDGERLINE_BENCH_NATS_URL'];
  if (given !== undefined) return { url: given, close: () => Promise.resolve() };
  const folder = await mkdtemp(join(tmpdir(), 'ledgerline-bench-nats-'));
  const port = await freePort();
  try {
    const server = await spawnGuarded({
      command: 'nats-server',
      arguments: ['--addr', '127.0.0.1', '--port', String(port), '--jetstream', '--store_dir', folder],
      stopSignal: 'TERM',
      workingFolder: folder,
      environment: { PATH: process.env['PATH'] ?? '' },
      onLine: () => undefined,
    });
    while (server.isRunning && !(await listens(port))) await sleep(20);
    if (!server.isRunning) throw new Error('nats-server ended');
    return {
      url: `nats://127.0.0.1:${port}`,
      async close() {
        server.release();
        await server.ended;
        await rm(folder, { recursive: true, force: true });
      },
    };
  } catch {
    await rm(folder, { recursive: true, force: true });
    return undefined;
  }
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const answer = (isThere: boolean): void => {
      socket.destroy();
      resolve(isThere);
    };
    socket.once('connect', () => answer(true)).once('error', () => answer(false));
  });
}
