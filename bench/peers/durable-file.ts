/** Durable Streams' reference server with its streams in files that every append syncs. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { durableRequests, serveDurable } from './durable-streams.ts';
import type { Peer } from './peer.ts';

export const peer: Peer = {
  title: 'Durable Streams, in files',
  needs: ['packages'],
  ...durableRequests,
  async serve(given) {
    const dataDir = await mkdtemp(join(tmpdir(), 'ledgerline-bench-durable-'));
    const served = await serveDurable(given, { dataDir });
    return {
      ...served,
      async stop() {
        await served.stop?.();
        await rm(dataDir, { recursive: true, force: true });
      },
    };
  },
};
