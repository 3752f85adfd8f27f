/** NATS away: cut under many readers, absent at the start, or with limits that an append exceeds. */
import { expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../src/db/postgres-process.ts';
import { append, metric } from '../support/gateway-calls.ts';
import { startInProcessGateway } from '../support/in-process-gateway.ts';
import { countTo } from '../support/ledger.ts';
import { sharedNatsUrl } from '../support/services.ts';
import { database, follower, fragileNats, freshSession, gateway, gateways } from '../support/stage.ts';
import type { RunningGateway } from '../support/gateway.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';
import { eventually } from '../support/waits.ts';

it('100 readers get what was appended while NATS was cut, though nothing is said after it is back [OpenBot#310, resgate#23]', async () => {
  const { url } = await database();
  const nats = await startTcpProxy({ port: Number(new URL(sharedNatsUrl()).port) });
  onTestFinished(() => nats.stop());
  const natsUrl = `nats://127.0.0.1:${nats.port}`;
  const [writing, reading] = (await gateways(2, { databaseUrl: url, natsUrl })) as [RunningGateway, RunningGateway];
  const session = await freshSession(writing);
  const readers = countTo(100).map(() => follower('plain', reading, { session }));
  await eventually('all readers are there', async () => (await metric(reading, 'ledgerline_subscribers')) === 100);
  await append(writing, session, '0');
  await eventually('the bus works', () => readers.every((reader) => reader.sequences().length === 1));

  await nats.cut();
  await eventually('NATS is away', async () => (await metric(reading, 'ledgerline_bus_away')) === 1);
  for (const index of countTo(20)) expect((await append(writing, session, String(index))).status).toBe(201);
  await nats.restore();

  await eventually('every reader has all 20', () => readers.every((reader) => reader.sequences().length >= 21));
  await eventually('NATS is back', async () => (await metric(reading, 'ledgerline_bus_away')) === 0);
  await append(writing, session, '"live again"');
  await eventually('the bus works again', () => readers.every((reader) => reader.sequences().length >= 22));
  for (const reader of readers) {
    expect(reader.sequences()).toEqual(countTo(22));
    expect(reader.reconnects()).toBe(0);
  }
});

it('a gateway starts without NATS, serves by reading heads, and takes the bus when it comes', async () => {
  const { url } = await database();
  const nats = await fragileNats();
  await nats.kill();
  const [writing, reading] = (await gateways(2, { databaseUrl: url, natsUrl: nats.url })) as [
    RunningGateway,
    RunningGateway,
  ];
  const session = await freshSession(writing);
  const reader = follower('plain', reading, { session });
  expect((await append(writing, session, '1')).status).toBe(201);
  await eventually('the event arrives without a bus', () => reader.sequences().length === 1);

  await nats.restart();
  for (const each of [writing, reading]) {
    await eventually('the gateway found NATS', async () => (await metric(each, 'ledgerline_bus_away')) === 0);
  }
  await append(writing, session, '2');
  await eventually('the event arrives', () => reader.sequences().length === 2);
  const sent = (place: RunningGateway): Promise<number> =>
    metric(place, 'ledgerline_broadcasts_total', 'kind="frames"');
  expect(await sent(writing)).toBe(1);
  expect(reader.reconnects()).toBe(0);
});

it('an append beyond the max_payload of NATS is stored and delivered live, and the bus goes on [omni#1166]', async () => {
  const { url } = await database();
  const [writing, reading] = (await gateways(2, { databaseUrl: url })) as [RunningGateway, RunningGateway];
  const session = await freshSession(writing);
  const reader = follower('plain', reading, { session });
  await eventually('the reader is there', async () => (await metric(reading, 'ledgerline_subscribers')) === 1);
  const half = `"${'x'.repeat(768 * 1024)}"`;
  // two halves are 1.5 MiB, beyond NATS's 1 MiB; a payload of the largest size is beyond it with its frame alone
  expect((await append(writing, session, half, half)).status).toBe(201);
  expect((await append(writing, session, `"${'y'.repeat(1024 * 1024 - 2)}"`)).status).toBe(201);
  expect((await append(writing, session, '"small"')).status).toBe(201);
  await eventually('all four arrive', () => reader.sequences().length === 4);
  expect(reader.sequences()).toEqual([1, 2, 3, 4]);
  expect(reader.reconnects()).toBe(0);
  expect(await metric(writing, 'ledgerline_bus_away')).toBe(0);
  expect(await metric(writing, 'ledgerline_broadcasts_total', 'kind="range"')).toBe(2);
  expect(await metric(reading, 'ledgerline_repairs_total', 'cause="head"'), 'nobody waited for a head check').toBe(0);
});

it('a reader equals the ledger when events are appended in the second its gateway starts, each of 20 times [botmux#900]', async () => {
  const { url } = await database();
  const natsSubjectRoot = 'starting';
  const environment = { LEDGERLINE_NATS_SUBJECT_ROOT: natsSubjectRoot };
  const writing = await gateway({ databaseUrl: url, environment });
  for (const round of countTo(20)) {
    const publicPort = await freePort();
    const session = await freshSession(writing);
    // the gateways of the tests share their secret, so one token is good for all
    const place = { ...writing, publicUrl: `http://127.0.0.1:${publicPort}` };
    const reader = follower('plain', place, { session });
    const config = { databaseUrl: url, natsUrl: sharedNatsUrl(), natsSubjectRoot, publicPort };
    const starting = startInProcessGateway({ config });
    let isUp = false;
    const up = starting.then(() => (isUp = true));
    let head = 0;
    while (!isUp || head < 3) {
      const answer = await append(writing, session, String(head));
      head = (JSON.parse(answer.text) as { last: number }).last;
    }
    await up;
    await eventually(`round ${round}: the reader has it all`, () => reader.sequences().length >= head);
    expect(reader.sequences()).toEqual(countTo(head));
    await reader.stop();
    await (await starting).stop();
  }
});
