/** A crew whose agent refunds: workers that can be killed at any point of it, the business's own table, and the provider. */
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { withSql } from './ledger.ts';
import { startProvider } from './provider.ts';
import type { Model, Provider } from './provider.ts';
import { refundAgent } from './refund-agent.ts';
import type { AgentFault, RefundAgentOptions } from './refund-agent.ts';
import { sharedNatsUrl } from './services.ts';
import { workingFolder } from './stage.ts';
import { waitAtCommitOf } from './stranger.ts';
import { turnCrew } from './turn-crew.ts';
import type { Crew } from './turn-crew.ts';
import { eventually } from './waits.ts';
import { quickModule } from './quick-program.ts';
import { startProgram } from './worker-process.ts';
import type { WorkerProcess } from './worker-process.ts';

export interface RefundCrew extends Crew {
  readonly provider: Provider;
  readonly subjectRoot: string;
  /** A new session in which this was said. */
  asked(content: string): Promise<string>;
  /** `ledgerline worker`, with the agent that refunds. */
  employ(fault?: AgentFault): Promise<WorkerProcess>;
  /** A worker that dies at this point, and whoever comes after it, until nothing is left to do. */
  survives(point: string, content: string, fault?: AgentFault): Promise<string>;
  /** Rows of the business's own table, and those of the outbox. */
  refunds(): Promise<number>;
  deliveries(): Promise<number>;
}

/** Long enough that a busy machine takes no turn from a worker that lives. */
const LEASE_MS = 2_000;

const agentText = async (options: RefundAgentOptions): Promise<string> => `
import postgres from '${await quickModule('postgres')}';
import { z } from '${await quickModule('zod')}';
import { defineAgent } from '${await quickModule('agent')}';
export default (${refundAgent.toString()})({ defineAgent, z, postgres }, ${JSON.stringify(options)});
`;

export async function refundCrew(model?: Model): Promise<RefundCrew> {
  const subjectRoot = `test-${randomUUID()}`;
  const environment = { LEDGERLINE_NATS_SUBJECT_ROOT: subjectRoot };
  const crew = await turnCrew({ leaseMs: LEASE_MS, environment });
  const provider = await startProvider(model);
  const folder = workingFolder();
  await withSql(crew.url, (sql) =>
    sql.unsafe('create table refund (place bigserial primary key, step_key text, order_id text, cents integer)'),
  );
  await waitAtCommitOf(crew.url, 'refund', 'order_id');
  let hired = 0;

  async function employ(fault?: AgentFault): Promise<WorkerProcess> {
    const name = `refunds-${(hired += 1)}`;
    const file = join(folder, `${name}.mjs`);
    writeFileSync(file, await agentText({ databaseUrl: crew.url, providerUrl: provider.url, fault }));
    const worker = await startProgram(name, ['worker', '--name', name, file], {
      DATABASE_URL: crew.url,
      NATS_URL: sharedNatsUrl(),
      LEDGERLINE_LEASE_MS: String(LEASE_MS),
      ...environment,
    });
    onTestFinished(() => worker.kill());
    return worker;
  }

  async function asked(content: string): Promise<string> {
    const session = await crew.session();
    await crew.say(session, content);
    return session;
  }

  const count = (table: string) => (): Promise<number> =>
    withSql(crew.url, async (sql) => {
      const [row] = await sql<{ rows: number }[]>`select count(*) as rows from ${sql(table)}`;
      return row?.rows ?? 0;
    });

  return {
    ...crew,
    provider,
    subjectRoot,
    asked,
    employ,
    async survives(point, content, fault) {
      const held = provider.hold(point);
      const session = await asked(content);
      const victim = await employ(fault);
      await held.met();
      await victim.kill();
      await employ(fault);
      await eventually(
        'the turn is over',
        async () =>
          (await crew.told(session)).some(({ type }) => type === 'turn.completed' || type === 'turn.in_doubt'),
        60_000,
      );
      return session;
    },
    refunds: count('refund'),
    deliveries: count('ledgerline.outbox'),
  };
}
