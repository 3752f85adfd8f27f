/** What a server remembers of connections, so that it can end those that never asked for anything. */
import { EventEmitter } from 'node:events';
import { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { silentConnections } from '../../src/http/graceful.ts';

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
