/** A connection to JetStream of the deliveries' own, made when it is needed, and again after a loss; with the stream in its place. */
import { DebugEvents, DiscardPolicy, RetentionPolicy, StorageType, connect, nanos } from 'nats';
import type { JetStreamClient, JetStreamManager, NatsConnection, StreamConfig } from 'nats';
import type { Clock } from '../base/clock.ts';
import { LedgerlineError, toError } from '../base/errors.ts';
import { deliveryLimits } from '../base/delivery-limits.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import { knock, nameOf } from '../base/nats-server.ts';
import type { NatsServer } from '../base/nats-server.ts';
import { detach } from '../base/service.ts';
import { acknowledgedPublish } from './acknowledged.ts';
import type { AcknowledgedPublish } from './acknowledged.ts';
import { deliveryRootOf, streamOf } from './wire.ts';

export interface Link {
  readonly client: NatsConnection;
  readonly stream: JetStreamClient;
  readonly manager: JetStreamManager;
  readonly publish: AcknowledgedPublish;
}

export interface JetStreamConnection {
  /** The one connection, or a try to have it; rejects when the broker is away, or is set up for something else. */
  link(): Promise<Link>;
  close(): Promise<void>;
}

export interface JetStreamOptions {
  readonly servers: readonly NatsServer[];
  readonly subjectRoot: string;
  /** Copies of the stream, where it is made anew. An existing one stays as its operator made it. */
  readonly replicas: number;
  readonly duplicateWindowMs: number;
  readonly publishDeadlineMs: number;
  readonly clock: Clock;
  readonly log: Log;
}

const DAY_MS = 24 * 3_600_000;

export function createConnection({
  servers,
  subjectRoot,
  replicas,
  duplicateWindowMs,
  publishDeadlineMs,
  clock,
  log,
}: JetStreamOptions): JetStreamConnection {
  const stopping = new AbortController();
  const name = streamOf(subjectRoot);
  const subject = `${deliveryRootOf(subjectRoot)}.*`;
  let current: Promise<Link> | undefined;
  let tries = 0;

  /** Each server of a cluster after the other. The client does not reconnect by itself: it keeps too much of what was. */
  async function dial(): Promise<Link> {
    const server = servers[tries++ % servers.length];
    if (server === undefined) throw new LedgerlineError('configuration', 'there is no NATS server to connect to');
    await knock(server, limits.connectDeadlineMs, stopping.signal);
    const client = await connect({
      servers: nameOf({
        ...server,
        hostname: server.hostname.includes(':') ? `[${server.hostname}]` : server.hostname,
      }),
      ...server.login,
      ...(server.isTls ? { tls: {} } : {}),
      name: 'ledgerline deliveries',
      timeout: limits.connectDeadlineMs,
      reconnect: false,
      pingInterval: limits.natsPingMs,
      maxPingOut: limits.natsPingsOut,
    });
    detach(endWhenStale(client), log, 'the watch of the NATS connection failed');
    try {
      const manager = await client.jetstreamManager({ timeout: deliveryLimits.publishDeadlineMs });
      await setUpStream(manager);
      const stream = client.jetstream({ timeout: deliveryLimits.publishDeadlineMs });
      return {
        client,
        manager,
        stream,
        publish: acknowledgedPublish(client, { deadlineMs: publishDeadlineMs, clock, log }),
      };
    } catch (thrown) {
      await client.close();
      throw thrown;
    }
  }

  /** `discard: new`: a full stream says so to the relay, and drops nothing that it acknowledged. */
  async function setUpStream(manager: JetStreamManager): Promise<void> {
    const config: Partial<StreamConfig> & { name: string } = {
      name,
      subjects: [subject],
      retention: RetentionPolicy.Limits,
      storage: StorageType.File,
      discard: DiscardPolicy.New,
      max_age: nanos(deliveryLimits.deliveryDays * DAY_MS),
      duplicate_window: nanos(duplicateWindowMs),
      num_replicas: replicas,
    };
    const existing = await manager.streams.info(name).catch((thrown: unknown) => {
      if (apiErrorCode(thrown) !== STREAM_NOT_FOUND) throw thrown;
    });
    const { config: made } = existing ?? (await manager.streams.add(config));
    if (!made.subjects.includes(subject)) {
      throw new LedgerlineError(
        'configuration',
        `the stream ${name} exists and does not take ${subject}: add it to the stream's subjects`,
      );
    }
    // What it drops sooner the reconcile would take for lost, and publish every day.
    const isKeptLess = made.max_age !== 0 && made.max_age < nanos(deliveryLimits.deliveryDays * DAY_MS);
    const isCutPerSubject = made.max_msgs_per_subject > 0 && !made.discard_new_per_subject;
    if (made.retention !== RetentionPolicy.Limits || isKeptLess || isCutPerSubject) {
      throw new LedgerlineError(
        'configuration',
        `the stream ${name} does not keep deliveries for ${deliveryLimits.deliveryDays} days: set its retention to "limits", its ` +
          'maximum age to so much or more, and no maximum of messages per subject',
      );
    }
    if (made.discard !== DiscardPolicy.New) {
      throw new LedgerlineError(
        'configuration',
        `the stream ${name} drops old deliveries when it is full: set its discard policy to "new"`,
      );
    }
  }

  return {
    link() {
      if (stopping.signal.aborted)
        return Promise.reject(new LedgerlineError('unavailable', 'the connection was closed'));
      if (current !== undefined) return current;
      const made = dial();
      current = made;
      const forget = (): void => {
        if (current === made) current = undefined;
      };
      detach(
        made.then(({ client }) => client.closed().then(forget), forget),
        log,
        'a connection was not looked after',
      );
      return made;
    },
    async close() {
      stopping.abort();
      const made = await current?.catch(() => undefined);
      await made?.client.close();
    },
  };
}

/** The client would first wait for its unsent bytes to leave: against a frozen server with full buffers, for ever. */
async function endWhenStale(client: NatsConnection): Promise<void> {
  for await (const status of client.status()) if (status.type === DebugEvents.StaleConnection) await client.close();
}

const STREAM_NOT_FOUND = 10_059;

/** JetStream's own number for an error that its server answered. */
export function apiErrorCode(thrown: unknown): number | undefined {
  const error = toError(thrown) as Error & { readonly api_error?: { readonly err_code?: unknown } };
  const code = error.api_error?.err_code;
  return typeof code === 'number' ? code : undefined;
}
