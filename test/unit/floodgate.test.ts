/** Sockets that all speak or end at once: heard a few at a turn, and nobody else waits for them. */
import { EventEmitter } from 'node:events';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { holdFloods } from '../../src/http/floodgate.ts';
import { manualClock } from '../support/manual-clock.ts';
import { head, open } from '../support/raw-http.ts';
import { eventually } from '../support/waits.ts';

/** More than a turn may take, when it is looked at a few times. */
const SLOW_MS = limits.turnMs;

class FakeSocket extends EventEmitter {
  isRead = true;
  pause(): void {
    this.isRead = false;
  }
  resume(): void {
    this.isRead = true;
  }
}

function setUp() {
  const clock = manualClock();
  const server = new EventEmitter();
  holdFloods(server as Server, clock);
  const connect = (): FakeSocket => {
    const socket = new FakeSocket();
    server.emit('connection', socket);
    return socket;
  };
  const sockets = Array.from({ length: 200 }, connect);
  const ask = (socket: FakeSocket, method = 'GET', url = '/sessions/a/stream') =>
    server.emit('request', { socket, method, url });
  const flood = (from = 0): void => {
    clock.lookCostMs = SLOW_MS;
    for (const socket of sockets.slice(from, from + 20)) ask(socket);
    clock.lookCostMs = 0;
  };
  const read = () => sockets.filter(({ isRead }) => isRead).length;
  return { clock, sockets, connect, ask, flood, read };
}

describe('what comes on many sockets', () => {
  test('is heard at once while it takes little of a turn', async () => {
    const { clock, sockets, ask, read } = setUp();
    for (const socket of sockets) ask(socket);
    expect(read()).toBe(200);
    await clock.settle();
    expect([read(), clock.waiting]).toEqual([200, 0]);
  });

  test('is heard at once however much it takes of turns that each are short', async () => {
    const { clock, sockets, ask, read } = setUp();
    clock.lookCostMs = SLOW_MS;
    for (const socket of sockets) {
      ask(socket);
      await clock.settle();
    }
    expect(read()).toBe(200);
  });

  test('waits when a turn is used up, and is heard a few sockets at a turn until all are', async () => {
    const { clock, flood, read } = setUp();
    flood();
    expect(read()).toBe(0);
    while (clock.waiting > 0) {
      const [readBefore, turnsBefore] = [read(), clock.turns];
      await clock.settle();
      expect(read() - readBefore).toBeLessThanOrEqual(64 * (clock.turns - turnsBefore + 1));
    }
    expect(read()).toBe(200);
    flood(20);
    expect(read()).toBe(0);
    await clock.advance(1_000);
    expect([read(), clock.waiting]).toEqual([200, 0]);
  });

  test.each(['end', 'close'])('counts each %s, too', (event) => {
    const { clock, sockets, read } = setUp();
    clock.lookCostMs = SLOW_MS;
    for (const socket of sockets.slice(0, 20)) socket.emit(event);
    expect(read()).toBeLessThan(20);
  });

  test('keeps no append waiting', () => {
    const { sockets, ask, flood } = setUp();
    const [appender, reader] = [sockets[100], sockets[101]] as [FakeSocket, FakeSocket];
    ask(appender, 'POST', '/internal/sessions/a/events');
    ask(reader, 'OPTIONS');
    ask(reader);
    flood();
    expect([appender.isRead, reader.isRead]).toEqual([true, false]);
  });

  test('is no matter of sockets that are gone, or that came meanwhile', async () => {
    const { clock, sockets, connect, flood } = setUp();
    flood();
    const [gone] = sockets as [FakeSocket];
    gone.emit('close');
    const late = connect();
    await clock.advance(1_000);
    expect([gone.isRead, late.isRead, clock.waiting]).toEqual([false, true, 0]);
  });
});

test('a herd on real sockets is answered to the last, and an append before it', async () => {
  const clock = manualClock();
  const served: string[] = [];
  const server = createServer((request, response) => {
    served.push(request.url ?? '');
    response.end(`answer to ${request.url}`);
  });
  holdFloods(server, clock);
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const connected = (): Promise<number> =>
    new Promise((resolve) => server.getConnections((_, count) => resolve(count)));
  const appender = open(url);
  const append = head('POST', '/internal/sessions/a/events', { 'Content-Length': '0' });
  const answers = () => appender.received().match(/answer to/g)?.length ?? 0;
  appender.socket.write(append);
  await eventually('the appender is known', () => answers() === 1);
  const readers = Array.from({ length: 150 }, () => open(url));
  await eventually('all are connected', async () => (await connected()) === 151);

  clock.lookCostMs = SLOW_MS;
  for (const { socket } of readers) socket.write(head('GET', '/sessions/a/stream', {}));
  await eventually('the flood is held', () => clock.waiting === 2);
  clock.lookCostMs = 0;
  const heard = served.length;
  expect(heard).toBeLessThan(20);
  appender.socket.write(append);
  await eventually('the append is answered', () => answers() === 2);
  expect(served).toHaveLength(heard + 1);
  await clock.advance(1_000);
  await eventually('every reader is answered', () => readers.every(({ received }) => received().includes('answer to')));
  for (const { socket } of readers) socket.destroy();
  appender.socket.destroy();
});
