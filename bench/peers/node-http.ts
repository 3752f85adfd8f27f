/** What is written first in Node: a response for each reader, and `write` for each event. */
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import { Followers, sessionIn } from './followers.ts';
import { listening } from './listening.ts';
import { frameOf } from './payload.ts';
import type { Peer } from './peer.ts';

export const peer: Peer = {
  title: 'node:http, response.write',
  needs: [],
  follow: (session) => ({ method: 'GET', path: `/sessions/${session}/stream` }),
  async serve() {
    const followers = new Followers<ServerResponse>();
    const server = createServer((request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8' }).flushHeaders();
      response.on('close', followers.add(sessionIn(request.url ?? ''), response));
    });
    return {
      port: await listening(server),
      send(session, sequence, data) {
        const frame = frameOf(sequence, data);
        for (const response of followers.of(session)) response.write(frame);
      },
    };
  },
};
