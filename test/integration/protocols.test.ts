/** A stream is the same over HTTP/1.0, 1.1 and 2, behind a request that is slow, and not opened by a HEAD. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectHttp2, constants } from 'node:http2';
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { append, call, closeSession, createSession } from '../support/gateway-calls.ts';
import { startGateway } from '../support/gateway.ts';
import type { RunningGateway } from '../support/gateway.ts';
import { head, open } from '../support/raw-http.ts';
import { freshDatabase } from '../support/services.ts';
import type { FreshDatabase } from '../support/services.ts';
import { eventually } from '../support/waits.ts';
import { range } from '../support/world.ts';

let database: FreshDatabase;
/** Both on one database; the second speaks HTTP/2 to its readers. */
let http1: RunningGateway;
let http2: RunningGateway;

beforeAll(async () => {
  database = await freshDatabase();
  [http1, http2] = await Promise.all([
    startGateway({ databaseUrl: database.url }),
    startGateway({ databaseUrl: database.url, environment: { LEDGERLINE_HTTP2: 'true' } }),
  ]);
});
afterAll(async () => {
  await Promise.all([http1?.kill(), http2?.kill()]);
  await database?.drop();
});

async function sessionOf(count: number): Promise<string> {
  const session = `protocols-${randomUUID()}`;
  expect((await createSession(http1, session)).status).toBe(201);
  if (count > 0) await appendAll(http1, session, count);
  return session;
}

async function appendAll(gateway: RunningGateway, session: string, count: number): Promise<void> {
  const { status } = await append(gateway, session, ...range(1, count).map(String));
  expect(status).toBe(201);
}

async function roomOf(gateway: RunningGateway, session: string): Promise<{ subscribers: number } | null> {
  const { text } = await call(gateway, 'GET', `/sessions/${session}`);
  return (JSON.parse(text) as { room: { subscribers: number } | null }).room;
}

const subscribersOf = async (gateway: RunningGateway, session: string): Promise<number> =>
  (await roomOf(gateway, session))?.subscribers ?? 0;

const none = (gateway: RunningGateway, session: string): Promise<unknown> =>
  eventually('no subscriber is left', async () => (await subscribersOf(gateway, session)) === 0);

/** Of the events: frames without a name. */
const sequencesIn = (text: string): number[] => [...text.matchAll(/\n\nid: (\d+)\ndata: /g)].map(([, id]) => Number(id));

interface RawStream {
  readonly text: () => string;
  head(): string;
  body(): string;
  close(): void;
}

function openRaw(bytes: string, url = http1.publicUrl): RawStream {
  const { socket, received } = open(url);
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined);
  socket.write(bytes);
  const at = (): number => received().indexOf('\r\n\r\n');
  return {
    text: received,
    head: () => received().slice(0, at()),
    body: () => received().slice(at() + 4),
    close: () => void socket.destroy(),
  };
}

const bearer = (token: string): { Authorization: string } => ({ Authorization: `Bearer ${token}` });
const pathOf = (session: string): string => `/sessions/${session}/stream`;

describe.each(['1.0', '1.1'])('over HTTP/%s', (version) => {
  test('a stream is plain bytes up to the end of the connection, event by event', async () => {
    const session = await sessionOf(2);
    const stream = openRaw(head('GET', pathOf(session), bearer(http1.token), version));
    await eventually('it is live', () => stream.body().includes('event: connected\n'));
    for (const number of range(3, 6)) {
      await appendAll(http1, session, 1);
      await eventually(`event ${number} comes`, () => sequencesIn(stream.body()).includes(number));
    }
    expect(sequencesIn(stream.body())).toEqual(range(1, 6));
    expect(stream.head()).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(stream.head()).toMatch(/^content-type: text\/event-stream; charset=utf-8$/im);
    expect(stream.head()).toMatch(/^connection: close$/im);
    expect(stream.head()).not.toMatch(/^(transfer-encoding|content-length|content-encoding|keep-alive):/im);
    expect(stream.body()).toMatch(/^retry: \d+\n\nevent: hello\n/);
    stream.close();
    await none(http1, session);
  });

  test('a stream of an idle session begins at once, without any event [leyabierta PR#28]', async () => {
    const stream = openRaw(head('GET', pathOf(await sessionOf(0)), bearer(http1.token), version));
    // well before the first sync would come
    await eventually('it is live', () => stream.body().includes('event: connected\n'), limits.syncMs / 2);
    expect(stream.body()).not.toContain('event: sync\n');
  });

  test('a HEAD is answered with the headers of a stream, and opens none', async () => {
    const session = await sessionOf(2);
    const stream = openRaw(head('HEAD', pathOf(session), { ...bearer(http1.token), Connection: 'close' }, version));
    await eventually('an answer', () => stream.text().endsWith('\r\n\r\n'));
    expect(stream.head()).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(stream.head()).toMatch(/^content-type: text\/event-stream; charset=utf-8$/im);
    expect(stream.body()).toBe('');
    expect(await roomOf(http1, session)).toBeNull();
  });

  test('the end of a session ends the connection, behind the last frame', async () => {
    const session = await sessionOf(2);
    const { socket, received } = open(http1.publicUrl);
    socket.write(head('GET', pathOf(session), bearer(http1.token), version));
    await eventually('it is live', () => received().includes('event: connected\n'));
    const isClosed = once(socket, 'close');
    await closeSession(http1, session);
    await isClosed;
    expect(received()).toMatch(/event: end\nid: 2\ndata: \{"reason":"closed","head":2\}\n\n$/);
  });
});

test('a request of HTTP/1.0 needs no host', async () => {
  const bytes = `GET ${pathOf(await sessionOf(1))} HTTP/1.0\r\nAuthorization: Bearer ${http1.token}\r\n\r\n`;
  const stream = openRaw(bytes);
  await eventually('it is live', () => stream.body().includes('event: connected\n'));
  expect(sequencesIn(stream.body())).toEqual([1]);
});

describe('a stream that is pipelined behind a slow request', () => {
  /** Holds a session's head, so that an append to it waits, until it is let go. */
  async function hold(session: string): Promise<() => Promise<void>> {
    const sql = postgres(database.url, { max: 1, onnotice: () => undefined });
    const [release, isReleased] = latch();
    const [acquired, isAcquired] = latch();
    const holding = sql.begin(async (tx) => {
      await tx`select from ledgerline.session_head where session = ${session} for no key update`;
      acquired();
      await isReleased;
    });
    await isAcquired;
    const letGo = async (): Promise<void> => {
      release();
      await holding;
      await sql.end();
    };
    onTestFinished(letGo);
    return letGo;
  }

  function pipelined(slow: string, followed: string): string {
    const body = '{"events":[{"type":"note","data":1}]}';
    const json = { 'Content-Type': 'application/json', 'Content-Length': String(body.length) };
    const append = head('POST', `/internal/sessions/${slow}/events`, { ...bearer(http1.key), ...json }) + body;
    return append + head('GET', pathOf(followed), bearer(http1.key));
  }

  test('loses nothing, and comes after its answer', async () => {
    const [slow, followed] = [await sessionOf(0), await sessionOf(2)];
    const letGo = await hold(slow);
    const stream = openRaw(pipelined(slow, followed), http1.internalUrl);
    await eventually('the stream is open', async () => (await subscribersOf(http1, followed)) === 1);
    await appendAll(http1, followed, 3);
    await eventually('the room has them', async () => (await call(http1, 'GET', `/sessions/${followed}`)).text.includes('"watermark":5'));
    expect(stream.text()).toBe('');
    await letGo();
    await eventually('event 5 comes', () => sequencesIn(stream.text()).includes(5));
    await appendAll(http1, followed, 1);
    await eventually('event 6 comes', () => sequencesIn(stream.text()).includes(6));
    expect(sequencesIn(stream.text())).toEqual(range(1, 6));
    const heads = stream.text().match(/HTTP\/1\.1 \d+/g);
    expect(heads).toEqual(['HTTP/1.1 201', 'HTTP/1.1 200']);
    expect(stream.text()).toMatch(/\{"first":1,"last":1\}HTTP\/1\.1 200/);
  });

  test('is noticed when its reader leaves before it came', async () => {
    const [slow, followed] = [await sessionOf(0), await sessionOf(2)];
    await hold(slow);
    const stream = openRaw(pipelined(slow, followed), http1.internalUrl);
    await eventually('the stream is open', async () => (await subscribersOf(http1, followed)) === 1);
    stream.close();
    await none(http1, followed);
  });
});

function latch(): [() => void, Promise<void>] {
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  return [release, released];
}

interface Http2Stream {
  readonly stream: ClientHttp2Stream;
  readonly headers: IncomingHttpHeaders & { ':status'?: number };
  text(): string;
  readonly ended: Promise<unknown>;
}

describe('over HTTP/2 in the clear', () => {
  function connection(gateway = http2): ClientHttp2Session {
    const client = connectHttp2(gateway.publicUrl);
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
    const session = await sessionOf(2);
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
      await appendAll(http2, session, 1);
      await eventually(`event ${number} comes`, () => sequencesIn(reader.text()).includes(number));
    }
    expect(sequencesIn(reader.text())).toEqual(range(1, 6));
  });

  test('many streams share a connection, and each leaves alone', async () => {
    const session = await sessionOf(3);
    const client = connection();
    const readers = await Promise.all(range(1, 100).map(() => request(client, pathOf(session))));
    await eventually('all are there', async () => (await subscribersOf(http2, session)) === 100);
    for (const { stream } of readers.slice(0, 60)) stream.close(constants.NGHTTP2_CANCEL);
    await eventually('those have left', async () => (await subscribersOf(http2, session)) === 40);
    await appendAll(http2, session, 2);
    const staying = readers.slice(60);
    await eventually('the others go on', () => staying.every(({ text }) => sequencesIn(text()).length === 5));
    for (const { text } of staying) expect(sequencesIn(text())).toEqual(range(1, 5));
    client.destroy();
    await none(http2, session);
  });

  test('a reader comes back with its cursor, is told the end, and then to stay away', async () => {
    const session = await sessionOf(6);
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
    const session = await sessionOf(0);
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
    const session = await sessionOf(2);
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
    const session = await sessionOf(1);
    const reader = await request(connection(), pathOf(session));
    await eventually('others are served', () => sequencesIn(reader.text()).length === 1);
  });

  test('a draining server tells every reader, and ends', async () => {
    const gateway = await startGateway({ databaseUrl: database.url, environment: { LEDGERLINE_HTTP2: 'true' } });
    onTestFinished(() => gateway.kill());
    const session = await sessionOf(2);
    const client = connection(gateway);
    const readers = await Promise.all(range(1, 20).map(() => request(client, pathOf(session))));
    await eventually('all are live', () => readers.every(({ text }) => text().includes('event: connected\n')));
    expect(await gateway.terminate()).toBe(0);
    for (const reader of readers) {
      await reader.ended;
      expect(reader.text()).toMatch(/event: goaway\nretry: \d+\nid: 2\ndata: \{"reason":"draining"\}\n\n$/);
    }
  });
});
