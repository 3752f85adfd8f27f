/** The package `resumable-stream` on a Redis: one producer's stream, resumed by each reader. */
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import { sessionIn } from './followers.ts';
import { listening } from './listening.ts';
import { frameOf } from './payload.ts';
import type { Peer } from './peer.ts';

export const peer: Peer = {
  title: 'resumable-stream on Redis',
  needs: ['packages', 'redis'],
  follow: (session) => ({ method: 'GET', path: `/sessions/${session}/stream` }),
  async serve({ redisUrl }) {
    const { createClient } = await import('redis');
    const { createResumableStreamContext } = await import('resumable-stream/generic');
    const [subscriber, publisher] = [createClient({ url: redisUrl }), createClient({ url: redisUrl })];
    await Promise.all([subscriber.connect(), publisher.connect()]);
    const context = createResumableStreamContext({ waitUntil: null, subscriber, publisher });
    const inlets = new Map<string, Promise<ReadableStreamDefaultController<string>>>();

    /** The producer's side: made by the first who asks, and read on by nobody but the package. */
    const open = async (session: string): Promise<ReadableStreamDefaultController<string>> => {
      let inlet: ReadableStreamDefaultController<string> | undefined;
      const stream = await context.createNewResumableStream(
        session,
        () => new ReadableStream<string>({ start: (controller) => void (inlet = controller) }),
      );
      void stream?.pipeTo(new WritableStream());
      if (inlet === undefined) throw new Error('the package did not ask for the stream');
      return inlet;
    };
    const inletOf = (session: string) => {
      const inlet = inlets.get(session) ?? open(session);
      inlets.set(session, inlet);
      return inlet;
    };

    async function follow(session: string, response: ServerResponse): Promise<void> {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders();
      await inletOf(session);
      const stream = await context.resumeExistingStream(session);
      if (!stream) throw new Error('the stream is over');
      response.write(': joined\n\n');
      for await (const chunk of stream) response.write(chunk);
    }

    const server = createServer((request, response) => {
      follow(sessionIn(request.url ?? ''), response).catch((error: unknown) => {
        if (!response.destroyed) console.error(error);
        response.destroy();
      });
    });
    return {
      port: await listening(server),
      send: (session, sequence, data) => {
        void inletOf(session).then((inlet) => inlet.enqueue(frameOf(sequence, data).toString()));
      },
    };
  },
};
