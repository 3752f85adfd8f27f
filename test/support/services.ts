/** The servers of a test: the run's shared ones, and a test's own to hurt. */
import { inject } from 'vitest';
import { makeDatabase } from './fresh-database.ts';
import type { FreshDatabase } from './fresh-database.ts';
import { startNatsServer, startPostgresServer } from './servers.ts';
import type { TestServer } from './test-server.ts';

export type { FreshDatabase } from './fresh-database.ts';
export type { TestServer } from './test-server.ts';

/** A Postgres of the calling test's own: kill it, freeze it, restart it, and stop it in the end. */
export const startPostgres = (): Promise<TestServer> => startPostgresServer(inject('runFolder'));

/** A NATS of the calling test's own. */
export const startNats = (): Promise<TestServer> => startNatsServer(inject('runFolder'));

/** The run's Postgres, for every test that leaves it as it is; its databases come from `freshDatabase`. */
const sharedPostgresUrl = (): string => inject('postgresUrl');

/** The run's NATS. Others publish on it too: choose a subject root of your own. */
export const sharedNatsUrl = (): string => inject('natsUrl');

export interface DatabaseOptions {
  /** What a session of this database begins with; our own connections must not depend on it. */
  readonly isolation?: 'serializable' | undefined;
  /** Another server than the run's. */
  readonly on?: TestServer;
  /** Leaves the schema to the test. */
  readonly isEmpty?: boolean | undefined;
}

/** A migrated database of the calling test's own. */
export function freshDatabase({ on, isolation, isEmpty }: DatabaseOptions = {}): Promise<FreshDatabase> {
  // what was migrated once is copied, in a fifth of the time
  if (on === undefined && isolation === undefined && isEmpty !== true) {
    return makeDatabase(sharedPostgresUrl(), { template: inject('templateDatabase') });
  }
  return makeDatabase(on?.url ?? sharedPostgresUrl(), { isolation, isEmpty });
}
