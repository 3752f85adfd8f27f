/** The floor of every delivery: a frame is made once and written to each socket, with nothing around it. */
import { createServer } from 'node:net';
import type { Socket } from 'node:net';
import { Followers, sessionIn } from './followers.ts';
import { listening } from './listening.ts';
import { frameOf } from './payload.ts';
import type { Peer } from './peer.ts';

const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nConnection: close\r\n\r\n';

export const peer: Peer = {
  title: 'raw TCP writes (floor)',
  needs: [],
  follow: (session) => ({ method: 'GET', path: `/sessions/${session}/stream` }),
  async serve() {
    const followers = new Followers<Socket>();
    const server = createServer({ noDelay: true }, (socket) => {
      socket.once('data', (request) => {
        socket.write(head);
        socket.once('close', followers.add(sessionIn(request.toString('latin1').split(' ')[1] ?? ''), socket));
      });
      socket.on('error', () => socket.destroy());
    });
    return {
      port: await listening(server),
      send(session, sequence, data) {
        const frame = frameOf(sequence, data);
        for (const socket of followers.of(session)) socket.write(frame);
      },
    };
  },
};
