/** An answer that comes before the end of its request is read, though its peer writes on without a pause. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { toSequence } from '../../src/event/sequence.ts';
import { closeInStages } from '../../src/http/staged-close.ts';
import type { AppendRequest, Outcome } from '../../src/ledger/ledger.ts';
import { manualClock } from '../support/manual-clock.ts';
import { line } from '../support/ndjson-call.ts';
import { head } from '../support/raw-http.ts';
import { KEY, row, startStubGateway } from '../support/stub-gateway.ts';
import type { StubGateway } from '../support/stub-gateway.ts';
import { eventually } from '../support/waits.ts';

/** Long enough for a reset to come back from this machine. */
const TURNS = 200;

let gateway: StubGateway;
let draining: AbortController;
let stored: number;
/** A description waits for it. */
let described: Promise<void>;

function store({ events }: AppendRequest): Promise<Outcome> {
  const first = toSequence(stored + 1);
  stored += events.length;
  return Promise.resolve({ kind: 'appended', first, last: toSequence(stored), at: '2026-11-30T04:00:00.000Z' });
}

beforeEach(async () => {
  draining = new AbortController();
  stored = 0;
  described = Promise.resolve();
  gateway = await startStubGateway({
    draining: draining.signal,
    drainMs: 60_000,
    sessions: {
      append: store,
      describe: (session) => described.then(() => row(session)),
      producer: () => Promise.resolve({ state: 'open', counter: 0, first: undefined, last: undefined }),
    },
  });
});
afterEach(() => gateway.stop());

/** A connection that reads nothing until it is told to, and ends its side only by itself. */
function deafPeer(url: string) {
  const { hostname, port } = new URL(url);
  const socket: Socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
  onTestFinished(() => void socket.destroy());
  let text = '';
  let isFlooding = false;
  const faults: unknown[] = [];
  socket.on('error', (fault) => faults.push(fault));
  return {
    socket,
    faults,
    text: () => text,
    listen: () => socket.on('data', (bytes: Buffer) => (text += bytes.toString('latin1'))),
    /** Goes on until it is stopped. */
    async flood(bytes: string | Buffer): Promise<void> {
      isFlooding = true;
      while (isFlooding && socket.writable) {
        socket.write(bytes);
        await turn();
      }
    },
    /** Its side ends as well. */
    hangUp() {
      isFlooding = false;
      socket.end();
    },
  };
}

async function turns(): Promise<void> {
  for (let count = 0; count < TURNS; count += 1) await turn();
}

const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
const answered = async (): Promise<boolean> => (await gateway.metrics.requests.get()).values.length === 1;

describe.each(['close', 'keep-alive'])('a producer that writes without a pause (Connection: %s)', (connection) => {
  const begin = () => {
    const peer = deafPeer(gateway.internalUrl);
    const headers = {
      Authorization: `Bearer ${KEY}`,
      'Content-Type': 'application/x-ndjson',
      'Transfer-Encoding': 'chunked',
      Connection: connection,
    };
    peer.socket.write(head('POST', '/internal/sessions/s1/events?producer=p&sequence=1', headers));
    return peer;
  };

  it('is told that its server drains, and keeps it until it has closed, too', async () => {
    const peer = begin();
    void peer.flood(chunk(line('1')));
    await eventually('some of it is stored', () => stored > 10);
    draining.abort();
    await eventually('the answer has ended', answered);
    let isStopped = false;
    const stopped = gateway.stop().then(() => (isStopped = true));
    await turns();
    peer.listen();
    await eventually('it has read why', () => peer.text().endsWith('{"end":"draining"}\n\r\n0\r\n\r\n'));
    await turns();
    expect(peer.socket.readableEnded, 'the end of the other side came with it').toBe(true);
    expect(peer.faults).toEqual([]);
    expect(isStopped).toBe(false);
    peer.hangUp();
    await stopped;
  });

  it('is told which line was refused', async () => {
    const peer = begin();
    await turn();
    peer.socket.write(chunk('hello\n'));
    void peer.flood(chunk(line('1')));
    await eventually('the answer has ended', answered);
    await turns();
    peer.listen();
    await eventually('the other side has ended', () => peer.socket.readableEnded);
    expect(peer.text()).toContain('"detail":"line 1: ');
    expect(peer.text()).toMatch(/\r\n0\r\n\r\n$/);
    await turns();
    expect(peer.faults).toEqual([]);
    peer.hangUp();
  });
});

describe('an answer before the end of its request', () => {
  it.each([
    ['a body past the limit', { Authorization: `Bearer ${KEY}` }, 413],
    ['nobody’s body', {}, 401],
  ])('to %s is read, though it is the last of its connection', async (_, headers, status) => {
    const peer = deafPeer(gateway.internalUrl);
    const length = { 'Content-Length': String(1 << 30), Connection: 'close' };
    peer.socket.write(head('POST', '/internal/sessions/s1/events', { ...headers, ...length }));
    void peer.flood('x'.repeat(1_000));
    await eventually('it is answered', answered);
    await turns();
    peer.listen();
    await eventually('the other side has ended', () => peer.socket.readableEnded);
    expect(peer.text()).toMatch(new RegExp(`^HTTP/1.1 ${status} [^]*\\}$`));
    expect(peer.faults).toEqual([]);
    peer.hangUp();
  });

  it('to headers without an end is read', async () => {
    const peer = deafPeer(gateway.internalUrl);
    peer.socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n');
    void peer.flood(`X-More: ${'x'.repeat(1_000)}\r\n`);
    await eventually('it is too much', () => peer.socket.bytesWritten > limits.headerBytes * 2);
    await turns();
    peer.listen();
    await eventually('the other side has ended', () => peer.socket.readableEnded);
    expect(peer.text()).toMatch(/^HTTP\/1.1 431 /);
    expect(peer.faults).toEqual([]);
    peer.hangUp();
  });
});

it('a stream that is refused while it waits behind another answer does not cut that off', async () => {
  let release = (): void => undefined;
  described = new Promise((resolve) => (release = resolve));
  const peer = deafPeer(gateway.internalUrl);
  peer.listen();
  const headers = { Authorization: `Bearer ${KEY}` };
  const streamed = { ...headers, 'Content-Type': 'application/x-ndjson', 'Transfer-Encoding': 'chunked' };
  peer.socket.write(
    head('GET', '/sessions/s1', headers) +
      head('POST', '/internal/sessions/s1/events?producer=p&sequence=1', streamed) +
      chunk('hello\n'),
  );
  await eventually('the stream is refused', answered);
  release();
  await eventually('the other side has ended', () => peer.socket.readableEnded);
  expect(peer.text()).toContain('{"session":"s1"');
  expect(peer.text()).toContain('"detail":"line 1: ');
  peer.hangUp();
});

it('a request behind the last answer of its connection is not taken in', async () => {
  draining.abort();
  const peer = deafPeer(gateway.internalUrl);
  peer.listen();
  peer.socket.write(head('GET', '/sessions/s1', { Authorization: `Bearer ${KEY}` }));
  await eventually('the other side has ended', () => peer.socket.readableEnded);
  expect(peer.text()).toMatch(/^connection: close\r$/m);
  const body = '{"events":[{"type":"a","data":1}]}';
  const headers = { Authorization: `Bearer ${KEY}`, 'Content-Length': String(body.length) };
  peer.socket.write(head('POST', '/internal/sessions/s1/events', headers) + body);
  peer.hangUp();
  await once(peer.socket, 'close');
  expect(gateway.appends).toEqual([]);
});

it('requests behind the last answer of a connection do not pile up while it lingers [I6]', async () => {
  let parsed = 0;
  const count = (): void => void (parsed += 1);
  subscribe('http.server.request.start', count);
  onTestFinished(() => void unsubscribe('http.server.request.start', count));
  draining.abort();
  const peer = deafPeer(gateway.internalUrl);
  peer.listen();
  peer.socket.write(head('GET', '/healthz', {}));
  await eventually('the other side has ended', () => peer.socket.readableEnded);
  parsed = 0;
  const more = head('GET', '/healthz', {}).repeat(100);
  void peer.flood(more);
  await eventually('much was sent', () => peer.socket.bytesWritten > 100 * more.length);
  await turns();
  // Of the first chunk, which is 64 KiB.
  expect(parsed).toBeLessThan(65_536 / (more.length / 100) + 1);
  expect(peer.faults).toEqual([]);
  peer.hangUp();
});

describe('a connection that closes in stages', () => {
  async function pair() {
    const clock = manualClock();
    const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    const peer = deafPeer(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    peer.listen();
    const [socket] = await accepted;
    socket.resume();
    socket.write('the last word');
    closeInStages(socket, clock);
    await eventually('the peer has it all', () => peer.socket.readableEnded && peer.text() === 'the last word');
    return { clock, peer, socket };
  }

  it('is closed by whoever does not close it in time', async () => {
    const { clock, peer, socket } = await pair();
    await clock.advance(limits.lingerMs - 1);
    peer.socket.write('still here');
    await eventually('that was read', () => socket.bytesRead === 'still here'.length);
    expect(socket.destroyed).toBe(false);
    await clock.advance(1);
    expect(socket.destroyed).toBe(true);
  });

  it('is over when the peer has closed as well, and asked twice it is closed once', async () => {
    const { clock, peer, socket } = await pair();
    closeInStages(socket, clock);
    expect(clock.waiting).toBe(1);
    peer.hangUp();
    await once(socket, 'close');
    expect(clock.waiting).toBe(0);
  });
});
