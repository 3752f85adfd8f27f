/** What a server remembers of connections, so that it can end those that never asked for anything. */
import { EventEmitter } from 'node:events';
import { createServer } from 'node:http';
import { Socket, connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { gracefulHttp1, silentConnections } from '../../src/http/graceful.ts';

it('a connection is silent until its first request', () => {
  const server = new EventEmitter();
  const silent = silentConnections(server);
  const [speaking, waiting] = [new Socket(), new Socket()];
  for (const socket of [speaking, waiting]) server.emit('connection', socket);
  server.emit('request', { socket: speaking });
  expect([...silent]).toEqual([waiting]);
});

it('those that closed without a request are forgotten, however many come, and the others are not [I6]', () => {
  const server = new EventEmitter();
  const silent = silentConnections(server);
  const waiting = Array.from({ length: 100 }, () => new Socket());
  for (const socket of waiting) server.emit('connection', socket);
  for (let index = 0; index < 10_000; index += 1) {
    const gone = new Socket();
    server.emit('connection', gone);
    gone.destroy();
  }
  expect(silent.size).toBeLessThan(400);
  expect(waiting.every((socket) => silent.has(socket))).toBe(true);
});

it('nothing is left on a socket for it', () => {
  const server = new EventEmitter();
  silentConnections(server);
  const socket = new Socket();
  const before = socket.listenerCount('close');
  server.emit('connection', socket);
  expect(socket.listenerCount('close')).toBe(before);
});

it('an answer that is on its way when the server stops arrives to its last byte', async () => {
  const bytes = 32 << 20;
  const server = createServer((_, response) => void response.end(Buffer.alloc(bytes, 'x')));
  const { stop } = gracefulHttp1(server);
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  const began = new Promise((resolve) => void socket.once('readable', resolve));
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await began;
  const stopped = stop(20_000);
  let read = 0;
  socket.on('data', (chunk: Buffer) => (read += chunk.length));
  socket.resume();
  await stopped;
  await new Promise((resolve) => (socket.readableEnded ? resolve(undefined) : socket.once('end', resolve)));
  expect(read).toBeGreaterThan(bytes);
});
