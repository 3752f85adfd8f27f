/** The package `better-sse`: a channel for each session, broadcast to as its guide shows. */
import { createServer } from 'node:http';
import { sessionIn } from './followers.ts';
import { listening } from './listening.ts';
import { envelopeOf } from './payload.ts';
import type { Peer } from './peer.ts';

export const peer: Peer = {
  title: 'better-sse',
  needs: ['packages'],
  follow: (session) => ({ method: 'GET', path: `/sessions/${session}/stream` }),
  async serve() {
    const { createChannel, createSession } = await import('better-sse');
    const channels = new Map<string, ReturnType<typeof createChannel>>();
    const channelOf = (session: string) => {
      const channel = channels.get(session) ?? createChannel();
      channels.set(session, channel);
      return channel;
    };
    // What is broadcast is JSON text already.
    const asItIs = { serializer: (data: unknown) => String(data) };
    const server = createServer((request, response) => {
      void createSession(request, response, asItIs).then((reader) =>
        channelOf(sessionIn(request.url ?? '')).register(reader),
      );
    });
    return {
      port: await listening(server),
      send: (session, sequence, data) => {
        channelOf(session).broadcast(envelopeOf(sequence, data), 'message', { eventId: String(sequence) });
      },
    };
  },
};
