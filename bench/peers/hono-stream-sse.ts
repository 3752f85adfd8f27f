/** Hono's `streamSSE`, as its documentation shows it. */
import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { streamSSE } from 'hono/streaming';
import type { SSEStreamingApi } from 'hono/streaming';
import { Followers } from './followers.ts';
import { listening } from './listening.ts';
import { envelopeOf } from './payload.ts';
import type { Peer } from './peer.ts';

export const peer: Peer = {
  title: 'Hono streamSSE',
  needs: [],
  follow: (session) => ({ method: 'GET', path: `/sessions/${session}/stream` }),
  async serve() {
    const followers = new Followers<SSEStreamingApi>();
    const app = new Hono();
    app.get('/sessions/:session/stream', (c) =>
      streamSSE(c, async (stream) => {
        const leave = followers.add(c.req.param('session'), stream);
        await stream.writeSSE({ event: 'hello', data: '' });
        await new Promise<void>((resolve) => stream.onAbort(resolve));
        leave();
      }),
    );
    const listener = getRequestListener(app.fetch);
    return {
      port: await listening(createServer((request, response) => void listener(request, response))),
      send(session, sequence, data) {
        const envelope = envelopeOf(sequence, data);
        for (const stream of followers.of(session)) void stream.writeSSE({ id: String(sequence), data: envelope });
      },
    };
  },
};
