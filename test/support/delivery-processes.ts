/** Relays and consumers in processes of their own, to be killed and frozen: as they are meant, and others that forget. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type postgres from 'postgres';
import type { createLog as log } from '../../src/base/log.ts';
import type { createConsumer } from '../../src/outbox/inbox.ts';
import type { jetStreamChannel as jetStream } from '../../src/outbox/jetstream-channel.ts';
import type { Delivery } from '../../src/outbox/delivery.ts';
import { START_MS } from './gateway.ts';
import { quickModule, quickProgram } from './quick-program.ts';
import { workingFolder } from './stage.ts';
import { eventually } from './waits.ts';
import { startProcess } from './worker-process.ts';
import type { WorkerProcess } from './worker-process.ts';

export interface DeliveryPlace {
  readonly databaseUrl: string;
  readonly natsUrl: string;
  readonly subjectRoot: string;
}

interface Libraries {
  readonly createConsumer: typeof createConsumer;
  readonly createLog: typeof log;
  readonly jetStreamChannel: typeof jetStream;
  readonly postgres: typeof postgres;
}

const libraries = async (): Promise<string> => `
import postgres from '${await quickModule('postgres')}';
import { createLog } from '${await quickModule('log')}';
import { createConsumer } from '${await quickModule('inbox')}';
import { jetStreamChannel } from '${await quickModule('channel')}';
`;

type Program<Options> = (libraries: Libraries, options: Options) => Promise<void>;

/** Each runs as text, so it uses nothing from around it; its effect is a row of `applied`. */
export const sound: Program<ConsumerPlace> = async ({ createConsumer: create }, place) => {
  const { name, databaseUrl, natsUrl, subjectRoot, topics } = place;
  const consumer = create({
    name,
    topics,
    databaseUrl,
    from: { natsUrl, subjectRoot },
    async apply(tx, { session, outboxSequence, payload }) {
      await tx`insert into applied (consumer, session, number, payload)
               values (${name}::text, ${session}::text, ${outboxSequence}::bigint, ${payload}::text)`;
    },
  });
  await consumer.start();
};

/** It knows what it has applied for as long as it lives. */
export const forgetful: Program<ConsumerPlace> = async ({ jetStreamChannel, createLog, postgres: client }, place) => {
  const { name, databaseUrl, natsUrl, subjectRoot } = place;
  const applied = new Set<string>();
  const sql = client(databaseUrl, { max: 1 });
  const own = createLog('info');
  const channel = jetStreamChannel({ url: natsUrl, subjectRoot, log: own });
  await channel.start();
  own.info('consuming');
  await channel.consume(
    name,
    async ({ delivery, acknowledge }) => {
      const { session, outboxSequence, identity, payload } = delivery;
      if (!applied.has(identity)) {
        await sql`insert into applied (consumer, session, number, payload)
                  values (${name}, ${session}, ${outboxSequence}, ${payload ?? null})`;
        applied.add(identity);
      }
      acknowledge();
    },
    new AbortController().signal,
  );
};

/** It marks what it is about to publish, lest it publish it twice; `pointUrl` is where it says that it has marked. */
const hasty: Program<DeliveryPlace & { readonly pointUrl: string }> = async (
  { jetStreamChannel, createLog, postgres: client },
  { databaseUrl, natsUrl, subjectRoot, pointUrl },
) => {
  const sql = client(databaseUrl, { max: 1 });
  const own = createLog('info');
  const channel = jetStreamChannel({ url: natsUrl, subjectRoot, log: own });
  await channel.start();
  own.info('relaying');
  const rows = await sql<(Omit<Delivery, 'outboxSequence' | 'payload'> & { number: string; payload: string })[]>`
    update ledgerline.outbox set published_at = clock_timestamp() where published_at is null
    returning session, outbox_sequence as number, turn_id || ':' || step_index || ':' || topic as identity, topic, payload::text as payload`;
  await fetch(`${pointUrl}/at`, { method: 'POST', body: JSON.stringify({ point: 'marked' }) });
  for (const { number, ...row } of rows.toSorted((one, other) => Number(one.number) - Number(other.number))) {
    await channel.publish({ ...row, outboxSequence: Number(number) });
  }
  own.info('published');
};

interface ConsumerPlace extends DeliveryPlace {
  /** Of the consumer; its processes have the same. */
  readonly name: string;
  readonly topics: readonly string[];
}

export function deliveryProcesses(place: DeliveryPlace) {
  const folder = workingFolder();
  let started = 0;

  async function start(name: string, file: readonly string[], says: string, natsUrl = place.natsUrl) {
    const one = await startProcess(name, file, {
      DATABASE_URL: place.databaseUrl,
      NATS_URL: natsUrl,
      LEDGERLINE_NATS_SUBJECT_ROOT: place.subjectRoot,
    });
    onTestFinished(() => one.kill());
    const isReady = (): boolean => one.lines().some((line) => line.includes(`"msg":"${says}"`));
    await eventually(`${name} says that it is ${says}`, () => !one.isRunning || isReady(), START_MS);
    if (!isReady()) throw new Error(`${name} ended at once:\n${one.lines().join('\n')}`);
    return one;
  }

  async function write<Options>(name: string, program: Program<Options>, options: Options): Promise<string[]> {
    const file = join(folder, `${name}.mjs`);
    const given = '{ createConsumer, createLog, jetStreamChannel, postgres }';
    writeFileSync(file, `${await libraries()}await (${program.toString()})(${given}, ${JSON.stringify(options)});\n`);
    return [file];
  }

  const nameOf = (what: string): string => `${what}-${(started += 1)}`;
  return {
    /** `ledgerline relay`. */
    relay: async (natsUrl?: string): Promise<WorkerProcess> =>
      start(nameOf('relay'), [await quickProgram('main'), 'relay'], 'relaying', natsUrl),
    async hastyRelay(pointUrl: string): Promise<WorkerProcess> {
      const name = nameOf('hasty');
      return start(name, await write(name, hasty, { ...place, pointUrl }), 'relaying');
    },
    /** A process of the consumer `c`. */
    async consumer(
      program: Program<ConsumerPlace> = sound,
      topics: readonly string[] = ['topic'],
    ): Promise<WorkerProcess> {
      const name = nameOf('consumer');
      return start(name, await write(name, program, { ...place, name: 'c', topics }), 'consuming');
    },
  };
}
