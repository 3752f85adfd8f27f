/** What a fault test stands on: gateways of its own over servers of its own or the run's, gone when the test is. */
import { randomUUID } from 'node:crypto';
import { onTestFinished } from 'vitest';
import { endAll, makeWorkingFolder } from './cli.ts';
import { browserFollower, commandFollower, curlFollower, plainFollower } from './followers.ts';
import type { Follower, Stream } from './followers.ts';
import { startGateway } from './gateway.ts';
import type { RunningGateway } from './gateway.ts';
import { createSession } from './gateway-calls.ts';
import { freshDatabase, sharedNatsUrl, startNats, startPostgres } from './services.ts';
import type { DatabaseOptions, FreshDatabase } from './services.ts';
import type { TestServer } from './test-server.ts';

/** A database on the run's Postgres. */
export async function database(options?: DatabaseOptions): Promise<FreshDatabase> {
  const fresh = await freshDatabase(options);
  onTestFinished(() => fresh.drop());
  return fresh;
}

/** A Postgres to hurt, with a migrated database in it. */
export async function fragilePostgres(): Promise<TestServer & { readonly databaseUrl: string }> {
  const server = await startPostgres();
  onTestFinished(() => server.stop());
  const { url } = await freshDatabase({ on: server });
  return { ...server, databaseUrl: url };
}

/** A NATS to hurt. */
export async function fragileNats(): Promise<TestServer> {
  const server = await startNats();
  onTestFinished(() => server.stop());
  return server;
}

export interface GatewayStage {
  readonly databaseUrl: string;
  /** The run's NATS, if left out; `null` for the in-process bus. */
  readonly natsUrl?: string | null;
  readonly environment?: Readonly<Record<string, string>>;
}

/** So many gateways that share everything; on the run's NATS they have subjects of their own. */
export async function gateways(count: number, stage: GatewayStage): Promise<RunningGateway[]> {
  const subjects = { LEDGERLINE_NATS_SUBJECT_ROOT: `test-${randomUUID()}` };
  const natsUrl = stage.natsUrl === undefined ? sharedNatsUrl() : stage.natsUrl;
  return Promise.all(
    Array.from({ length: count }, async () => {
      const one = await startGateway({
        databaseUrl: stage.databaseUrl,
        ...(natsUrl === null ? {} : { natsUrl }),
        environment: { ...subjects, LEDGERLINE_LOG_LEVEL: 'warn', ...stage.environment },
      });
      onTestFinished(() => one.kill());
      return one;
    }),
  );
}

export async function gateway(stage: GatewayStage): Promise<RunningGateway> {
  const [only] = await gateways(1, stage);
  if (only === undefined) throw new Error('there is no gateway');
  return only;
}

export async function freshSession(at: RunningGateway): Promise<string> {
  const session = `t-${randomUUID()}`;
  await createSession(at, session);
  return session;
}

/** A folder for processes to run in; what they left running ends with the test. */
export function workingFolder(): string {
  const folder = makeWorkingFolder();
  onTestFinished(async () => {
    await endAll();
    folder.remove();
  });
  return folder.path;
}

const makes = {
  browser: browserFollower,
  command: commandFollower,
  curl: curlFollower,
  plain: plainFollower,
} as const;

/** Somebody who reads to the end through every cut. */
export function follower(
  make: keyof typeof makes,
  at: RunningGateway,
  stream: Pick<Stream, 'session'> & Partial<Stream>,
): Follower {
  const reader = makes[make]({ publicUrl: at.publicUrl, token: at.token, folder: '/', ...stream });
  onTestFinished(() => reader.stop());
  return reader;
}
