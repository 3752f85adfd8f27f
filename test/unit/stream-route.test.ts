/** What a request for a stream is answered, and that a browser survives every passing fault. */
import type { IncomingMessage } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { EventSource } from 'eventsource';
import { compress } from 'hono/compress';
import { Hono } from 'hono';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { Clock } from '../../src/base/clock.ts';
import { LedgerlineError } from '../../src/base/errors.ts';
import { limits } from '../../src/base/limits.ts';
import { toCursor } from '../../src/event/sequence.ts';
import type { Apps } from '../../src/http/app.ts';
import type { AppEnvironment } from '../../src/http/context.ts';
import type { Head } from '../../src/ledger/ledger.ts';
import { open, head as requestHead } from '../support/raw-http.ts';
import { openHead, recordingLog, startStubGateway } from '../support/stub-gateway.ts';
import type { StubGateway, StubOptions } from '../support/stub-gateway.ts';
import { eventually } from '../support/waits.ts';

let gateway: StubGateway;
afterEach(() => gateway.stop());

const closedHead: Head = { ...openHead, state: 'closed' };
const deletedHead: Head = { head: toCursor(3), floor: toCursor(3), state: 'deleted' };
const strict = { prefer: 'handling=strict' };
const atHead = { 'last-event-id': '3' };
const withHead = (head: Head | undefined, options: StubOptions = {}) =>
  startStubGateway({ readHead: () => Promise.resolve(head), ...options });
const greeting = ({ writer }: { writer: { write(text: string): void } }): void => writer.write('retry: 1000\n\n');

async function get(
  headers: Readonly<Record<string, string>> = {},
  query = '',
  method = 'GET',
  subject = 'tester',
): Promise<Response> {
  const authorization = `Bearer ${await gateway.token({ subject })}`;
  return fetch(`${gateway.publicUrl}/sessions/s1/stream${query}`, { method, headers: { authorization, ...headers } });
}

/** What has come when `until` has, and then no more is read. */
async function reading(answer: Response, until: string): Promise<string> {
  let text = '';
  for await (const bytes of answer.body as ReadableStream<Uint8Array>) {
    text += Buffer.from(bytes).toString();
    if (text.includes(until)) break;
  }
  return text;
}

describe('a stream of an open session', () => {
  it('is handed to the room with the head that was read for it', async () => {
    gateway = await withHead(openHead, { join: greeting, allowedOrigins: ['https://app.test'] });
    const answer = await get({ 'last-event-id': '2', origin: 'https://app.test' }, '?after=1');
    expect(answer.status).toBe(200);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      'ledgerline-protocol': '1',
      vary: 'Origin',
      'access-control-allow-origin': 'https://app.test',
      'access-control-allow-credentials': 'true',
    });
    expect(answer.headers.get('content-encoding')).toBeNull();
    expect(gateway.joins).toMatchObject([{ session: 's1', head: openHead, requested: { kind: 'after', cursor: 2 } }]);
    expect(gateway.joins[0]?.expiresAtMs).toBeGreaterThan(0);
    await answer.body?.cancel();
  });

  it('opens for a malformed cursor too; the stream itself answers it [I7]', async () => {
    gateway = await withHead(openHead, { join: greeting });
    for (const [headers, query] of [
      [{ 'last-event-id': 'x' }, ''],
      [{}, '?after=%00'],
      [{}, '?after=%207%20'],
      [{}, '?after=+5'],
      [{}, '?after=%E0%A4%A'],
      [{ 'last-event-id': '\u00e9' }, ''],
      [{ 'last-event-id': '9007199254740993' }, ''],
    ] as const) {
      const answer = await get(headers, query);
      expect(answer.status).toBe(200);
      await answer.body?.cancel();
    }
    expect(gateway.joins.map(({ requested }) => requested.kind)).toEqual(Array(7).fill('malformed'));
  });

  it('takes two headers for one malformed cursor', async () => {
    gateway = await withHead(openHead, { join: greeting });
    const { socket, received } = open(gateway.publicUrl);
    const request = requestHead('GET', '/sessions/s1/stream', {
      Authorization: `Bearer ${await gateway.token()}`,
      'Last-Event-ID': '5',
    });
    socket.write(request.replace('\r\n\r\n', '\r\nLast-Event-ID: 9\r\n\r\n'));
    await eventually('the stream', () => received().includes('retry: 1000'));
    socket.destroy();
    expect(gateway.joins.map(({ requested }) => requested.kind)).toEqual(['malformed']);
  });

  it('is not opened by HEAD', async () => {
    gateway = await withHead(openHead, { join: greeting });
    const answer = await get({}, '', 'HEAD');
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
    expect(gateway.joins).toEqual([]);
  });

  it('takes GET alone', async () => {
    gateway = await withHead(openHead);
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'TRACER']) {
      const { socket, received } = open(gateway.publicUrl);
      socket.write(
        requestHead(method === 'TRACER' ? 'TRACE' : method, '/sessions/s1/stream', {
          Connection: 'close',
          'Content-Length': '0',
        }),
      );
      await eventually('the answer', () => received().includes('method_not_allowed'));
      expect(received()).toMatch(/^HTTP\/1.1 405 /);
      expect(received().toLowerCase()).toContain('allow: get, head, options\r\n');
      socket.destroy();
    }
    expect(gateway.joins).toEqual([]);
  });

  it('lets every event out at once behind a compressing middleware [hono#3833]', async () => {
    const around = ({ publicApp, internalApp }: Apps): Apps => ({
      publicApp: new Hono<AppEnvironment>().use(compress()).route('/', publicApp),
      internalApp,
    });
    gateway = await withHead(openHead, { join: greeting, around });
    const answer = await get({ 'accept-encoding': 'gzip' });
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
    const next = async (): Promise<string> => Buffer.from((await reader.read()).value ?? []).toString();
    expect(await next()).toBe('retry: 1000\n\n');
    for (const event of ['id: 1\ndata: 1\n\n', 'id: 2\ndata: 2\n\n']) {
      gateway.joins[0]?.writer.write(event);
      expect(await next()).toBe(event);
    }
    expect(answer.headers.get('content-encoding')).toBeNull();
    await reader.cancel();
  });

  it('keeps nothing of what its request brought for as long as it lasts [I6]', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    let seen: { request: WeakRef<Request>; incoming: IncomingMessage } | undefined;
    const around = ({ publicApp, internalApp }: Apps): Apps => ({
      publicApp: new Hono<AppEnvironment>()
        .use((c, next) => {
          seen = { request: new WeakRef(c.req.raw), incoming: c.env.incoming as IncomingMessage };
          return next();
        })
        .route('/', publicApp),
      internalApp,
    });
    gateway = await withHead(openHead, { join: greeting, around });
    const answer = await get({ cookie: `a=${'x'.repeat(1_000)}` }, '?after=1');
    await eventually('its Request is collected', () => {
      collect();
      return seen?.request.deref() === undefined;
    });
    const { headers, rawHeaders, url } = seen?.incoming ?? {};
    expect({ headers, rawHeaders, url }).toEqual({ headers: {}, rawHeaders: [], url: '' });
    gateway.joins[0]?.writer.write('id: 1\n\n');
    expect(await reading(answer, 'id: 1')).toContain('id: 1');
  });

  it('whose room fails ends, and the reason stays here', async () => {
    const { log, lines } = recordingLog();
    const join = (): never => {
      throw new Error('hunter2');
    };
    gateway = await withHead(openHead, { join, log });
    const answer = await get();
    expect(answer.status).toBe(200);
    expect(await answer.text()).toBe('');
    expect(lines()).toContain('hunter2');
  });

  it('whose reader left while the head was read is not joined', async () => {
    let release: (head: Head) => void = () => undefined;
    let asked = false;
    const { log, lines } = recordingLog();
    gateway = await startStubGateway({
      log,
      readHead: () =>
        new Promise((resolve) => {
          asked = true;
          release = resolve;
        }),
    });
    const { socket } = open(gateway.publicUrl);
    socket.write(requestHead('GET', '/sessions/s1/stream', { Authorization: `Bearer ${await gateway.token()}` }));
    await eventually('the head is asked for', () => asked);
    const gone = new Promise((resolve) => socket.once('close', resolve));
    socket.resetAndDestroy();
    await gone;
    // A request behind it on the same loop: when it is answered, the server has seen the reset.
    await (await fetch(`${gateway.publicUrl}/healthz`)).text();
    release(openHead);
    await eventually('the request is over', () => lines().includes('"route":"/sessions/:session/stream"'));
    expect(gateway.joins).toEqual([]);
  });
});

describe('a stream of a session that is over', () => {
  it('is 204 for a reader that reconnects with all of it, and a long goodbye when it comes back all the same', async () => {
    gateway = await withHead(closedHead);
    const told = await get(atHead);
    expect([told.status, told.headers.get('cache-control'), await told.text()]).toEqual([204, 'no-store', '']);
    const again = await get(atHead);
    expect(again.status).toBe(200);
    expect(await again.text()).toBe(
      `retry: ${limits.endedRetryMs}\n\n` +
        'event: hello\nid: 3\ndata: {"session":"s1","after":3,"floor":0,"head":3}\n\n' +
        'event: end\nid: 3\ndata: {"reason":"closed","head":3}\n\n',
    );
    expect(gateway.joins).toEqual([]);
    // A reader that did stop, and opens the page again.
    expect((await get(atHead)).status).toBe(204);
    // Another one.
    expect((await get(atHead, '', 'GET', 'somebody')).status).toBe(204);
  });

  it('is a stream like any other for whoever has not all of it, or opens it anew', async () => {
    gateway = await withHead(closedHead, { join: ({ writer }) => writer.end() });
    for (const [headers, query] of [
      [{ 'last-event-id': '2' }, ''],
      [{ 'last-event-id': '4' }, ''],
      [{}, '?after=3'],
      [{}, ''],
    ] as const) {
      expect((await get(headers, query)).status).toBe(200);
    }
    expect(gateway.joins).toHaveLength(4);
  });

  it('stops a browser’s own EventSource', async () => {
    gateway = await withHead(closedHead);
    const authorization = `Bearer ${await gateway.token()}`;
    let requests = 0;
    const source = new EventSource(`${gateway.publicUrl}/sessions/s1/stream`, {
      fetch: (url, init) => {
        requests += 1;
        return fetch(url, { ...init, headers: { ...init.headers, authorization, 'last-event-id': '3' } });
      },
    });
    await eventually('it stops', () => source.readyState === EventSource.CLOSED);
    expect(requests).toBe(1);
  });

  it('that was deleted says so in the stream, and by its status to whoever asked for that', async () => {
    gateway = await withHead(deletedHead);
    const answer = await get();
    expect(answer.status).toBe(200);
    expect(await answer.text()).toContain('event: end\nid: 3\ndata: {"reason":"deleted","head":3}\n\n');
    expect((await get(atHead)).status).toBe(204);
    expect((await get({ 'last-event-id': '1' })).status).toBe(200);
    const refused = await get(strict);
    expect(refused.status).toBe(410);
    expect(await refused.json()).toMatchObject({ type: 'urn:ledgerline:problem:session_deleted' });
    expect(gateway.joins).toEqual([]);
  });

  it('that never was is 404', async () => {
    gateway = await withHead(undefined);
    const answer = await get();
    expect(answer.status).toBe(404);
    expect(await answer.json()).toMatchObject({ type: 'urn:ledgerline:problem:session_unknown' });
  });
});

describe('a fault at connect', () => {
  const faults: readonly (readonly [string, StubOptions])[] = [
    ['unavailable', { readHead: () => Promise.reject(new LedgerlineError('unavailable', 'away')) }],
    ['draining', { draining: AbortSignal.abort() }],
    ['internal', { readHead: () => Promise.reject(new Error('hunter2')) }],
  ];

  it.each(faults)('%s is a stream that says when to come back [Yaffle#88]', async (code, options) => {
    gateway = await startStubGateway(options);
    const answer = await get();
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
    expect(await answer.text()).toMatch(/^retry: \d+\n\n$/);
    const [counted] = (await gateway.metrics.browserFaults.get()).values;
    expect(counted).toMatchObject({ labels: { code }, value: 1 });
    expect(gateway.joins).toEqual([]);
  });

  it.each(faults)('%s has its real status for whoever asked for it', async (code, options) => {
    gateway = await startStubGateway(options);
    const answer = await get(strict);
    const text = await answer.text();
    expect(answer.status).toBe(code === 'internal' ? 500 : 503);
    expect(answer.headers.get('preference-applied')).toBe('handling=strict');
    expect(JSON.parse(text)).toMatchObject({ type: `urn:ledgerline:problem:${code}` });
    expect(text).not.toContain('hunter2');
    expect((await gateway.metrics.browserFaults.get()).values).toEqual([]);
  });

  it('leaves a browser’s own EventSource alive, which then gets its stream', async () => {
    let isAway = true;
    gateway = await startStubGateway({
      readHead: () => (isAway ? Promise.reject(new LedgerlineError('unavailable', 'away')) : Promise.resolve(openHead)),
      join: ({ writer }) => writer.write('retry: 10\n\nid: 1\ndata: hello\n\n'),
    });
    const authorization = `Bearer ${await gateway.token()}`;
    const received: string[] = [];
    const source = new EventSource(`${gateway.publicUrl}/sessions/s1/stream`, {
      fetch: (url, init) => fetch(url, { ...init, headers: { ...init.headers, authorization } }),
    });
    source.addEventListener('message', (event) => received.push(String(event.data)));
    source.addEventListener('error', () => {
      isAway = false;
    });
    await eventually('the stream came', () => received.length > 0);
    expect(source.readyState).toBe(EventSource.OPEN);
    source.close();
  });

  const owned = () => gateway.token({ sessions: [], owner: 'maya' });
  const getOwned = async (headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
    fetch(`${gateway.publicUrl}/sessions/s1/stream`, {
      headers: { authorization: `Bearer ${await owned()}`, ...headers },
    });

  it('at the door, where a session is looked up for its owner, is the same [Yaffle#88]', async () => {
    const away = () => Promise.reject(new LedgerlineError('unavailable', 'away'));
    gateway = await startStubGateway({ sessions: { describe: away } });
    const answer = await getOwned();
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringMatching(/^retry: \d+\n\n$/)]);
    expect((await getOwned(strict)).status).toBe(503);
  });

  it('at the door has the same deadline [resumable-stream PR#23]', async () => {
    gateway = await startStubGateway({ sessions: { describe: () => new Promise(() => undefined) } });
    expect(await (await getOwned()).text()).toMatch(/^retry: \d+\n\n$/);
  });

  it('that does not answer at all is a fault too, after a deadline [resumable-stream PR#23]', async () => {
    gateway = await startStubGateway({ readHead: () => new Promise(() => undefined) });
    expect(await (await get()).text()).toMatch(/^retry: \d+\n\n$/);
  });

  it('counts for those who had to wait, and not for who came later to the same read', async () => {
    let answer: (head: Head) => void = () => undefined;
    let isAsked = false;
    const read = new Promise<Head>((resolve) => (answer = resolve));
    const readHead = (): Promise<Head> => {
      isAsked = true;
      return read;
    };
    let laterMs = 0;
    const clock: Clock = { ...systemClock, now: () => systemClock.now() + laterMs };
    gateway = await startStubGateway({ readHead, join: greeting, clock });
    const first = get(strict);
    await eventually('it waits', () => isAsked);
    laterMs = 2 * limits.headReadSpacingCapMs;
    const later = get(strict);
    expect((await first).status).toBe(503);
    answer(openHead);
    expect((await later).status).toBe(200);
    await (await later).body?.cancel();
  });
});
