/** Sockets that all speak or end at once: heard a few at a turn, and nobody else waits for them. */
import { EventEmitter } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { holdFloods } from '../../src/http/floodgate.ts';
import { manualClock } from '../support/manual-clock.ts';
import { head, open } from '../support/raw-http.ts';
import { eventually } from '../support/waits.ts';

/** More than a turn may take, when it is looked at a few times. */
const SLOW_MS = limits.turnMs;
/** More connections than are heard in a turn. */
const FLOOD = 80;

class FakeSocket extends EventEmitter {
  isRead = true;
  pause(): void {
    this.isRead = false;
  }
  resume(): void {
    this.isRead = true;
  }
  isPaused(): boolean {
    return !this.isRead;
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
    for (const socket of sockets.slice(from, from + FLOOD)) ask(socket);
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
    flood(100);
    expect(read()).toBe(0);
    await clock.advance(1_000);
    expect([read(), clock.waiting]).toEqual([200, 0]);
  });

  test('is heard at once where few speak, however long the turn was for another reason', () => {
    const { clock, sockets, ask, read } = setUp();
    clock.lookCostMs = SLOW_MS * 10;
    for (const socket of sockets.slice(0, 20)) ask(socket);
    expect(read()).toBe(200);
  });

  test.each(['end', 'close'])('counts each %s, too', (event) => {
    const { clock, sockets, read } = setUp();
    clock.lookCostMs = SLOW_MS;
    for (const socket of sockets.slice(0, FLOOD)) socket.emit(event);
    expect(read()).toBeLessThan(FLOOD);
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

test('a body that nobody reads stays with its sender, however many floods there are [I6]', async () => {
  const clock = manualClock();
  const events = new EventEmitter();
  let stream: IncomingMessage | undefined;
  const server = createServer((request, response) => {
    stream = request;
    response.writeHead(200).flushHeaders();
    events.emit('request', request);
  });
  server.on('connection', (socket) => events.emit('connection', socket));
  holdFloods(events as Server, clock);
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { socket } = open(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined);
  socket.write(head('GET', '/sessions/a/stream', { 'Content-Length': String(1 << 30) }));
  const pump = (): void => {
    while (socket.write(Buffer.alloc(1 << 20)));
  };
  socket.on('drain', pump);
  pump();
  const request = await eventually('Node stops reading', () =>
    stream?.socket.isPaused() === true ? stream : undefined,
  );
  const heldBefore = request.readableLength;
  for (let flood = 0; flood < 10; flood += 1) {
    const quiet = new FakeSocket();
    events.emit('connection', quiet);
    clock.lookCostMs = SLOW_MS;
    for (let count = 0; count < FLOOD; count += 1) {
      const other = new FakeSocket();
      events.emit('connection', other);
      other.emit('close');
    }
    clock.lookCostMs = 0;
    expect(quiet.isRead).toBe(false);
    await clock.advance(1_000);
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => void setImmediate(resolve));
  }
  expect(request.readableLength).toBe(heldBefore);
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
  expect(heard).toBeLessThan(FLOOD);
  appender.socket.write(append);
  await eventually('the append is answered', () => answers() === 2);
  expect(served).toHaveLength(heard + 1);
  await clock.advance(1_000);
  await eventually('every reader is answered', () => readers.every(({ received }) => received().includes('answer to')));
  for (const { socket } of readers) socket.destroy();
  appender.socket.destroy();
});
