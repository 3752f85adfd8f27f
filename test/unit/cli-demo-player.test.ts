/** The demo plays at once, and then only while somebody watches. */
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { silentLog } from '../../src/base/log.ts';
import { createDemoPlayer } from '../../src/cli/demo-player.ts';
import { eventually } from '../support/waits.ts';

let server: Server;
let subscribers: number;
let isDeleted: boolean;
/** The code of the problem that a look is answered with; `lost` ends its connection. */
let inTheWay: string | undefined;
let looks: number;
let appended: string[];

beforeEach(async () => {
  subscribers = 0;
  isDeleted = false;
  inTheWay = undefined;
  looks = 0;
  appended = [];
  server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = '';
  for await (const bytes of request) body += String(bytes);
  const reply = (status: number, value: object) => response.writeHead(status).end(JSON.stringify(value));
  if (isDeleted) return void reply(410, { type: 'urn:ledgerline:problem:session_deleted', title: 'gone' });
  if (request.method === 'GET') {
    looks += 1;
    if (inTheWay === 'lost') return void request.socket.destroy();
    if (inTheWay !== undefined)
      return void reply(503, { type: `urn:ledgerline:problem:${inTheWay}`, title: 'not now' });
    return void reply(200, { session: 'demo', room: subscribers === 0 ? null : { watermark: 1, subscribers } });
  }
  if (request.url === '/sessions') return void reply(200, { session: 'demo', head: 0 });
  const { events } = JSON.parse(body) as { events: { type: string }[] };
  const first = appended.length + 1;
  appended.push(...events.map((event) => event.type));
  reply(201, { first, last: appended.length });
}

const player = () =>
  createDemoPlayer(
    { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, credential: 'key' },
    silentLog,
    {
      run: () => [
        { afterMs: 0, type: 'turn.started', data: {} },
        { afterMs: 1, type: 'turn.completed', data: {} },
      ],
      pauseMs: 1,
      lookMs: 1,
    },
  );

it('plays once, waits until somebody watches, and then plays again', async () => {
  const demo = player();
  await demo.start();
  await eventually('it looks for somebody', () => looks >= 5);
  expect(appended).toEqual(['turn.started', 'turn.completed']);
  subscribers = 1;
  await eventually('it plays again', () => appended.length >= 4);
  await demo.stop();
});

it.each(['draining', 'unavailable', 'lost'])(
  'looks on when a look comes to %s, and plays again when it can',
  async (code) => {
    const demo = player();
    inTheWay = code;
    await demo.start();
    await eventually('it looks, and looks again', () => looks >= 5);
    inTheWay = undefined;
    subscribers = 1;
    await eventually('it plays again', () => appended.length >= 4);
    await demo.stop();
  },
);

it('leaves the server alone when its session is gone', async () => {
  isDeleted = true;
  const demo = player();
  await demo.start();
  await demo.stop();
  expect(appended).toEqual([]);
});
