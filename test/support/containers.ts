/** Servers out of images, where there are no local ones and Docker answers. */
import { GenericContainer, type StartedTestContainer, Wait, getContainerRuntimeClient } from 'testcontainers';
import { freePort } from '../../src/db/postgres-process.ts';
import type { TestServer } from './test-server.ts';

const POSTGRES_IMAGE = process.env['LEDGERLINE_TEST_POSTGRES_IMAGE'] ?? 'postgres:18-alpine';
const NATS_IMAGE = process.env['LEDGERLINE_TEST_NATS_IMAGE'] ?? 'nats:2.12-alpine';

export async function hasDocker(): Promise<boolean> {
  try {
    await getContainerRuntimeClient();
    return true;
  } catch {
    return false;
  }
}

export async function startPostgresContainer(): Promise<TestServer> {
  const port = await freePort();
  const container = new GenericContainer(POSTGRES_IMAGE)
    .withEnvironment({ POSTGRES_PASSWORD: 'test', POSTGRES_INITDB_ARGS: '--locale=C --encoding=UTF8' })
    .withCommand(['postgres', '-c', 'fsync=off', '-c', 'max_connections=300'])
    .withExposedPorts({ container: 5432, host: port })
    // a new one starts twice: once to prepare itself, where no network reaches it, and then for good
    .withWaitStrategy(Wait.forSuccessfulCommand('pg_isready --host 127.0.0.1 --username postgres'));
  return hurtable(await container.start(), (host) => `postgres://postgres:test@${host}:${port}/postgres`);
}

export async function startNatsContainer(): Promise<TestServer> {
  const port = await freePort();
  const container = new GenericContainer(NATS_IMAGE)
    .withCommand(['--jetstream'])
    .withExposedPorts({ container: 4222, host: port })
    .withWaitStrategy(Wait.forLogMessage(/Server is ready/));
  return hurtable(await container.start(), (host) => `nats://${host}:${port}`);
}

/** A fixed port, because Docker gives a restarted container another one otherwise. */
async function hurtable(started: StartedTestContainer, url: (host: string) => string): Promise<TestServer> {
  const runtime = await getContainerRuntimeClient();
  const container = runtime.container.getById(started.getId());
  const kill = async (): Promise<void> => {
    const { State: state } = await container.inspect();
    if (state.Running) await container.kill();
  };
  // Docker answers in its own time; what follows a freeze waits for it
  let changing: Promise<unknown> = Promise.resolve();
  return {
    url: url(started.getHost()),
    async kill() {
      await changing;
      await kill();
    },
    freeze: () => void (changing = container.pause()),
    thaw: () => void (changing = changing.then(() => container.unpause())),
    async stop() {
      await changing;
      await started.stop();
    },
    async restart() {
      await changing;
      await kill();
      await started.restart();
    },
  };
}
