/** Clients that do what no client should, in thousands: none is let in, none brings the server down, and the good ones notice nothing. */
import { randomInt } from 'node:crypto';
import type { Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { abuseStage, closing, crowd, dial, witness } from '../support/abuse-stage.ts';
import type { AbuseStage, Levels, Witness } from '../support/abuse-stage.ts';
import { append, createSession, metric } from '../support/gateway-calls.ts';
import { countTo } from '../support/ledger.ts';
import { seededRandom } from '../support/manual-clock.ts';
import { line } from '../support/ndjson-call.ts';
import { exchange, head } from '../support/raw-http.ts';
import { eventually } from '../support/waits.ts';

const MiB = 1024 * 1024;
const seed = Number(process.env['LEDGERLINE_TEST_SEED'] ?? randomInt(1_000_000));
const random = seededRandom(seed);
const below = (limit: number): number => Math.floor(random() * limit);

let stage: AbuseStage;
let good: Witness;
let before: Levels;
/** Connections that say a little of their headers now and then, for as long as this file lasts. */
let slow: Socket[];
let slowed: string[];

beforeAll(async () => {
  stage = await abuseStage();
  await createSession(stage.at, 'abused');
  await append(stage.at, 'abused', '1', '2', '3');
  slow = await Promise.all(
    countTo(200).map((number) => dial(number % 2 === 0 ? stage.at.publicUrl : stage.at.internalUrl)),
  );
  slowed = slow.map(() => '');
  for (const [index, socket] of slow.entries()) {
    socket.on('data', (chunk: Buffer) => (slowed[index] += chunk.toString('latin1')));
    socket.write('GET /sessions/abused/stream HTTP/1.1\r\nHost: a\r\n');
    const dripping = setInterval(() => socket.write('X-More: 1\r\n'), 1_000);
    socket.once('close', () => clearInterval(dripping));
  }
  // Enough of it that the process has grown to what such a crowd takes, by any release of Node, before it is measured.
  await resets(3_000);
  await openAndDrop(300);
  good = await witness(stage.at);
});
afterAll(async () => {
  for (const socket of slow) socket.destroy();
  await stage.stop();
});

beforeEach(async () => {
  await eventually(
    'nobody but the witness reads',
    async () => (await metric(stage.at, 'ledgerline_subscribers')) === 1,
  );
  before = await stage.level();
});
afterEach(() => stage.isWell());

interface Request {
  readonly url: string;
  readonly bytes: string;
}

/** What a good client sends, of each kind, to each listener; and what one sends that takes it for something else. */
function allRequests(): readonly Request[] {
  const { publicUrl, internalUrl, token, key } = stage.at;
  const reader = { Authorization: `Bearer ${token}` };
  const producer = { Authorization: `Bearer ${key}` };
  const withBody = (body: string) => ({ 'Content-Length': String(Buffer.byteLength(body)) });
  const body = '{"events":[{"type":"note","data":"é"}]}';
  const message = '{"key":"k","content":"x"}';
  const lines = `${line('1')}\n${line('2')}${line('"é"')}`;
  const chunk = `${Buffer.byteLength(lines).toString(16)}\r\n${lines}\r\n`;
  const events = '/internal/sessions/abused/events';
  const ndjson = { ...producer, 'Content-Type': 'application/x-ndjson', 'Transfer-Encoding': 'chunked' };
  return [
    { url: publicUrl, bytes: head('GET', '/sessions/abused/stream', reader) },
    { url: internalUrl, bytes: head('GET', '/sessions/abused/stream?after=1', producer) },
    { url: publicUrl, bytes: head('GET', '/sessions/abused/events?limit=3', reader).repeat(3) },
    { url: publicUrl, bytes: head('POST', '/sessions/no/messages', { ...reader, ...withBody(message) }) + message },
    { url: internalUrl, bytes: head('POST', events, { ...producer, ...withBody(body) }) + body },
    { url: internalUrl, bytes: head('POST', `${events}?producer=PRODUCER&sequence=1`, ndjson) + chunk },
    { url: publicUrl, bytes: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' },
    { url: publicUrl, bytes: `\u0016\u0003\u0001${'\u0000'.repeat(60)}` },
  ];
}

/** Each is cut off at a random byte, at a random moment: at once, when it is written, when an answer begins, or a little later. */
async function resets(count: number): Promise<void> {
  const requests = allRequests();
  await crowd(count, 100, async () => {
    const { url, bytes } = requests[below(requests.length)] as Request;
    // each stream of events is somebody else's, or it would be refused at once
    const whole = Buffer.from(bytes.replace('PRODUCER', `p-${below(1e9)}`));
    const part = whole.subarray(0, below(2) === 0 ? whole.length : below(whole.length));
    const socket = await dial(url);
    const closed = closing(socket);
    const written = new Promise<void>((resolve) => void socket.write(part, () => resolve()));
    const moment = below(4);
    if (moment > 0) await written;
    if (moment > 1 && part.length === whole.length)
      await Promise.race([new Promise((resolve) => socket.once('data', resolve)), closed]);
    for (let turns = moment > 2 ? below(20) : 0; turns > 0; turns -= 1) await new Promise(setImmediate);
    socket.resetAndDestroy();
    await closed;
  });
}

/** All at once, each on one of the listeners; every other has said something. */
async function openAndDrop(count: number): Promise<void> {
  const sockets = await Promise.all(
    countTo(count).map((number) => dial(number % 3 === 0 ? stage.at.internalUrl : stage.at.publicUrl)),
  );
  for (const [index, socket] of sockets.entries()) if (index % 2 === 0) socket.write('GET /sessions/abused/str');
  await Promise.all(
    sockets.map(async (socket, index) => {
      const closed = closing(socket);
      if (index % 4 < 2) socket.resetAndDestroy();
      else socket.destroy();
      await closed;
    }),
  );
}

it(`10,000 requests that are reset at a random byte and moment leave nothing behind [hono#1480] (seed ${seed})`, async () => {
  await resets(10_000);
  await eventually('no reader is left', async () => (await metric(stage.at, 'ledgerline_subscribers')) === 1);
  await stage.backTo(before);
});

it('5,000 connections that are opened at once and dropped leave nothing behind', async () => {
  await openAndDrop(5_000);
  await stage.backTo(before);
  expect(await metric(stage.at, 'ledgerline_subscribers')).toBe(1);
});

it('headers and bodies past their limits are refused by their limits, on both listeners, and not kept', async () => {
  const { publicUrl, internalUrl, token, key } = stage.at;
  const peak = await stage.peakOf(() =>
    crowd(200, 20, async (number) => {
      const [url, credential] = number % 2 === 0 ? [publicUrl, token] : [internalUrl, key];
      const authorization = { Authorization: `Bearer ${credential}` };
      const many = Object.fromEntries(countTo(1_500).map((name) => [`X-${name}`, 'one of many']));
      for (const headers of [{ 'X-Long': 'x'.repeat(17 * 1_024) }, many]) {
        const bytes = head('GET', '/sessions/abused', { ...authorization, ...headers });
        expect(await exchange(url, bytes, (text) => text.endsWith('\r\n\r\n'))).toMatch(/^HTTP\/1\.1 431 /);
      }
      const size = number % 2 === 0 ? 65 * 1_024 : 9 * MiB;
      const path = number % 2 === 0 ? '/sessions' : '/internal/sessions/abused/events';
      const announced = head('POST', path, { ...authorization, 'Content-Length': String(size) });
      expect(await exchange(url, announced, (text) => text.endsWith('}'))).toMatch(/^HTTP\/1\.1 413 /);
    }),
  );
  expect(peak).toBeLessThan(before.resident + 64 * MiB);
  await stage.backTo(before);
});

it.each([
  [
    'a stream of events',
    '/internal/sessions/abused/events?producer=endless&sequence=1',
    'application/x-ndjson',
    'lineBytes',
  ],
  ['an append', '/internal/sessions/abused/events', 'application/json', 'appendBodyBytes'],
])(
  '256 MB without a line break into %s are refused at its limit, in flat memory [teamclaude#341]',
  async (_, path, type, limit) => {
    const chunk = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(MiB, 'x'), Buffer.from('\r\n')]);
    const peak = await stage.peakOf(() =>
      crowd(16, 8, async () => {
        const socket = await dial(stage.at.internalUrl);
        let text = '';
        socket.on('data', (bytes: Buffer) => (text += bytes.toString('latin1')));
        const closed = closing(socket);
        const authorization = `Bearer ${stage.at.key}`;
        socket.write(
          head('POST', path, { Authorization: authorization, 'Content-Type': type, 'Transfer-Encoding': 'chunked' }),
        );
        for (let sent = 0; sent < 256 && !socket.destroyed; sent += 1) {
          if (socket.write(chunk)) continue;
          await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed]);
        }
        socket.end();
        await closed;
        expect(text).toContain(`"limit":"${limit}"`);
      }),
    );
    expect(peak).toBeLessThan(before.resident + 160 * MiB);
    await stage.backTo(before);
  },
);

it('bytes that are no UTF-8 have a defined answer wherever they stand, and the next client has its own', async () => {
  const { publicUrl, internalUrl, token, key } = stage.at;
  const reader = { Authorization: `Bearer ${token}` };
  const producer = { Authorization: `Bearer ${key}` };
  const bad = '\u00ff\u00c0\u0080';
  const events = '/internal/sessions/abused/events';
  const inBody = (path: string, type: string, body: string): string =>
    head('POST', path, { ...producer, 'Content-Type': type, 'Content-Length': String(body.length) }) + body;
  const cases: readonly [string, string, RegExp][] = [
    [publicUrl, head('GET', `/sessions/${bad}`, reader), /^HTTP\/1\.1 400 /],
    [publicUrl, head('GET', '/sessions/%ff%c0%80', reader), /^HTTP\/1\.1 400 /],
    [publicUrl, head('GET', `/${bad}`, reader), /^HTTP\/1\.1 (400|404) /],
    [publicUrl, head('GET', `/sessions/abused/events?after=${bad}`, reader), /^HTTP\/1\.1 400 /],
    [
      publicUrl,
      head('GET', '/sessions/abused/stream?after=%ff', { ...reader, Connection: 'close' }),
      /^HTTP\/1\.1 200 [^]*"malformed"/,
    ],
    [
      publicUrl,
      head('GET', '/sessions/abused/stream', { ...reader, 'Last-Event-ID': bad }),
      /^HTTP\/1\.1 200 [^]*"malformed"/,
    ],
    [publicUrl, head('GET', '/sessions/abused/stream?ticket=%ff', {}), /^HTTP\/1\.1 401 /],
    [publicUrl, head('GET', '/sessions/abused', { Authorization: `Bearer ${bad}` }), /^HTTP\/1\.1 401 /],
    [publicUrl, head('GET', '/sessions/abused', { Cookie: `ledgerline_token=${bad}` }), /^HTTP\/1\.1 401 /],
    [internalUrl, head('GET', '/sessions/abused', { Authorization: `Bearer ${bad}` }), /^HTTP\/1\.1 401 /],
    [internalUrl, inBody(events, 'application/json', `{"events":[{"type":"a","data":"${bad}"}]}`), /^HTTP\/1\.1 400 /],
    [internalUrl, inBody('/sessions', 'application/json', `{"metadata":{"a":"${bad}"}}`), /^HTTP\/1\.1 400 /],
    [
      internalUrl,
      inBody(`${events}?producer=b&sequence=1`, 'application/x-ndjson', line(`"${bad}"`)),
      /^HTTP\/1\.1 200 [^]*"line":1/,
    ],
    [internalUrl, inBody(`${events}?producer=${bad}&sequence=1`, 'application/x-ndjson', ''), /^HTTP\/1\.1 400 /],
  ];
  for (const [url, request, answer] of cases) {
    const enough = (text: string): boolean => answer.test(text) && /\r\n\r\n[^]/.test(text);
    expect(await exchange(url, Buffer.from(request, 'latin1'), enough), request).toMatch(answer);
  }
  await stage.backTo(before);
});

it('headers that do not end are given up, whatever still comes of them', async () => {
  await eventually('every slow connection is closed', () => slow.every((socket) => socket.destroyed), 120_000);
  for (const text of slowed) expect(text).toMatch(/^HTTP\/1\.1 408 /);
}, 180_000);

it('and the good clients have noticed nothing of all that', async () => {
  expect(await good.testify()).toBeGreaterThan(10);
});
