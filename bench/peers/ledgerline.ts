/** A whole Ledgerline gateway: appends over HTTP into Postgres, broadcast over NATS, read over SSE. */
import { silentLog } from '../../src/base/log.ts';
import { builtGateway } from './built.ts';
import { benchKey } from './peer.ts';
import type { Peer } from './peer.ts';

const headers = { Authorization: `Bearer ${benchKey}`, 'Content-Type': 'application/json' };

export const peer: Peer = {
  title: 'Ledgerline',
  needs: ['postgres', 'nats'],
  follow: (session) => ({ method: 'GET', path: `/sessions/${session}/stream?after=head`, headers }),
  create: (session) => ({ method: 'POST', path: '/sessions', headers, body: JSON.stringify({ session }) }),
  append: (session, data) => ({
    method: 'POST',
    path: `/internal/sessions/${session}/events`,
    headers,
    body: `{"events":[{"type":"text.delta","data":${data}}]}`,
  }),
  async serve({ databaseUrl, natsUrl }) {
    const { createGateway, readServerConfig } = await builtGateway();
    const gateway = createGateway(
      readServerConfig({
        DATABASE_URL: databaseUrl,
        NATS_URL: natsUrl,
        LEDGERLINE_INTERNAL_KEY: benchKey,
        LEDGERLINE_TOKEN_SECRET: benchKey,
        LEDGERLINE_PUBLIC_HOST: '127.0.0.1',
        LEDGERLINE_PUBLIC_PORT: '0',
        LEDGERLINE_INTERNAL_PORT: '0',
        LEDGERLINE_SESSION_EVENTS_PER_SECOND: '1000000',
        LEDGERLINE_SESSION_BYTES_PER_SECOND: '999999999',
      }),
      silentLog,
    );
    await gateway.start();
    return { port: Number(new URL(gateway.internalUrl).port) };
  },
};
