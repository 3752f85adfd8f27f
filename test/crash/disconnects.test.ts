/** Clients that vanish in every way there is: nothing of them stays, and the server lives on. */
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import type { RunningGateway } from '../support/gateway.ts';
import { append, createSession, metric } from '../support/gateway-calls.ts';
import { startInProcessGateway } from '../support/in-process-gateway.ts';
import { fastClock } from '../support/fast-clock.ts';
import { countTo } from '../support/ledger.ts';
import { head } from '../support/raw-http.ts';
import { database, freshSession, gateway } from '../support/stage.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';
import { eventually } from '../support/waits.ts';

const request = (token: string, session: string, cursor?: string): string =>
  head('GET', `/sessions/${session}/stream`, {
    Authorization: `Bearer ${token}`,
    ...(cursor === undefined ? {} : { 'Last-Event-ID': cursor }),
  });

async function dial(url: string): Promise<Socket> {
  const { port } = new URL(url);
  const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

/** Runs `work` for 1…count, so many at a time. */
async function crowd(count: number, atATime: number, work: (number: number) => Promise<void>): Promise<void> {
  let next = 1;
  const worker = async (): Promise<void> => {
    while (next <= count) await work(next++);
  };
  await Promise.all(countTo(atATime).map(worker));
}

const empty = async (at: RunningGateway): Promise<void> => {
  await eventually('no reader is left', async () => (await metric(at, 'ledgerline_subscribers')) === 0);
  await eventually('no room is left', async () => (await metric(at, 'ledgerline_rooms')) === 0);
};

/** Sockets and timers; those of the asking connection itself and of the pools are a handful. */
const resources = (at: RunningGateway): Promise<number> => metric(at, 'ledgerline_nodejs_active_resources');

it('1,000 clients that connect and vanish leave no reader, room, socket or timer behind [hono#1902]', async () => {
  const { url } = await database();
  const at = await gateway({ databaseUrl: url, natsUrl: null });
  const sessions = await Promise.all(countTo(10).map(() => freshSession(at)));
  for (const session of sessions) await append(at, session, '1', '2', '3');
  const cycle = async (number: number): Promise<void> => {
    const socket = await dial(at.publicUrl);
    const closed = once(socket, 'close');
    socket.write(request(at.token, sessions[number % sessions.length] ?? ''));
    // every third waits for its first bytes, the others are gone before or while they are made
    if (number % 3 === 0) await once(socket, 'data');
    socket.resume();
    if (number % 2 === 0) socket.resetAndDestroy();
    else socket.destroy();
    await closed;
  };
  await crowd(100, 20, cycle);
  await empty(at);
  const before = await resources(at);
  await crowd(1_000, 20, cycle);
  await empty(at);
  await eventually('nothing of them is left', async () => (await resources(at)) <= before + 5);
  expect(await metric(at, 'ledgerline_stream_ends_total', 'reason="failed"')).toBe(0);
});

it('a reader that vanished without a word is reaped by its unsent bytes, and its room with it [dust#24357]', async () => {
  const { url } = await database();
  const at = await startInProcessGateway({ config: { databaseUrl: url }, overrides: { clock: fastClock(50) } });
  onTestFinished(() => at.stop());
  const proxy = await startTcpProxy({ port: Number(new URL(at.publicUrl).port) });
  onTestFinished(() => proxy.stop());
  await createSession(at, 'half-open');
  const token = await at.token();
  for (const _ of countTo(20)) {
    const socket = await dial(`http://127.0.0.1:${proxy.port}`);
    socket.write(request(token, 'half-open'));
    await once(socket, 'data');
    onTestFinished(() => void socket.destroy());
  }
  const subscribers = (): Promise<number> => metric(at, 'ledgerline_subscribers');
  expect(await subscribers()).toBe(20);
  proxy.clog();
  // more than the kernel takes in for somebody who does not read
  for (const _ of countTo(16)) {
    const answer = await append(at, 'half-open', `"${'x'.repeat(1024 * 1024 - 2)}"`);
    expect(answer.status).toBe(201);
  }
  await eventually('every one of them is reaped', async () => (await subscribers()) === 0, 60_000);
  expect(await metric(at, 'ledgerline_stream_ends_total', 'reason="stalled"')).toBe(20);
  await eventually('the room is gone', async () => (await metric(at, 'ledgerline_rooms')) === 0);
});

it('10,000 requests with bad cursors are each answered and leave no reader [you-agent-factory PR#772]', async () => {
  const { url } = await database();
  const at = await gateway({ databaseUrl: url, natsUrl: null });
  const session = await freshSession(at);
  await append(at, session, '1');
  const cursors = ['-1', '+5', '1e3', '0x10', '1.0', '00012', '5, 9', 'x'.repeat(200), '9007199254740993', '17', 'é'];
  let answered = 0;
  await crowd(10_000, 40, async (number) => {
    const socket = await dial(at.publicUrl);
    const closed = once(socket, 'close');
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      if (text.includes('event: connected')) socket.destroy();
    });
    socket.write(request(at.token, session, cursors[number % cursors.length]));
    await closed;
    if (text.startsWith('HTTP/1.1 200') && text.includes('event: reset')) answered += 1;
  });
  expect(answered).toBe(10_000);
  await empty(at);
});
