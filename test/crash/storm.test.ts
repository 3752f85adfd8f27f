/** Twenty readers of four makes through every fault at once: each ends with every event, in order, once. */
import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { createProducer } from '../../src/producer/producer.ts';
import type { Producer } from '../../src/producer/producer.ts';
import type { RunningGateway } from '../support/gateway.ts';
import { call, closeSession, createSession, metric } from '../support/gateway-calls.ts';
import { countTo } from '../support/ledger.ts';
import { follower, fragileNats, fragilePostgres, gateways, workingFolder } from '../support/stage.ts';
import { eventually } from '../support/waits.ts';

const EVENTS = 5_000;
/** Stored together; what comes next waits until they are, so that the run lasts as long as its faults. */
const CHUNK = 25;

async function produce(producer: Producer, stored: (last: number) => void): Promise<void> {
  for (let index = 1; index <= EVENTS; index++) {
    await producer.append('text.delta', { message: 'm1', text: `word ${index}` });
    if (index % CHUNK === 0) stored((await producer.flush()).last);
  }
}

it('readers of every make get each of 5,000 events once and in order while everything else is killed or frozen', async () => {
  const postgres = await fragilePostgres();
  const nats = await fragileNats();
  const [first, second] = (await gateways(2, { databaseUrl: postgres.databaseUrl, natsUrl: nats.url })) as [
    RunningGateway,
    RunningGateway,
  ];
  const session = `storm-${randomUUID()}`;
  await createSession(first, session);
  const folder = workingFolder();
  const makes = ['browser', 'browser', 'command', 'curl', 'plain'] as const;
  const readers = countTo(20).map((number) =>
    follower(makes[number % makes.length] ?? 'plain', number % 2 === 0 ? first : second, { session, folder }),
  );

  const producer = createProducer({ url: first.internalUrl, key: first.key, session });
  let stored = 0;
  let failure: unknown;
  const producing = produce(producer, (last) => (stored = last)).catch((error: unknown) => (failure = error));
  const storedPast = (sequence: number): Promise<unknown> =>
    eventually(`${sequence} events are stored`, () => failure !== undefined || stored >= sequence, 60_000);
  const isReady = async (gateway: RunningGateway): Promise<boolean> =>
    (await call(gateway, 'GET', '/readyz')).status === 200;

  await storedPast(200);
  await second.kill();
  await storedPast(500);
  await second.restart();

  await storedPast(900);
  await postgres.restart();
  await storedPast(1_300);
  await nats.kill();
  await storedPast(1_700);
  await nats.restart();

  await storedPast(2_100);
  nats.freeze();
  await eventually('the frozen NATS counts as away', async () => (await metric(second, 'ledgerline_bus_away')) === 1);
  nats.thaw();
  await eventually('NATS is back', async () => (await metric(second, 'ledgerline_bus_away')) === 0);

  await storedPast(3_000);
  postgres.freeze();
  await eventually('the gateway says that it is not ready', async () => !(await isReady(first)));
  postgres.thaw();
  await storedPast(3_500);
  // the producer's own gateway, in the middle of its appends
  await first.restart();

  await producing;
  expect(failure).toBeUndefined();
  await producer.close();
  expect(stored).toBe(EVENTS);
  await closeSession(first, session);
  for (const [index, reader] of readers.entries()) {
    const name = `reader ${index}, ${reader.make}`;
    expect(await eventually(`${name} is told the end`, () => reader.ended(), 60_000), name).toBe('end');
    expect(reader.sequences(), name).toEqual(countTo(EVENTS));
  }
  for (const make of new Set(readers.map((reader) => reader.make))) {
    const cuts = readers.filter((reader) => reader.make === make).reduce((sum, reader) => sum + reader.reconnects(), 0);
    expect(cuts, `${make} was cut off`).toBeGreaterThan(0);
  }
});
