/** The demo's visitor copes with a server that is away, with others who are faster, and with a session that is gone. */
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { VISITOR, storyApproval } from '../../src/cli/demo-cast.ts';
import { createDemoVisitor } from '../../src/cli/demo-visitor.ts';
import { recordingLog } from '../support/stub-gateway.ts';
import { eventually } from '../support/waits.ts';

const ROOT = '/sessions/demo';

let server: Server;
/** The session's state after each message; what a decision does to it. */
let afterMessage: 'idle' | 'waiting';
let state: 'idle' | 'waiting';
let subscribers: number;
let events: object[];
/** By path, the code of the problem that answers; `lost` ends the connection. */
let inTheWay: Map<string, string>;
/** Every request, in order. */
let asked: { readonly what: string; readonly by: string; readonly body: string }[];

beforeEach(async () => {
  afterMessage = 'idle';
  state = 'idle';
  subscribers = 0;
  events = [];
  inTheWay = new Map();
  asked = [];
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
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://stub');
  asked.push({ what: `${request.method} ${pathname}`, by: request.headers.authorization ?? '', body });
  const reply = (status: number, value: object) => response.writeHead(status).end(JSON.stringify(value));
  const code = inTheWay.get(pathname);
  if (code === 'lost') return void request.socket.destroy();
  if (code !== undefined) return void reply(409, { type: `urn:ledgerline:problem:${code}`, title: 'no' });
  switch (pathname) {
    case ROOT: {
      const turn = { state, turn: state === 'idle' ? null : 't1' };
      return void reply(200, { session: 'demo', turn, room: subscribers === 0 ? null : { subscribers } });
    }
    case `${ROOT}/events`: {
      const after = Number(searchParams.get('after'));
      return void reply(200, { events: events.slice(after), last: events.length > after ? events.length : null });
    }
    case `${ROOT}/messages`:
      events.push({ type: 'message.created', data: { by: VISITOR } });
      state = afterMessage;
      return void reply(201, {});
    case `${ROOT}/decisions`:
      state = 'idle';
      return void reply(201, {});
    default:
      return void reply(200, { session: 'demo', head: events.length });
  }
}

const requests = (what: string) => asked.filter((request) => request.what === what);
const messages = () => requests(`POST ${ROOT}/messages`);

function visitor() {
  const { log, lines } = recordingLog();
  const demo = createDemoVisitor({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    tokens: { visitor: 'v', colleague: 'c' },
    log,
    pace: { pauseMs: 1, lookMs: 1, thinkMs: 1, decideMs: 3 },
  });
  return { demo, lines };
}

it('says the story once, waits until somebody watches, and then says it again', async () => {
  const { demo } = visitor();
  await demo.start();
  await eventually('it is through', () => messages().length === 2);
  const before = asked.length;
  await eventually('it looks for somebody', () => asked.length > before + 10);
  expect(messages()).toHaveLength(2);
  subscribers = 1;
  await eventually('it says it again', () => messages().length >= 4);
  await demo.stop();
  const keys = messages().map(({ body }) => (JSON.parse(body) as { key: string }).key);
  expect(new Set(keys).size).toBe(keys.length);
});

it.each(['draining', 'unavailable', 'session_busy', 'lost'])('asks again when a request comes to %s', async (code) => {
  const { demo, lines } = visitor();
  inTheWay.set(`${ROOT}/messages`, code);
  await demo.start();
  await eventually('it asks, and asks again', () => messages().length >= 3);
  inTheWay.clear();
  const [first] = messages();
  await eventually('it is heard', () => events.length === 2);
  await demo.stop();
  expect(messages()[2]?.body).toBe(first?.body);
  expect(lines()).toBe('');
});

it('leaves a question to others for a while, and then the colleague decides', async () => {
  afterMessage = 'waiting';
  const { demo } = visitor();
  await demo.start();
  await eventually('both are decided', () => requests(`POST ${ROOT}/decisions`).length >= 2);
  await demo.stop();
  const first = asked.findIndex(({ what }) => what === `POST ${ROOT}/decisions`);
  expect(asked[first]).toMatchObject({
    by: 'Bearer c',
    body: JSON.stringify({ approval: storyApproval('t1'), decision: 'approved' }),
  });
  const said = asked.findIndex(({ what }) => what === `POST ${ROOT}/messages`);
  expect(asked.slice(said + 1, first).map(({ what }) => what)).toEqual(Array(3).fill(`GET ${ROOT}`));
});

it.each(['approval_decided', 'approval_unknown'])(
  'takes a decision that comes to %s for somebody’s own',
  async (code) => {
    afterMessage = 'waiting';
    inTheWay.set(`${ROOT}/decisions`, code);
    const { demo, lines } = visitor();
    await demo.start();
    await eventually('it tries', () => requests(`POST ${ROOT}/decisions`).length > 0);
    const before = asked.length;
    await eventually('it looks on', () => asked.length > before + 10);
    expect(requests(`POST ${ROOT}/decisions`)).toHaveLength(1);
    state = 'idle';
    await eventually('it goes on', () => messages().length === 2);
    await demo.stop();
    expect(lines()).toBe('');
  },
);

it('leaves what is under way at its start to end, and says nothing until somebody watches', async () => {
  state = 'waiting';
  inTheWay.set(`${ROOT}/decisions`, 'approval_unknown');
  const { demo } = visitor();
  await demo.start();
  await eventually('it waits', () => asked.length > 10);
  state = 'idle';
  const before = asked.length;
  await eventually('it looks for somebody', () => asked.length > before + 10);
  expect(messages()).toEqual([]);
  subscribers = 1;
  await eventually('it speaks', () => messages().length > 0);
  await demo.stop();
});

it('writes nothing more once somebody else does, even if that came in between', async () => {
  const { demo, lines } = visitor();
  inTheWay.set(`${ROOT}/messages`, 'turn_busy');
  await demo.start();
  await eventually('it tries', () => messages().length >= 1);
  events.push({ type: 'note', data: null }, { type: 'message.created', data: { by: 'maya' } });
  await eventually('it leaves', () => lines().includes('the visitor writes no more'));
  expect(events).toHaveLength(2);
  await demo.stop();
});

it('leaves the server alone when its session is gone', async () => {
  inTheWay.set('/sessions', 'session_deleted');
  const { demo, lines } = visitor();
  await demo.start();
  await demo.stop();
  expect(asked.map(({ what }) => what)).toEqual(['POST /sessions']);
  expect(lines()).toContain('the demo plays no more');
});

it('ends in the middle of whatever it does, and says nothing about that', async () => {
  afterMessage = 'waiting';
  const { demo, lines } = visitor();
  await demo.start();
  await eventually('it is at it', () => messages().length > 0);
  await demo.stop();
  const before = asked.length;
  await demo.stop();
  expect([asked.length, lines()]).toEqual([before, '']);
});
