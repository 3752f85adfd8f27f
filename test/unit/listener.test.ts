/** A port that survives whatever comes in, and ends when it is told to. */
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { Hono } from 'hono';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { silentLog } from '../../src/base/log.ts';
import type { AppEnvironment } from '../../src/http/context.ts';
import { createListener } from '../../src/http/listener.ts';
import type { JoinRequest } from '../../src/room/rooms.ts';
import { exchange, head, open } from '../support/raw-http.ts';
import { openHead, row, startStubGateway } from '../support/stub-gateway.ts';
import type { StubGateway } from '../support/stub-gateway.ts';
import { eventually } from '../support/waits.ts';

let gateway: StubGateway;
afterEach(() => gateway.stop());

const greeting = ({ writer }: { writer: { write(text: string): void } }): void => writer.write('retry: 1000\n\n');
const streamRequest = async (version = '1.1', headers: Readonly<Record<string, string>> = {}): Promise<string> =>
  head('GET', '/sessions/s1/stream', { Authorization: `Bearer ${await gateway.token()}`, ...headers }, version);

/** As much as a writer takes. */
function fill({ writer }: Pick<JoinRequest, 'writer'>): void {
  const much = Buffer.alloc(limits.pieceBytes, 'x');
  writer.cork();
  while (writer.isWritable) writer.write(much);
  writer.uncork();
}

/** Asks on one connection, reads nothing of any answer but its status, and stays. */
async function http2Client(): Promise<(path: string) => Promise<unknown>> {
  const client = connectHttp2(gateway.publicUrl).on('error', () => undefined);
  onTestFinished(() => client.destroy());
  const authorization = `Bearer ${await gateway.token()}`;
  return (path) =>
    new Promise((resolve, reject) => {
      const stream = client.request({ ':path': path, authorization });
      stream.once('response', (headers) => resolve(headers[':status'])).once('error', reject);
    });
}

describe('a listener', () => {
  it('answers headers past the limit with a clean 431, every time', async () => {
    gateway = await startStubGateway();
    for (let attempt = 0; attempt < 20; attempt += 1) {
      const answer = await exchange(
        gateway.publicUrl,
        head('GET', '/healthz', { 'Last-Event-ID': '9'.repeat(20_000) }),
      );
      expect(answer).toMatch(/^HTTP\/1.1 431 /);
      expect(answer).toContain('Ledgerline-Protocol: 1\r\n');
    }
    expect((await fetch(`${gateway.publicUrl}/healthz`)).status).toBe(200);
  });

  it.each([
    ['no HTTP at all', 'hello\r\n\r\n', 400],
    ['a NUL in a header', head('GET', '/healthz', { 'Last-Event-ID': '1\0' }), 400],
    ['two lengths', head('POST', '/sessions', { 'Content-Length': '1', 'content-length': '2' }), 400],
    ['a length and chunks', head('POST', '/sessions', { 'Content-Length': '1', 'Transfer-Encoding': 'chunked' }), 400],
    ['a backslash in the path', head('GET', '/a\\b', { Connection: 'close' }), 400],
    ['a host that is none', head('GET', '/healthz', { Host: 'a b/c', Connection: 'close' }), 400],
  ])('answers %s by refusing it', async (_, request, status) => {
    gateway = await startStubGateway();
    const answer = await exchange(gateway.publicUrl, request);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer.toLowerCase()).toContain('ledgerline-protocol: 1\r\n');
  });

  it('survives 10,000 resets at any byte of a request [hono#1480]', async () => {
    gateway = await startStubGateway({
      join: greeting,
      sessions: { describe: (session) => Promise.resolve(row(session)) },
    });
    const requests = [
      await streamRequest(),
      head('POST', '/sessions', { Authorization: `Bearer ${await gateway.token()}`, 'Content-Length': '30' }) +
        '{"session":"a"}',
      head('GET', '/sessions/s1', { Authorization: `Bearer ${await gateway.token()}` }),
      'not http at all\r\n\r\n',
    ];
    const faults: unknown[] = [];
    const note = (fault: unknown): number => faults.push(fault);
    process.on('uncaughtException', note);
    process.on('unhandledRejection', note);
    const reset = (index: number): Promise<void> =>
      new Promise((resolve) => {
        const request = requests[index % requests.length] ?? '';
        const { socket } = open(gateway.publicUrl);
        socket.on('error', () => undefined);
        socket.once('close', () => resolve());
        const cut = 1 + ((index * 7_919) % request.length);
        socket.once('connect', () => {
          socket.write(request.slice(0, cut), () => {
            if (index % 3 === 0) socket.resetAndDestroy();
            else setImmediate(() => socket.resetAndDestroy());
          });
        });
      });
    for (let index = 0; index < 10_000; index += 50) {
      await Promise.all(Array.from({ length: 50 }, (_, offset) => reset(index + offset)));
    }
    expect((await fetch(`${gateway.publicUrl}/healthz`)).status).toBe(200);
    for (const { writer } of gateway.joins) writer.destroy();
    process.off('uncaughtException', note);
    process.off('unhandledRejection', note);
    expect(faults).toEqual([]);
  });

  it('serves HTTP/1.0 without chunks, with or without a host', async () => {
    gateway = await startStubGateway({ join: ({ writer }) => (greeting({ writer }), writer.end()) });
    for (const request of [
      await streamRequest('1.0'),
      (await streamRequest('1.0')).replace('Host: localhost\r\n', ''),
    ]) {
      const answer = await exchange(gateway.publicUrl, request);
      expect(answer).toMatch(/^HTTP\/1.1 200 /);
      expect(answer.toLowerCase()).not.toContain('transfer-encoding');
      expect(answer.endsWith('\r\n\r\nretry: 1000\n\n')).toBe(true);
    }
  });

  it('serves a stream that was pipelined behind a slow request', async () => {
    let release = (): void => undefined;
    const slow = new Promise<void>((resolve) => {
      release = resolve;
    });
    gateway = await startStubGateway({
      join: greeting,
      sessions: {
        async describe(session) {
          await slow;
          return row(session);
        },
      },
    });
    const { socket, received } = open(gateway.publicUrl);
    socket.write(
      head('GET', '/sessions/s1', { Authorization: `Bearer ${await gateway.token()}` }) + (await streamRequest()),
    );
    await eventually('the stream is joined', () => gateway.joins.length === 1);
    expect(received()).toBe('');
    release();
    await eventually('both answers', () => received().endsWith('retry: 1000\n\n'));
    expect(received().match(/HTTP\/1.1 200 /g)).toHaveLength(2);
    gateway.joins[0]?.writer.write('id: 1\ndata: 1\n\n');
    await eventually('the event', () => received().endsWith('id: 1\ndata: 1\n\n'));
    socket.destroy();
  });

  it('serves a stream and every refusal over HTTP/2 in the clear, and stays alive', async () => {
    gateway = await startStubGateway({ isHttp2: true, join: greeting, allowedOrigins: ['https://app.test'] });
    const client = connectHttp2(gateway.publicUrl);
    const request = async (headers: Record<string, string>) => {
      const stream = client.request({ ':path': '/sessions/s1/stream', ...headers });
      let text = '';
      stream.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      const answer = await new Promise<Record<string, unknown>>((resolve) => stream.once('response', resolve));
      return { stream, answer, text: () => text };
    };
    const authorization = `Bearer ${await gateway.token()}`;
    const followed = await request({ authorization, origin: 'https://app.test' });
    expect(followed.answer).toMatchObject({
      ':status': 200,
      'content-type': 'text/event-stream; charset=utf-8',
      'access-control-allow-origin': 'https://app.test',
    });
    expect(followed.answer).not.toHaveProperty('connection');
    await eventually('the first bytes', () => followed.text() === 'retry: 1000\n\n');
    const refused = await request({});
    expect(refused.answer[':status']).toBe(401);
    const beyond = await request({ ':path': '/nowhere', ':method': 'BREW' });
    expect(beyond.answer[':status']).toBe(404);
    followed.stream.close();
    await eventually('the first reader is gone', () => gateway.joins[0]?.writer.isWritable === false);
    expect((await request({ authorization })).answer[':status']).toBe(200);
    client.destroy();
  });

  it('refuses a port that is taken, by its number and with what to do', async () => {
    gateway = await startStubGateway();
    const { port } = new URL(gateway.publicUrl);
    const second = createListener({
      name: 'public listener',
      app: new Hono<AppEnvironment>(),
      host: '127.0.0.1',
      port: Number(port),
      isHttp2: false,
      log: silentLog,
    });
    await expect(second.start()).rejects.toMatchObject({
      code: 'configuration',
      message: `the public listener cannot start: port ${port} on 127.0.0.1 is taken: stop what listens there, or choose another port`,
    });
    await second.stop();
  });
});

describe('a listener that stops', () => {
  it('waits for no connection that never said a word, as browsers open them in advance', async () => {
    gateway = await startStubGateway({ drainMs: 60_000 });
    const { socket: silent } = open(gateway.publicUrl);
    const ended = once(silent, 'close');
    await once(silent, 'connect');
    // Connections are accepted in their order: this answer comes from behind the silent one.
    await exchange(gateway.publicUrl, head('GET', '/healthz', {}, '1.0'));
    await gateway.stop();
    await ended;
    expect(silent.destroyed).toBe(true);
  });

  it('finishes what is in flight, takes nothing new, and lets idle connections go', async () => {
    let release = (): void => undefined;
    let isAsked = false;
    const slow = new Promise<void>((resolve) => {
      release = resolve;
    });
    gateway = await startStubGateway({
      drainMs: 60_000,
      sessions: {
        async describe(session) {
          isAsked = true;
          await slow;
          return row(session, openHead);
        },
      },
    });
    const idle = open(gateway.publicUrl);
    idle.socket.write(head('GET', '/healthz', {}));
    await eventually('the idle connection was used', () => idle.received().includes('alive'));
    const inFlight = fetch(`${gateway.publicUrl}/sessions/s1`, {
      headers: { authorization: `Bearer ${await gateway.token()}` },
    });
    await eventually('the request is in flight', () => isAsked);
    const stopped = gateway.stopPublic();
    await eventually('the idle connection is gone', () => idle.socket.destroyed || idle.socket.readableEnded);
    await expect(fetch(`${gateway.publicUrl}/healthz`)).rejects.toThrow('fetch failed');
    release();
    expect((await inFlight).status).toBe(200);
    await stopped;
  });

  it('serves on over HTTP/2 beside 100 readers on the same connection that take nothing', async () => {
    gateway = await startStubGateway({ isHttp2: true, join: fill });
    const statusOf = await http2Client();
    for (let reader = 0; reader < 100; reader += 1) expect(await statusOf('/sessions/s1/stream')).toBe(200);
    expect(await statusOf('/healthz')).toBe(200);
  });

  it('ends in time over HTTP/2 beside a reader that takes nothing', async () => {
    gateway = await startStubGateway({ isHttp2: true, join: fill, drainMs: 50 });
    const statusOf = await http2Client();
    expect(await statusOf('/sessions/s1/stream')).toBe(200);
    await gateway.stop();
    await expect(statusOf('/healthz')).rejects.toHaveProperty('code');
  });

  it.each([false, true])('cuts what does not finish in time (HTTP/2: %s)', async (isHttp2) => {
    gateway = await startStubGateway({ drainMs: 100, isHttp2, join: greeting });
    if (isHttp2) {
      const client = connectHttp2(gateway.publicUrl);
      client.on('error', () => undefined);
      client
        .request({ ':path': '/sessions/s1/stream', authorization: `Bearer ${await gateway.token()}` })
        .on('error', () => undefined);
      await eventually('the stream is open', () => gateway.joins.length === 1);
      await gateway.stopPublic();
      await eventually('the client is cut', () => client.destroyed);
    } else {
      const { socket } = open(gateway.publicUrl);
      socket.on('error', () => undefined);
      socket.write(await streamRequest());
      await eventually('the stream is open', () => gateway.joins.length === 1);
      await gateway.stopPublic();
      await eventually('the client is cut', () => socket.destroyed || socket.readableEnded);
    }
  });
});
