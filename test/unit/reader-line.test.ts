/** Readers in front of the door, on real sockets: nothing is done for one before its turn, and nothing at all once it is gone. */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { silentLog } from '../../src/base/log.ts';
import { readersInLine } from '../../src/http/reader-line.ts';
import { createTurnstile } from '../../src/http/turnstile.ts';
import type { Turnstile } from '../../src/http/turnstile.ts';
import { manualClock } from '../support/manual-clock.ts';
import { exchange, head, open } from '../support/raw-http.ts';
import { eventually } from '../support/waits.ts';

/** Nobody passes until somebody says so. */
function closedTurnstile() {
  const line: { readonly session: string; readonly enter: () => void }[] = [];
  const turnstile: Turnstile = (session) => new Promise((enter) => line.push({ session, enter }));
  return { turnstile, line, letAllIn: () => line.splice(0).forEach(({ enter }) => enter()) };
}

async function listen(turnstile: Turnstile, { isHttp2 = false, onServed = (): void => undefined } = {}) {
  const served: string[] = [];
  const came: string[] = [];
  let gone = 0;
  const serve = readersInLine(
    turnstile,
    (request, response) => {
      served.push(request.url ?? '');
      onServed();
      response.end(`answer to ${request.url}`);
    },
    silentLog,
  );
  const onRequest = (
    request: IncomingMessage | Http2ServerRequest,
    response: ServerResponse | Http2ServerResponse,
  ): void => {
    came.push(request.url ?? '');
    response.once('close', () => (gone += 1));
    serve(request, response);
  };
  const server = isHttp2 ? createHttp2Server(onRequest) : createServer(onRequest);
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    if ('closeAllConnections' in server) server.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, served, came, goneCount: () => gone };
}

const streamOf = (session: string): string => head('GET', `/sessions/${session}/stream`, {});

describe('a reader', () => {
  test('is not served before its turn, and other requests are meanwhile', async () => {
    const { turnstile, line, letAllIn } = closedTurnstile();
    const { url, served, came } = await listen(turnstile);
    const { socket, received } = open(url);
    onTestFinished(() => void socket.destroy());
    socket.write(streamOf('a'));
    await eventually('the reader came', () => came.length === 1);
    const others = [
      head('POST', '/internal/sessions/a/events', { Connection: 'close', 'Content-Length': '0' }),
      head('HEAD', '/sessions/a/stream', { Connection: 'close' }),
      head('GET', '/sessions/a/events', { Connection: 'close' }),
      head('GET', '/sessions/a/streams', { Connection: 'close' }),
      head('GET', '/healthz?of=/sessions/a/stream', { Connection: 'close' }),
    ];
    for (const other of others) expect(await exchange(url, other)).toMatch(/^HTTP\/1.1 200 /);
    expect(served).toHaveLength(others.length);
    expect(line.map(({ session }) => session)).toEqual(['a']);
    letAllIn();
    await eventually('the answer', () => received().endsWith('answer to /sessions/a/stream'));
  });

  test.each([
    '/sessions/a/stream',
    '/sessions/a/stream?after=3',
    '/sessions/a/stream?',
    'http://localhost/sessions/a/stream',
    '/sessions/%61/%73tream?after=3',
    '/pages/../sessions/a/stream',
  ])('stands in the line of its session: %s', async (path) => {
    const { turnstile, line } = closedTurnstile();
    const { url } = await listen(turnstile);
    const { socket } = open(url);
    socket.write(head('GET', path, {}));
    await eventually('it stands in line', () => line.length === 1);
    expect(line[0]?.session).toBe('a');
    socket.destroy();
  });

  test('that goes away while it stands in line is not served at all', async () => {
    const { turnstile, line, letAllIn } = closedTurnstile();
    const { url, served, goneCount } = await listen(turnstile);
    const { socket } = open(url);
    socket.write(streamOf('a'));
    await eventually('it stands in line', () => line.length === 1);
    socket.destroy();
    await eventually('it is gone', () => goneCount() === 1);
    letAllIn();
    await exchange(url, head('GET', '/healthz', { Connection: 'close' }));
    expect(served).toEqual(['/healthz']);
  });

  test('that pipelines a second stream behind the one in line is cut, and the line does not grow', async () => {
    const { turnstile, line, letAllIn } = closedTurnstile();
    const { url, served } = await listen(turnstile);
    const received = await exchange(url, streamOf('a').repeat(1_000));
    expect(received).toBe('');
    expect(line).toHaveLength(1);
    letAllIn();
    await exchange(url, head('GET', '/healthz', { Connection: 'close' }));
    expect(served).toEqual(['/healthz']);
  });

  test('may ask again on the connection on which it was answered', async () => {
    const { turnstile, line, letAllIn } = closedTurnstile();
    const { url } = await listen(turnstile);
    const { socket, received } = open(url);
    onTestFinished(() => void socket.destroy());
    for (const session of ['a', 'b']) {
      socket.write(streamOf(session));
      await eventually('it stands in line', () => line.length === 1);
      letAllIn();
      await eventually('the answer', () => received().endsWith(`answer to /sessions/${session}/stream`));
    }
  });

  test('has its answer behind those of the requests before it on its connection', async () => {
    const { turnstile, line, letAllIn } = closedTurnstile();
    const { url, served } = await listen(turnstile);
    const { socket, received } = open(url);
    onTestFinished(() => void socket.destroy());
    socket.write(streamOf('a') + head('GET', '/healthz', {}));
    await eventually('the other request was served', () => served.length === 1);
    expect([line.length, received()]).toEqual([1, '']);
    letAllIn();
    await eventually('both answers', () => received().includes('answer to /healthz'));
    expect(received().match(/answer to \S+?(?=HTTP|$)/g)).toEqual([
      'answer to /sessions/a/stream',
      'answer to /healthz',
    ]);
  });
});

describe('readers over HTTP/2', () => {
  test('each stand in line, those on one connection too, and one that resets its stream is not served', async () => {
    const { turnstile, line, letAllIn } = closedTurnstile();
    const { url, served, goneCount } = await listen(turnstile, { isHttp2: true });
    const client = connectHttp2(url);
    onTestFinished(() => client.destroy());
    const streams = ['a', 'b', 'c'].map((session) => client.request({ ':path': `/sessions/${session}/stream` }));
    await eventually('they stand in line', () => line.length === 3);
    streams[1]?.on('error', () => undefined).close();
    await eventually('one is gone', () => goneCount() === 1);
    letAllIn();
    await eventually('the others are served', () => served.length === 2);
    expect(served).toEqual(['/sessions/a/stream', '/sessions/c/stream']);
    const texts = await Promise.all(
      [streams[0], streams[2]].map(async (stream) => (await stream?.setEncoding('utf8').toArray())?.join('')),
    );
    expect(texts).toEqual(['answer to /sessions/a/stream', 'answer to /sessions/c/stream']);
  });
});

describe('a herd', () => {
  test.each([false, true])('is let in a few at a turn, whatever one poll brought (HTTP/2: %s)', async (isHttp2) => {
    const clock = manualClock();
    const work = (): void => {
      clock.lookCostMs = limits.turnMs / 4;
      clock.now();
      clock.lookCostMs = 0;
    };
    const { url, served, came } = await listen(createTurnstile(clock, silentLog), { isHttp2, onServed: work });
    if (isHttp2) {
      const client = connectHttp2(url);
      onTestFinished(() => client.destroy());
      for (let reader = 0; reader < 40; reader += 1) client.request({ ':path': '/sessions/a/stream' }).resume();
    } else {
      for (let reader = 0; reader < 40; reader += 1) {
        const { socket } = open(url);
        onTestFinished(() => void socket.destroy());
        socket.write(streamOf('a'));
      }
    }
    await eventually('all came', () => came.length === 40);
    expect(served.length).toBeLessThanOrEqual(4);
    await clock.advance(limits.turnMs * 40);
    await eventually('all are in', () => served.length === 40);
    expect(clock.turns).toBeGreaterThanOrEqual(40 / 4);
  });
});
