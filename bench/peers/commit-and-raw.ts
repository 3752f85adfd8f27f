/** The floor of the way from an append to its readers: Ledgerline's own commit, and then raw writes to every socket. */
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import { builtLedger } from './built.ts';
import { Followers, sessionIn } from './followers.ts';
import { listening } from './listening.ts';
import { frameOf } from './payload.ts';
import type { Peer } from './peer.ts';

export const peer: Peer = {
  title: 'the same commit, then raw writes (floor)',
  needs: ['postgres'],
  follow: (session) => ({ method: 'GET', path: `/sessions/${session}` }),
  create: (session) => ({ method: 'PUT', path: `/sessions/${session}` }),
  append: (session, data) => ({ method: 'POST', path: `/sessions/${session}`, body: data }),
  async serve({ databaseUrl }) {
    const { createLedger, sessionWork } = await builtLedger();
    const ledger = createLedger({
      url: databaseUrl,
      log: silentLog,
      metrics: createMetrics(),
      clock: systemClock,
      work: sessionWork,
    });
    await ledger.start();
    const followers = new Followers<Socket>();
    const server = createServer((request, response) => {
      const session = sessionIn(request.url ?? '');
      if (request.method === 'GET') {
        response.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders();
        request.socket.setNoDelay(true);
        request.socket.once('close', followers.add(session, request.socket));
        return;
      }
      const answer = async (): Promise<void> => {
        const data = await text(request);
        if (request.method === 'PUT') await ledger.create(session, {});
        else {
          const events = [{ type: 'text.delta', data, bytes: Buffer.byteLength(data) }];
          const outcome = await ledger.append({ session, events });
          if (outcome.kind !== 'appended') throw new Error(outcome.kind);
          const frame = frameOf(outcome.first, data);
          for (const socket of followers.of(session)) socket.write(frame);
        }
        response.writeHead(201).end();
      };
      answer().catch((error: unknown) => {
        console.error(error);
        response.destroy();
      });
    });
    return { port: await listening(server) };
  },
};
