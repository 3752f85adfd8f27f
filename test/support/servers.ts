/** Which servers a run can have: local binaries first, then images; what is missing is an error, never a skip. */
import { hasDocker, startNatsContainer, startPostgresContainer } from './containers.ts';
import { hasLocalNats, startLocalNats } from './local-nats.ts';
import { hasLocalPostgres, startLocalPostgres } from './local-postgres.ts';
import { installByApt } from './path-lookup.ts';
import type { TestServer } from './test-server.ts';

export async function startPostgresServer(runFolder: string): Promise<TestServer> {
  if (hasLocalPostgres()) return startLocalPostgres(runFolder);
  if (await hasDocker()) return startPostgresContainer();
  throw new Error(
    'the tests need a Postgres: install with optional dependencies, or a Postgres in /usr/lib/postgresql, or start Docker',
  );
}

export async function startNatsServer(runFolder: string): Promise<TestServer> {
  if (hasLocalNats()) return startLocalNats(runFolder);
  if (await hasDocker()) return startNatsContainer();
  if (installByApt('nats-server') && hasLocalNats()) return startLocalNats(runFolder);
  throw new Error('the tests need a NATS: put nats-server on the path, or start Docker');
}
