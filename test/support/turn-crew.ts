/** A gateway, a database, and workers in processes of their own: the work half as it is deployed, for tests that hurt it. */
import { randomUUID } from 'node:crypto';
import { onTestFinished } from 'vitest';
import { call } from './gateway-calls.ts';
import type { CallAnswer } from './gateway-calls.ts';
import type { RunningGateway } from './gateway.ts';
import { withSql } from './ledger.ts';
import { sharedNatsUrl } from './services.ts';
import { database, freshSession, gateway, workingFolder } from './stage.ts';
import { toldEvents, turnBreaches } from './turn-rules.ts';
import type { ToldEvent } from './turn-rules.ts';
import { eventually } from './waits.ts';
import { startDeafWorker, startWorkerProcess } from './worker-process.ts';
import type { AgentInProcess, WorkerProcess } from './worker-process.ts';

export interface CrewOptions {
  readonly leaseMs: number;
  /** A database of the run's Postgres, if left out. */
  readonly databaseUrl?: string;
  readonly natsUrl?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

export interface Crew {
  readonly url: string;
  readonly at: RunningGateway;
  session(): Promise<string>;
  /** What the message was answered; repeated with the same key, it is the same message. */
  say(session: string, content: string, key?: string): Promise<CallAnswer>;
  worker(agent: AgentInProcess, more?: { name?: string; environment?: Record<string, string> }): Promise<WorkerProcess>;
  deafWorker(more: { maxAttempts?: number; pieces: number; pauseMs: number }): Promise<WorkerProcess>;
  told(session: string): Promise<ToldEvent[]>;
  /** Waits until the session has so many events of the type. */
  hears(session: string, type: string, count?: number): Promise<ToldEvent[]>;
  /** Waits until no message is without its answer. */
  rests(deadlineMs?: number): Promise<void>;
  /** What is wrong with any session; see `turn-rules`. */
  breaches(): Promise<string[]>;
}

export async function turnCrew({ leaseMs, databaseUrl, natsUrl, environment }: CrewOptions): Promise<Crew> {
  const url = databaseUrl ?? (await database()).url;
  const nats = natsUrl ?? sharedNatsUrl();
  const folder = workingFolder();
  const common = {
    LEDGERLINE_LEASE_MS: String(leaseMs),
    LEDGERLINE_NATS_SUBJECT_ROOT: `test-${randomUUID()}`,
    ...environment,
  };
  const at = await gateway({ databaseUrl: url, natsUrl: nats, environment: common });
  let hired = 0;
  const hire = (worker: WorkerProcess): WorkerProcess => {
    onTestFinished(() => worker.kill());
    return worker;
  };
  const told = (session: string): Promise<ToldEvent[]> => withSql(url, (sql) => toldEvents(sql, session));

  return {
    url,
    at,
    session: () => freshSession(at),
    say: (session, content, key = randomUUID()) =>
      call(at, 'POST', `/sessions/${session}/messages`, JSON.stringify({ key, content })),
    async worker(agent, more = {}) {
      const name = more.name ?? `worker-${(hired += 1)}`;
      const own = { DATABASE_URL: url, NATS_URL: nats, ...common, ...more.environment };
      return hire(await startWorkerProcess(agent, { folder, name, environment: own }));
    },
    async deafWorker({ maxAttempts = 3, pieces, pauseMs }) {
      const name = `deaf-${(hired += 1)}`;
      const options = { url: at.internalUrl, key: at.key, maxAttempts, pieces, pauseMs };
      return hire(await startDeafWorker(options, { folder, name }));
    },
    told,
    hears: (session, type, count = 1) =>
      withSql(url, (sql) =>
        eventually(
          `${count} ${type} in ${session}`,
          async () => {
            const events = await toldEvents(sql, session);
            return events.filter((event) => event.type === type).length >= count && events;
          },
          60_000,
        ),
      ),
    async rests(deadlineMs = 60_000) {
      await withSql(url, (sql) =>
        eventually(
          'every message has its answer',
          async () =>
            (await sql`select from ledgerline.turn_request where status in ('pending', 'claimed') limit 1`).length ===
            0,
          deadlineMs,
        ),
      );
    },
    breaches: () => withSql(url, turnBreaches),
  };
}
