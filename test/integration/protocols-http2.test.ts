/** A stream over HTTP/2 in the clear: without the headers of a connection, many on one, and each its own. */
import { once } from 'node:events';
import { connect, constants } from 'node:http2';
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { append, closeSession } from '../support/gateway-calls.ts';
import { startGateway } from '../support/gateway.ts';
import type { RunningGateway } from '../support/gateway.ts';
import { head, open } from '../support/raw-http.ts';
import { freshDatabase } from '../support/services.ts';
import type { FreshDatabase } from '../support/services.ts';
import {
  appendNumbers,
  newSession,
  noSubscribers,
  roomOf,
  sequencesIn,
  subscribersOf,
} from '../support/session-calls.ts';
import { eventually } from '../support/waits.ts';
import { range } from '../support/world.ts';

const environment = { LEDGERLINE_HTTP2: 'true' };
let database: FreshDatabase;
let http2: RunningGateway;

beforeAll(async () => {
  database = await freshDatabase();
  http2 = await startGateway({ databaseUrl: database.url, environment });
});
afterAll(async () => {
  await http2?.kill();
  await database?.drop();
});

const pathOf = (session: string): string => `/sessions/${session}/stream`;

interface Http2Stream {
  readonly stream: ClientHttp2Stream;
  readonly headers: IncomingHttpHeaders & { ':status'?: number };
  text(): string;
  readonly ended: Promise<unknown>;
}

function connection(gateway = http2): ClientHttp2Session {
  const client = connect(gateway.publicUrl);
  client.on('error', () => undefined);
  onTestFinished(() => client.destroy());
  return client;
}

async function request(
  client: ClientHttp2Session,
  path: string,
  headers: Record<string, string> = {},
): Promise<Http2Stream> {
  const stream = client.request({ ':path': path, authorization: `Bearer ${http2.token}`, ...headers });
  let text = '';
  stream.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  stream.on('error', () => undefined);
  const ended = new Promise((resolve) => stream.once('close', resolve));
  const [answer] = (await once(stream, 'response')) as [Http2Stream['headers']];
  return { stream, headers: answer, text: () => text, ended };
}

test('a stream has no headers of a connection, and comes event by event', async () => {
  const session = await newSession(http2, 2);
  const reader = await request(connection(), pathOf(session));
  expect(reader.headers).toMatchObject({
    ':status': 200,
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    'ledgerline-protocol': '1',
  });
  for (const name of ['connection', 'transfer-encoding', 'keep-alive']) expect(reader.headers).not.toHaveProperty(name);
  await eventually('it is live', () => reader.text().includes('event: connected\n'), limits.syncMs / 2);
  for (const number of range(3, 6)) {
    await appendNumbers(http2, session, 1);
    await eventually(`event ${number} comes`, () => sequencesIn(reader.text()).includes(number));
  }
  expect(sequencesIn(reader.text())).toEqual(range(1, 6));
});

test('many streams share a connection, and each leaves alone', async () => {
  const session = await newSession(http2, 3);
  const client = connection();
  const readers = await Promise.all(range(1, 100).map(() => request(client, pathOf(session))));
  await eventually('all are there', async () => (await subscribersOf(http2, session)) === 100);
  for (const { stream } of readers.slice(0, 60)) stream.close(constants.NGHTTP2_CANCEL);
  await eventually('those have left', async () => (await subscribersOf(http2, session)) === 40);
  await appendNumbers(http2, session, 2);
  const staying = readers.slice(60);
  await eventually('the others go on', () => staying.every(({ text }) => sequencesIn(text()).length === 5));
  for (const { text } of staying) expect(sequencesIn(text())).toEqual(range(1, 5));
  client.destroy();
  await noSubscribers(http2, session);
});

test('a reader comes back with its cursor, is told the end, and then to stay away', async () => {
  const session = await newSession(http2, 6);
  const client = connection();
  const reader = await request(client, pathOf(session), { 'last-event-id': '4' });
  await eventually('it is live', () => reader.text().includes('event: connected\n'));
  expect(sequencesIn(reader.text())).toEqual([5, 6]);
  await closeSession(http2, session);
  await reader.ended;
  expect(reader.text()).toMatch(/event: end\nid: 6\ndata: \{"reason":"closed","head":6\}\n\n$/);
  expect((await request(client, pathOf(session), { 'last-event-id': '6' })).headers[':status']).toBe(204);
});

test('a slow reader stalls its own stream and nobody else’s', async () => {
  const session = await newSession(http2);
  const payload = JSON.stringify('x'.repeat(100_000));
  const client = connection();
  const slow = await request(client, pathOf(session));
  const quick = await request(client, pathOf(session));
  slow.stream.pause();
  for (const _ of range(1, 10)) await append(http2, session, payload);
  await eventually('the quick one has all', () => sequencesIn(quick.text()).length === 10);
  slow.stream.resume();
  await eventually('the slow one has all', () => sequencesIn(slow.text()).length === 10);
  expect(sequencesIn(slow.text())).toEqual(range(1, 10));
});

test('a HEAD opens no stream', async () => {
  const session = await newSession(http2, 2);
  const answer = await request(connection(), pathOf(session), { ':method': 'HEAD' });
  await answer.ended;
  expect(answer.headers).toMatchObject({ ':status': 200, 'content-type': 'text/event-stream; charset=utf-8' });
  expect(answer.text()).toBe('');
  expect(await roomOf(http2, session)).toBeNull();
});

test('a client of HTTP/1 is no fault of the server', async () => {
  const { socket } = open(http2.publicUrl);
  socket.on('error', () => undefined);
  const isClosed = once(socket, 'close');
  socket.write(head('GET', '/healthz', {}));
  await isClosed;
  const session = await newSession(http2, 1);
  const reader = await request(connection(), pathOf(session));
  await eventually('others are served', () => sequencesIn(reader.text()).length === 1);
});

test('a draining server tells every reader, and ends', async () => {
  const gateway = await startGateway({ databaseUrl: database.url, environment });
  onTestFinished(() => gateway.kill());
  const session = await newSession(http2, 2);
  const client = connection(gateway);
  const readers = await Promise.all(range(1, 20).map(() => request(client, pathOf(session))));
  await eventually('all are live', () => readers.every(({ text }) => text().includes('event: connected\n')));
  expect(await gateway.terminate()).toBe(0);
  for (const reader of readers) {
    await reader.ended;
    expect(reader.text()).toMatch(/event: goaway\nretry: \d+\nid: 2\ndata: \{"reason":"draining"\}\n\n$/);
  }
});
