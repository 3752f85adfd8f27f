/** The writer on real servers of HTTP/1.0, 1.1 and 2. */
import { createServer, request as httpRequest } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2';
import type { Http2Server, Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { openStream } from '../../src/sse/writer.ts';
import type { Writer } from '../../src/sse/writer.ts';
import { eventually } from '../support/waits.ts';

const releases: (() => void)[] = [];
afterEach(() => {
  for (const release of releases.splice(0)) release();
});

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

async function listen(server: Server | Http2Server): Promise<number> {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  releases.push(() => {
    server.close();
    if ('closeAllConnections' in server) server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

/** A raw connection: what comes is seen byte by byte, and nothing is read until it is asked for. */
function raw(port: number, sent: string): { socket: Socket; received: () => string } {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.on('data', (bytes) => (text += bytes.toString('latin1')));
  socket.on('error', () => undefined);
  socket.write(sent);
  releases.push(() => socket.destroy());
  return { socket, received: () => text };
}

const get = (version: string, path = '/'): string => `GET ${path} HTTP/${version}\r\nHost: x\r\n\r\n`;

async function serve(handler: (writer: Writer, response: ServerResponse) => void, headers = {}): Promise<number> {
  return listen(createServer((_request, response) => handler(openStream(response, headers), response)));
}

describe('the head of a stream', () => {
  test.each(['1.0', '1.1'])(
    'over HTTP/%s has the exact headers, no framing, and comes before any event',
    async (version) => {
      const port = await serve(() => undefined, {
        Vary: 'Origin',
        'Content-Type': 'text/plain',
        'Transfer-Encoding': 'chunked',
      });
      const { received } = raw(port, get(version));
      await eventually('the head arrives', () => received().includes('\r\n\r\n'));
      const [status, ...lines] = received().trim().split('\r\n');
      expect(status).toBe('HTTP/1.1 200 OK');
      const headers = lines.filter((line) => !line.startsWith('Date: ')).toSorted();
      expect(headers).toEqual([
        'Connection: close',
        'cache-control: no-cache, no-transform',
        'content-type: text/event-stream; charset=utf-8',
        'vary: Origin',
        'x-accel-buffering: no',
      ]);
    },
  );

  test.each(['1.0', '1.1'])('over HTTP/%s is followed by the frames as they are, until the end', async (version) => {
    const port = await serve((writer) => {
      writer.write('id: 1\n\n');
      writer.write(Buffer.from('id: é\n\n'));
      writer.end();
    });
    const { socket, received } = raw(port, get(version));
    await eventually('the server closes', () => socket.closed || socket.readableEnded);
    expect(Buffer.from(received().split('\r\n\r\n')[1] ?? '', 'latin1').toString()).toBe('id: 1\n\nid: é\n\n');
  });
});

describe('a write', () => {
  const opened = async (): Promise<{ writer: Writer; response: ServerResponse }> => {
    let found: { writer: Writer; response: ServerResponse } | undefined;
    const port = await serve((writer, response) => (found = { writer, response }));
    raw(port, get('1.1'));
    return eventually('the stream opens', () => found);
  };

  test.each([100, 40_000])('of %i bytes leaves within the call, unless it is corked', async (bytes) => {
    const { writer, response } = await opened();
    const sent = () => response.req.socket.bytesWritten - writer.unsentBytes;
    const before = sent();
    writer.write(Buffer.alloc(bytes, 'x'));
    expect(sent() - before).toBe(bytes);
    writer.cork();
    writer.write(Buffer.alloc(bytes, 'y'));
    expect(sent() - before).toBe(bytes);
    writer.uncork();
    expect(sent() - before).toBe(bytes * 2);
  });

  test('of a frame asks for no tick of the loop: a thousand of them cost as much as a fifth of the frames', async () => {
    const { writer } = await opened();
    const ticks = vi.spyOn(process, 'nextTick');
    releases.push(() => ticks.mockRestore());
    for (let frame = 0; frame < 100; frame += 1) writer.write('id: 1\ndata: {}\n\n');
    expect(ticks).not.toHaveBeenCalled();
  });
});

describe('behind a slow request on the same connection', () => {
  const slowFirst = async (onWriter: (writer: Writer) => void) => {
    let finish: () => void = () => undefined;
    const handler: Handler = (request, response) => {
      if (request.url === '/slow') finish = () => response.end('slow');
      else onWriter(openStream(response, {}));
    };
    const port = await listen(createServer(handler));
    return { port, finish: () => finish() };
  };

  test('the stream waits for its turn and then has everything', async () => {
    let writer: Writer | undefined;
    const { port, finish } = await slowFirst((stream) => (writer = stream));
    const { received } = raw(port, get('1.1', '/slow') + get('1.1', '/stream'));
    const stream = await eventually('the second request is heard', () => writer);
    stream.write('id: 1\n\n');
    expect(stream.unsentBytes).toBeGreaterThan(0);
    // the head waits too, and is none of what was handed over
    expect(stream.sentBytes).toBe(0);
    finish();
    await eventually('the stream arrives', () => received().endsWith('id: 1\n\n'));
    stream.write('id: 2\n\n');
    await eventually('and goes on', () => received().endsWith('id: 2\n\n'));
    expect(received().indexOf('slow')).toBeLessThan(received().indexOf('text/event-stream'));
  });

  test('it says when it is full, and drains when its turn comes', async () => {
    let writer: Writer | undefined;
    const { port, finish } = await slowFirst((stream) => (writer = stream));
    raw(port, get('1.1', '/slow') + get('1.1', '/stream'));
    const stream = await eventually('the second request is heard', () => writer);
    let drains = 0;
    stream.onDrain(() => (drains += 1));
    while (stream.isWritable) stream.write(Buffer.alloc(limits.pieceBytes, 'x'));
    finish();
    await eventually('it drains', () => drains > 0 && stream.isWritable);
  });

  test('it learns that the connection is gone', async () => {
    let writer: Writer | undefined;
    const { port } = await slowFirst((stream) => (writer = stream));
    const { socket } = raw(port, get('1.1', '/slow') + get('1.1', '/stream'));
    const stream = await eventually('the second request is heard', () => writer);
    let isClosed = false;
    stream.onClose(() => (isClosed = true));
    socket.destroy();
    await eventually('the close is heard', () => isClosed);
    stream.write('nobody hears this');
    expect(stream.isWritable).toBe(false);
  });
});

describe('a reader that does not read', () => {
  test('fills the budget and no more; drains when it reads; its progress is seen before that', async () => {
    let writer: Writer | undefined;
    const port = await serve((stream) => (writer = stream));
    const { socket } = raw(port, get('1.1'));
    socket.pause();
    const stream = await eventually('the stream opens', () => writer);
    let drains = 0;
    stream.onDrain(() => (drains += 1));
    const piece = Buffer.alloc(limits.pieceBytes, 'x');
    // The kernel takes some first; a turn of the loop shows what it left.
    await eventually('the budget is full', () => {
      stream.cork();
      while (stream.isWritable) stream.write(piece);
      stream.uncork();
      return stream.unsentBytes >= limits.unsentBytes && drains === 0 ? true : void (drains = 0);
    });
    expect(stream.unsentBytes).toBeLessThan(limits.unsentBytes + limits.pieceBytes);
    const stuckAt = stream.sentBytes;
    expect(stream.sentBytes).toBe(stuckAt);
    socket.resume();
    await eventually('it drains', () => drains > 0);
    expect(stream.sentBytes).toBeGreaterThan(stuckAt);
    expect(stream.isWritable).toBe(true);
  });

  test('is given no frame more, one at a time, than its socket has room for; and drains', async () => {
    let found: { writer: Writer; response: ServerResponse } | undefined;
    const port = await serve((writer, response) => (found = { writer, response }));
    const { socket } = raw(port, get('1.1'));
    socket.pause();
    const { writer, response } = await eventually('the stream opens', () => found);
    let drains = 0;
    writer.onDrain(() => (drains += 1));
    const frame = Buffer.alloc(265, 'x');
    await eventually('the kernel takes no more', () => {
      for (let burst = 0; burst < 10_000 && writer.isWritable; burst += 1) writer.write(frame);
      return !writer.isWritable && drains === 0 ? true : void (drains = 0);
    });
    expect(writer.unsentBytes).toBeLessThan(response.writableHighWaterMark + frame.length);
    socket.resume();
    await eventually('it drains', () => drains > 0 && writer.isWritable);
  });

  test('is destroyed at once, although bytes are pending', async () => {
    let writer: Writer | undefined;
    const port = await serve((stream) => (writer = stream));
    const { socket } = raw(port, get('1.1'));
    socket.pause();
    const stream = await eventually('the stream opens', () => writer);
    let closes = 0;
    stream.onClose(() => (closes += 1));
    while (stream.isWritable) stream.write(Buffer.alloc(limits.pieceBytes));
    stream.destroy();
    expect([closes, stream.isWritable, stream.unsentBytes]).toEqual([1, false, 0]);
    stream.destroy();
    stream.end();
    stream.write('x');
    expect(closes).toBe(1);
  });
});

describe('a connection that breaks', () => {
  test('before the stream was opened is closed from its beginning', async () => {
    let closes = 0;
    const port = await listen(
      createServer((request, response) => {
        request.socket.destroy();
        response.once('close', () => {
          const writer = openStream(response, {});
          writer.onClose(() => (closes += 1));
          writer.write('x');
          writer.cork();
          writer.uncork();
          writer.end();
        });
      }),
    );
    raw(port, get('1.1'));
    await eventually('the close is heard', () => closes === 1);
  });

  test('at any moment, hundreds of times, closes each stream once and throws nothing', async () => {
    let open = 0;
    let opens = 0;
    const port = await serve((writer) => {
      open += 1;
      opens += 1;
      writer.onClose(() => {
        open -= 1;
        writer.write('after');
      });
      for (let burst = 0; burst < 20; burst += 1) setImmediate(() => writer.write(Buffer.alloc(5_000, 'y')));
    });
    for (let index = 0; index < 300; index += 1) {
      const { socket } = raw(port, get(index % 2 === 0 ? '1.1' : '1.0'));
      socket.once('connect', () => {
        if (index % 3 === 0) setImmediate(() => socket.resetAndDestroy());
        else socket.once('data', () => (index % 3 === 1 ? socket.resetAndDestroy() : socket.destroy()));
      });
    }
    await eventually('all are closed', () => opens > 150 && open === 0);
  });

  test('is noticed when the request had a body that was read before', async () => {
    let isClosed = false;
    let isOpen = false;
    const port = await listen(
      createServer((request, response) => {
        request.resume().once('close', () => {
          openStream(response, {}).onClose(() => (isClosed = true));
          isOpen = true;
        });
      }),
    );
    const { socket } = raw(port, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi');
    await eventually('the stream opens', () => isOpen);
    socket.destroy();
    await eventually('the close is heard', () => isClosed);
  });

  test('a client that ends its half is not a client that is gone', async () => {
    let writer: Writer | undefined;
    const port = await serve((stream) => (writer = stream));
    const client = httpRequest({ port, host: '127.0.0.1' });
    let text = '';
    client.on('response', (response) => response.on('data', (bytes: Buffer) => (text += bytes.toString())));
    client.end();
    const stream = await eventually('the stream opens', () => writer);
    stream.write('id: 1\n\n');
    await eventually('it arrives', () => text === 'id: 1\n\n');
    client.destroy();
    await eventually('the stream closes', () => !stream.isWritable);
  });
});

describe('a reader that ended its half and has not taken what was sent', () => {
  test('gets nothing more, costs nothing more, and is no error', async () => {
    let writer: Writer | undefined;
    let ended = false;
    let errors = 0;
    const server = createServer((request, response) => {
      writer = openStream(response, {});
      request.socket.once('end', () => (ended = true));
    });
    server.on('clientError', () => (errors += 1));
    const port = await listen(server);
    const { socket } = raw(port, get('1.1'));
    socket.pause();
    const stream = await eventually('the stream opens', () => writer);
    await eventually('the kernel takes no more', () => {
      stream.cork();
      while (stream.isWritable) stream.write(Buffer.alloc(limits.pieceBytes, 'x'));
      stream.uncork();
      return stream.unsentBytes >= limits.unsentBytes;
    });
    socket.end();
    await eventually('the end is heard', () => ended);
    await new Promise((resolve) => void setImmediate(resolve));
    const [unsentBefore, sentBefore] = [stream.unsentBytes, stream.sentBytes];
    for (let frame = 0; frame < 100; frame += 1) stream.write(Buffer.alloc(limits.pieceBytes, 'y'));
    await new Promise((resolve) => void setImmediate(resolve));
    expect(unsentBefore).toBeGreaterThan(0);
    // Else news would look like progress, and nothing would ever end what takes nothing.
    expect(stream.sentBytes - sentBefore).toBe(unsentBefore - stream.unsentBytes);
    expect([stream.unsentBytes <= unsentBefore, errors]).toEqual([true, 0]);
    socket.resume();
    await eventually('what was sent before arrives, and then the end', () => socket.readableEnded);
  });
});

describe('over HTTP/2 without TLS', () => {
  async function openHttp2(handler: (request: Http2ServerRequest, response: Http2ServerResponse) => void) {
    const port = await listen(createHttp2Server(handler));
    const client = connectHttp2(`http://127.0.0.1:${port}`);
    client.on('error', () => undefined);
    releases.push(() => client.destroy());
    return client;
  }

  test('a stream is 200 with its headers and none of a connection, and carries the frames', async () => {
    const client = await openHttp2((_request, response) => {
      const writer = openStream(response, { Connection: 'keep-alive', 'Transfer-Encoding': 'chunked', Vary: 'Origin' });
      writer.cork();
      writer.write('id: 1\n\n');
      writer.write(Buffer.from('id: 2\n\n'));
      writer.uncork();
      writer.end();
    });
    const stream = client.request({ ':path': '/' });
    const headers: Record<string, unknown>[] = [];
    let text = '';
    stream.on('response', (received) => headers.push(received));
    stream.on('data', (bytes: Buffer) => (text += bytes.toString()));
    await eventually('the stream ends', () => stream.closed);
    expect(text).toBe('id: 1\n\nid: 2\n\n');
    expect(headers[0]).toMatchObject({
      ':status': 200,
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      vary: 'Origin',
    });
    expect(headers[0]).not.toHaveProperty('connection');
    expect(headers[0]).not.toHaveProperty('transfer-encoding');
  });

  test('a reader that does not read fills the budget, and drains', async () => {
    let writer: Writer | undefined;
    const client = await openHttp2((_request, response) => (writer = openStream(response, {})));
    const stream = client.request({ ':path': '/' });
    stream.pause();
    const opened = await eventually('the stream opens', () => writer);
    let drains = 0;
    opened.onDrain(() => (drains += 1));
    while (opened.isWritable) opened.write(Buffer.alloc(limits.pieceBytes));
    expect(opened.unsentBytes).toBeLessThan(limits.unsentBytes + limits.pieceBytes);
    const before = opened.sentBytes;
    stream.resume();
    await eventually('it drains', () => drains > 0 && opened.isWritable);
    expect(opened.sentBytes).toBeGreaterThan(before);
  });

  test('a reset, or the end of the connection, closes the stream and nothing else', async () => {
    const closed: string[] = [];
    const writers = new Map<string, Writer>();
    const client = await openHttp2((request, response) => {
      const writer = openStream(response, {});
      writers.set(request.url, writer);
      writer.onClose(() => {
        closed.push(request.url);
        writer.write('after');
        writer.end();
      });
    });
    const [a, b] = [client.request({ ':path': '/a' }), client.request({ ':path': '/b' })];
    for (const stream of [a, b]) stream.on('error', () => undefined);
    await eventually('both open', () => writers.size === 2);
    a.close(2);
    await eventually('the one closes', () => closed.length === 1);
    writers.get('/a')?.write('late');
    expect([closed, writers.get('/b')?.isWritable]).toEqual([['/a'], true]);
    client.destroy();
    await eventually('the other closes', () => closed.length === 2);
  });
});

test('a stream that ends behind a pipelined request ends its connection when its turn comes', async () => {
  let first: ServerResponse | undefined;
  let writer: Writer | undefined;
  const port = await listen(
    createServer((request, response) => {
      if (request.url === '/slow') first = response;
      else writer = openStream(response, {});
    }),
  );
  const { socket, received } = raw(port, get('1.1', '/slow') + get('1.1', '/stream'));
  const stream = await eventually('the stream opens', () => writer);
  stream.write('id: 1\n\n');
  stream.destroy();
  await new Promise((resolve) => void setImmediate(resolve));
  first?.end('the first answer');
  await eventually('the connection closes', () => socket.closed);
  expect(received()).toContain('the first answer');
});
