/** This very design as it is written first: five statements an append, and a NATS subscription, a replay and a queue for each reader. */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { connect as connectNats } from 'nats';
import { silentLog } from '../../src/base/log.ts';
import { connect } from '../../src/db/postgres.ts';
import { appendInFive } from './five-statements.ts';
import { sessionIn } from './followers.ts';
import { listening } from './listening.ts';
import { envelopeOf } from './payload.ts';
import type { Peer } from './peer.ts';

interface Live {
  readonly sequence: number;
  readonly data: string;
}

const frame = ({ sequence, data }: Live): string => `id: ${sequence}\ndata: ${envelopeOf(sequence, data)}\n\n`;

export const peer: Peer = {
  title: 'the same design, straightforward',
  needs: ['postgres', 'nats'],
  follow: (session) => ({ method: 'GET', path: `/sessions/${session}/stream` }),
  create: (session) => ({ method: 'PUT', path: `/sessions/${session}` }),
  append: (session, data) => ({ method: 'POST', path: `/sessions/${session}`, body: data }),
  async serve({ databaseUrl, natsUrl }) {
    const sql = connect({ url: databaseUrl, connections: 10, name: 'bench straightforward', log: silentLog });
    const nats = await connectNats({ servers: natsUrl });

    async function append(session: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
      const data = await text(request);
      const sequence = await appendInFive(sql, session, 'text.delta', data);
      nats.publish(`straightforward.${session}`, JSON.stringify({ sequence, data } satisfies Live));
      response.writeHead(201).end(JSON.stringify({ sequence }));
    }

    async function follow(session: string, response: ServerResponse): Promise<void> {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders();
      let queue: Live[] | undefined = [];
      let last = 0;
      // Two appends that commit one after another may be broadcast the other way round.
      const early = new Map<number, Live>();
      const show = (live: Live): void => {
        if (live.sequence > last) early.set(live.sequence, live);
        for (let next = early.get(last + 1); next !== undefined; next = early.get(last + 1)) {
          early.delete(next.sequence);
          last = next.sequence;
          response.write(frame(next));
        }
      };
      const subscription = nats.subscribe(`straightforward.${session}`, {
        callback(_error, message) {
          const live = message.json<Live>();
          if (queue === undefined) show(live);
          else queue.push(live);
        },
      });
      response.on('close', () => subscription.unsubscribe());
      const rows = await sql<{ sequence: number; data: string }[]>`
        select sequence, payload::text as data from ledgerline.event where session = ${session}::text order by sequence`;
      for (const row of rows) show(row);
      for (const live of queue) show(live);
      queue = undefined;
    }

    async function create(session: string, response: ServerResponse): Promise<void> {
      await sql`insert into ledgerline.session (session) values (${session}::text)`;
      await sql`insert into ledgerline.session_head (session) values (${session}::text)`;
      response.writeHead(201).end();
    }

    const server = createServer((request, response) => {
      const session = sessionIn(request.url ?? '');
      const answer =
        request.method === 'POST'
          ? append(session, request, response)
          : request.method === 'PUT'
            ? create(session, response)
            : follow(session, response);
      answer.catch((error: unknown) => {
        console.error(error);
        response.destroy();
      });
    });
    return { port: await listening(server) };
  },
};
