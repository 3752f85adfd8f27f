/** A stream over HTTP/1.0 and 1.1: plain bytes, also behind a request that is slow, and not opened by a HEAD. */
import { once } from 'node:events';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { closeSession } from '../support/gateway-calls.ts';
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

let database: FreshDatabase;
let http1: RunningGateway;

beforeAll(async () => {
  database = await freshDatabase();
  http1 = await startGateway({ databaseUrl: database.url });
});
afterAll(async () => {
  await http1?.kill();
  await database?.drop();
});

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
    const session = await newSession(http1, 2);
    const stream = openRaw(head('GET', pathOf(session), bearer(http1.token), version));
    await eventually('it is live', () => stream.body().includes('event: connected\n'));
    for (const number of range(3, 6)) {
      await appendNumbers(http1, session, 1);
      await eventually(`event ${number} comes`, () => sequencesIn(stream.body()).includes(number));
    }
    expect(sequencesIn(stream.body())).toEqual(range(1, 6));
    expect(stream.head()).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(stream.head()).toMatch(/^content-type: text\/event-stream; charset=utf-8$/im);
    expect(stream.head()).toMatch(/^connection: close$/im);
    expect(stream.head()).not.toMatch(/^(transfer-encoding|content-length|content-encoding|keep-alive):/im);
    expect(stream.body()).toMatch(/^retry: \d+\n\nevent: hello\n/);
    stream.close();
    await noSubscribers(http1, session);
  });

  test('a stream of an idle session begins at once, without any event [leyabierta PR#28]', async () => {
    const stream = openRaw(head('GET', pathOf(await newSession(http1)), bearer(http1.token), version));
    await eventually('it is live', () => stream.body().includes('event: connected\n'), limits.syncMs / 2);
    // the first sync may come at any time, but nothing waits for it
    expect(stream.body()).toMatch(/^retry: \d+\n\nevent: hello\nid: 0\ndata: \S+\n\nevent: connected\n/);
  });

  test('a HEAD is answered with the headers of a stream, and opens none', async () => {
    const session = await newSession(http1, 2);
    const stream = openRaw(head('HEAD', pathOf(session), { ...bearer(http1.token), Connection: 'close' }, version));
    await eventually('an answer', () => stream.text().endsWith('\r\n\r\n'));
    expect(stream.head()).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(stream.head()).toMatch(/^content-type: text\/event-stream; charset=utf-8$/im);
    expect(stream.body()).toBe('');
    expect(await roomOf(http1, session)).toBeNull();
  });

  test('the end of a session ends the connection, behind the last frame', async () => {
    const session = await newSession(http1, 2);
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
  const bytes = `GET ${pathOf(await newSession(http1, 1))} HTTP/1.0\r\nAuthorization: Bearer ${http1.token}\r\n\r\n`;
  const stream = openRaw(bytes);
  await eventually('it is live', () => stream.body().includes('event: connected\n'));
  expect(sequencesIn(stream.body())).toEqual([1]);
});

/** Of the wheel, in `room/sync`. */
const SLOTS = 60;

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
    const appending = head('POST', `/internal/sessions/${slow}/events`, { ...bearer(http1.key), ...json }) + body;
    return appending + head('GET', pathOf(followed), bearer(http1.key));
  }

  test('loses nothing, and comes after its answer', async () => {
    const [slow, followed] = [await newSession(http1), await newSession(http1, 2)];
    const letGo = await hold(slow);
    const stream = openRaw(pipelined(slow, followed), http1.internalUrl);
    await eventually('the stream is open', async () => (await subscribersOf(http1, followed)) === 1);
    await appendNumbers(http1, followed, 3);
    await eventually('the room has them', async () => (await roomOf(http1, followed))?.watermark === 5);
    expect(stream.text()).toBe('');
    await letGo();
    await eventually('event 5 comes', () => sequencesIn(stream.text()).includes(5));
    await appendNumbers(http1, followed, 1);
    await eventually('event 6 comes', () => sequencesIn(stream.text()).includes(6));
    expect(sequencesIn(stream.text())).toEqual(range(1, 6));
    const heads = stream.text().match(/HTTP\/1\.1 \d+/g);
    expect(heads).toEqual(['HTTP/1.1 201', 'HTTP/1.1 200']);
    expect(stream.text()).toMatch(/\{"first":1,"last":1\}HTTP\/1\.1 200/);
  });

  test('goes on to its end when more is at hand than its socket may be handed', async () => {
    const [slow, followed] = [await newSession(http1), await newSession(http1)];
    const events = range(1, 500).map(() => ({ type: 'note', data: 'x'.repeat(2_000) }));
    const answer = await fetch(`${http1.internalUrl}/internal/sessions/${followed}/events`, {
      method: 'POST',
      headers: { ...bearer(http1.key), 'Content-Type': 'application/json' },
      body: JSON.stringify({ events }),
    });
    expect(answer.status).toBe(201);
    const letGo = await hold(slow);
    const stream = openRaw(pipelined(slow, followed), http1.internalUrl);
    await eventually('the stream is open', async () => (await subscribersOf(http1, followed)) === 1);
    await letGo();
    await eventually('the last event comes', () => sequencesIn(stream.text()).includes(500));
    expect(sequencesIn(stream.text())).toEqual(range(1, 500));
  });

  test('is no fault of the server when its sync is due before it came', async () => {
    const [slow, followed] = [await newSession(http1), await newSession(http1, 2)];
    const letGo = await hold(slow);
    // one for each slot of the wheel that visits the subscribers, and behind each an ordinary one that tells of the visit
    const waiting = range(1, SLOTS).map(() => openRaw(pipelined(slow, followed), http1.internalUrl));
    await eventually('all are open', async () => (await subscribersOf(http1, followed)) === SLOTS);
    const ordinary = range(1, SLOTS).map(() => openRaw(head('GET', pathOf(followed), bearer(http1.token))));
    await eventually('a slot was visited', () => ordinary.some(({ body }) => body().includes('event: sync\n')));
    await letGo();
    for (const { text } of waiting) await eventually('event 2 comes', () => sequencesIn(text()).includes(2));
  });

  test('is noticed when its reader leaves before it came', async () => {
    const [slow, followed] = [await newSession(http1), await newSession(http1, 2)];
    await hold(slow);
    const stream = openRaw(pipelined(slow, followed), http1.internalUrl);
    await eventually('the stream is open', async () => (await subscribersOf(http1, followed)) === 1);
    stream.close();
    await noSubscribers(http1, followed);
  });
});

function latch(): [() => void, Promise<void>] {
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  return [release, released];
}
