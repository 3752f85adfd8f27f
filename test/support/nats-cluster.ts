/** Three NATS servers that keep streams together, each to be killed by itself. */
import { mkdirSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { onTestFinished } from 'vitest';
import { spawnGuarded } from '../../src/db/guarded-process.ts';
import { freePort } from '../../src/db/postgres-process.ts';
import { onBroker } from './outbox-stage.ts';
import { onPath } from './path-lookup.ts';
import { remove } from './run-folder.ts';
import { eventually } from './waits.ts';

const NAMES = ['n1', 'n2', 'n3'] as const;
type Name = (typeof NAMES)[number];

/** Elections take seconds. */
const PATIENCE_MS = 60_000;

export interface NatsCluster {
  /** All three, separated by commas. */
  readonly url: string;
  /** Which of them leads a stream. */
  leaderOf(stream: string): Promise<Name>;
  kill(name: Name): Promise<void>;
  restart(name: Name): Promise<void>;
}

export async function startNatsCluster(): Promise<NatsCluster> {
  const command = onPath('nats-server');
  if (command === undefined) throw new Error('there is no nats-server on the path');
  const folder = mkdtempSync(join(tmpdir(), 'ledgerline-cluster-'));
  const ports = new Map<Name, { readonly client: number; readonly route: number }>();
  for (const name of NAMES) ports.set(name, { client: await freePort(), route: await freePort() });
  const portsOf = (name: Name) => ports.get(name) ?? { client: 0, route: 0 };
  const routes = NAMES.map((name) => `nats://127.0.0.1:${portsOf(name).route}`).join(',');
  const urlOf = (name: Name): string => `nats://127.0.0.1:${portsOf(name).client}`;

  const start = (name: Name) => {
    const { client, route } = portsOf(name);
    const store = join(folder, name);
    mkdirSync(store, { recursive: true });
    const place = ['--addr', '127.0.0.1', '--port', String(client), '--jetstream', '--store_dir', store];
    const cluster = ['--cluster_name', 'test', '--cluster', `nats://127.0.0.1:${route}`, '--routes', routes];
    return spawnGuarded({
      command,
      arguments: ['--server_name', name, ...place, ...cluster],
      stopSignal: 'TERM',
      workingFolder: folder,
      onLine: () => undefined,
    });
  };
  const servers = new Map<Name, Awaited<ReturnType<typeof start>>>();
  for (const name of NAMES) servers.set(name, await start(name));
  const kill = async (name: Name): Promise<void> => {
    const server = servers.get(name);
    server?.signal('SIGKILL');
    await server?.ended;
  };
  onTestFinished(async () => {
    await Promise.all(NAMES.map(kill));
    remove(folder);
  });

  const running = (): Name[] => NAMES.filter((name) => servers.get(name)?.isRunning === true);
  const asking = <T>(work: Parameters<typeof onBroker<T>>[1]): Promise<T> =>
    onBroker(urlOf(running()[0] ?? 'n1'), work);
  await eventually(
    'the three have elected a leader',
    () =>
      asking(async (manager) => {
        const name = 'TRIAL';
        await manager.streams.add({ name, subjects: ['trial'], num_replicas: 3 });
        return manager.streams.delete(name);
      }).catch(() => false),
    PATIENCE_MS,
  );
  return {
    url: NAMES.map(urlOf).join(','),
    async leaderOf(stream) {
      const { cluster } = await asking((manager) => manager.streams.info(stream));
      const leader = NAMES.find((name) => name === cluster?.leader);
      if (leader === undefined) throw new Error(`nobody leads ${stream}`);
      return leader;
    },
    kill,
    async restart(name) {
      servers.set(name, await start(name));
    },
  };
}
