/** The reference server of Durable Streams, on either of its stores. */
import type { Given, HttpRequest, Served } from './peer.ts';
import { envelopeOf } from './payload.ts';

const headers = { 'Content-Type': 'application/json' };

export const durableRequests = {
  follow: (session: string): HttpRequest => ({ method: 'GET', path: `/sessions/${session}?offset=now&live=sse` }),
  create: (session: string): HttpRequest => ({ method: 'PUT', path: `/sessions/${session}`, headers }),
  append: (session: string, data: string): HttpRequest => ({
    method: 'POST',
    path: `/sessions/${session}`,
    headers,
    body: envelopeOf(100, data),
  }),
};

/** `dataDir` absent: in memory. */
export async function serveDurable(_given: Given, store: { readonly dataDir?: string }): Promise<Served> {
  const { DurableStreamTestServer } = await import('@durable-streams/server');
  // It tells of each slow append on the console, which would be measured, too.
  console.info = () => undefined;
  const server = new DurableStreamTestServer({ port: 0, host: '127.0.0.1', ...store });
  const address = await server.start();
  return { port: Number(new URL(address).port), stop: () => server.stop() };
}
