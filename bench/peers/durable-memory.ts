/** Durable Streams' reference server with its streams in memory. */
import { durableRequests, serveDurable } from './durable-streams.ts';
import type { Peer } from './peer.ts';

export const peer: Peer = {
  title: 'Durable Streams, in memory',
  needs: ['packages'],
  ...durableRequests,
  serve: (given) => serveDurable(given, {}),
};
