/** A NATS server of this test run, from the `nats-server` on the path. */
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { type GuardedProcess, spawnGuarded } from '../../src/db/guarded-process.ts';
import { freePort } from '../../src/db/postgres-process.ts';
import { connect } from 'node:net';
import { onPath } from './path-lookup.ts';
import { remove } from './run-folder.ts';
import type { TestServer } from './test-server.ts';
import { eventually } from './waits.ts';

export const hasLocalNats = (): boolean => onPath('nats-server') !== undefined;

export async function startLocalNats(runFolder: string): Promise<TestServer> {
  const command = onPath('nats-server');
  if (command === undefined) throw new Error('there is no nats-server on the path');
  const folder = mkdtempSync(join(runFolder, 'nats-'));
  const start = async (port: number): Promise<GuardedProcess> => {
    const said: string[] = [];
    const server = await spawnGuarded({
      command,
      arguments: ['--addr', '127.0.0.1', '--port', String(port), '--jetstream', '--store_dir', folder],
      stopSignal: 'TERM',
      workingFolder: folder,
      onLine: (line) => said.push(line),
    });
    try {
      await eventually('nats-server greets', () => !server.isRunning || greets(port));
      if (!server.isRunning) throw new Error('it ended');
      return server;
    } catch (cause) {
      server.signal('SIGKILL');
      throw new Error(`nats-server did not start:\n${said.join('\n')}`, { cause });
    }
  };
  const startFree = async (): Promise<[GuardedProcess, number]> => {
    const port = await freePort();
    return [await start(port), port];
  };

  // somebody else may take a port that was free a moment ago
  let [server, port] = await startFree().catch(startFree);
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    server.signal(signal);
    server.signal('SIGCONT');
    await server.ended;
  };
  return {
    url: `nats://127.0.0.1:${port}`,
    kill: () => end('SIGKILL'),
    freeze: () => server.signal('SIGSTOP'),
    thaw: () => server.signal('SIGCONT'),
    async stop() {
      await end('SIGTERM');
      remove(folder);
    },
    async restart() {
      await end('SIGKILL');
      server = await start(port);
    },
  };
}

/** The server speaks first: `INFO {…}`. */
function greets(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    // somebody else's server may wait for us to speak
    socket.setTimeout(1_000, () => socket.destroy());
    socket.once('data', (bytes) => {
      resolve(bytes.toString('latin1').startsWith('INFO'));
      socket.destroy();
    });
    socket.once('error', () => resolve(false));
    socket.once('close', () => resolve(false));
  });
}
