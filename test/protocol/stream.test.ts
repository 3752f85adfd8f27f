/** A stream from any cursor: a defined answer for each, then everything after it, in order, once. */
import { EventSource } from 'eventsource';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { caller, event, startDeployment } from '../support/deployment.ts';
import type { Caller, Deployment } from '../support/deployment.ts';
import { head, open } from '../support/raw-http.ts';
import { readStream } from '../support/sse-reader.ts';
import type { SseReader } from '../support/sse-reader.ts';
import { eventually } from '../support/waits.ts';

let deployment: Deployment;
let call: Caller;
const readers: SseReader[] = [];
beforeAll(async () => {
  deployment = await startDeployment();
  call = caller(deployment);
});
afterEach(() => Promise.all(readers.splice(0).map((reader) => reader.close())));
afterAll(() => deployment.stop());

async function follow(session: string, query = '', headers: Readonly<Record<string, string>> = {}): Promise<SseReader> {
  const authorization = `Bearer ${await deployment.token({ subject: `reader of ${session}` })}`;
  const reader = await readStream(`${deployment.publicUrl}/sessions/${session}/stream${query}`, {
    authorization,
    ...headers,
  });
  readers.push(reader);
  return reader;
}

async function sessionOf(count: number): Promise<string> {
  const session = await call.session();
  if (count > 0) await call.append(session, ...Array.from({ length: count }, (_, index) => event(String(index + 1))));
  return session;
}

const data = (frame: { data: string } | undefined): unknown => JSON.parse(frame?.data ?? 'null');

describe('a stream', () => {
  it('says where it begins, replays, says that it is live, and goes on', async () => {
    const session = await sessionOf(3);
    const reader = await follow(session, '?after=1');
    await reader.frame('connected');
    await call.append(session, event('4'));
    await reader.events(3);
    expect(reader.retries).toHaveLength(1);
    expect(reader.text()).toMatch(/^retry: \d+\n\nevent: hello\nid: 1\n/);
    expect(reader.frames.map(({ event: name, id }) => `${name} ${id}`)).toEqual([
      'hello 1',
      'message 2',
      'message 3',
      'connected 3',
      'message 4',
    ]);
    expect(data(reader.frames[0])).toEqual({ session, after: 1, floor: 0, head: 3 });
    expect(reader.text()).not.toContain('\r');
  });

  it('has the headers that keep proxies from holding it back', async () => {
    const reader = await follow(await sessionOf(0), '', {
      origin: 'https://nobody.test',
      'accept-encoding': 'gzip, br',
    });
    expect(Object.fromEntries(reader.headers)).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      'ledgerline-protocol': '1',
      vary: 'Origin',
    });
    for (const name of ['content-encoding', 'access-control-allow-origin', 'set-cookie'])
      expect(reader.headers.has(name)).toBe(false);
  });

  it('of an idle session sends its first bytes at once [leyabierta PR#28]', async () => {
    const reader = await follow(await sessionOf(0));
    await reader.frame('connected');
    expect(reader.frames.map(({ event: name }) => name)).toEqual(['hello', 'connected']);
  });

  it('from now on begins at the head', async () => {
    const session = await sessionOf(3);
    const reader = await follow(session, '?after=head');
    await reader.frame('connected');
    await call.append(session, event('4'));
    expect((await reader.events(1)).map(({ id }) => id)).toEqual(['4']);
  });

  it('resumed after every single event gives the rest, once [electric PR#2869]', async () => {
    const session = await sessionOf(12);
    for (let cursor = 0; cursor <= 12; cursor += 1) {
      const reader = await follow(session, '?after=5', { 'last-event-id': String(cursor) });
      await reader.frame('connected');
      const ids = reader.frames.filter(({ event: name }) => name === 'message').map(({ id }) => Number(id));
      expect(ids).toEqual(Array.from({ length: 12 - cursor }, (_, index) => cursor + 1 + index));
    }
  });

  it('of one session knows nothing of another’s cursor [I9]', async () => {
    const [long, short] = [await sessionOf(20), await sessionOf(2)];
    const reader = await follow(short, '', { 'last-event-id': '15' });
    await reader.frame('connected');
    expect(data(reader.frames.find(({ event: name }) => name === 'reset'))).toEqual({
      reason: 'ahead',
      floor: 0,
      head: 2,
    });
    expect(reader.text()).not.toContain(long);
    expect((await reader.events(2)).map(({ id }) => id)).toEqual(['1', '2']);
  });
});

describe('a cursor that cannot be served [I7]', () => {
  it.each([
    '1e3',
    '0x10',
    '-1',
    '+5',
    '1.0',
    '00012',
    '9007199254740992',
    '9007199254740993',
    'head',
    'x',
    '5, 9',
    '\u00e9',
    '1'.repeat(200),
  ])('such as the header %s is answered in the stream, which goes on', async (cursor) => {
    const session = await sessionOf(2);
    const reader = await follow(session, '?after=1', { 'last-event-id': cursor });
    await reader.frame('connected');
    expect(reader.frames.map(({ event: name, id }) => `${name} ${id}`)).toEqual([
      'hello 0',
      'reset 0',
      'message 1',
      'message 2',
      'connected 2',
    ]);
    expect(data(reader.frames[1])).toEqual({ reason: 'malformed', floor: 0, head: 2 });
  });

  it.each(['1e3', '%207%20', '%2B5', '+5', '%00', '%D9%A3', '%E0%A4%A', '-1', '1&after=1', '1&lastEventId=2'])(
    'such as ?after=%s is answered in the stream too',
    async (cursor) => {
      const reader = await follow(await sessionOf(2), `?after=${cursor}`);
      expect(data(await reader.frame('reset'))).toMatchObject({ reason: 'malformed' });
      expect(await reader.events(2)).toHaveLength(2);
    },
  );

  it('beyond the head begins at the floor and says so [mercure#704]', async () => {
    const reader = await follow(await sessionOf(2), '?lastEventId=9007199254740991');
    expect(data(await reader.frame('reset'))).toEqual({ reason: 'ahead', floor: 0, head: 2 });
    expect((await reader.events(2)).map(({ id }) => id)).toEqual(['1', '2']);
  });

  it('that is empty is none', async () => {
    const reader = await follow(await sessionOf(2), '?after=', { 'last-event-id': '' });
    await reader.frame('connected');
    expect(reader.frames.map(({ event: name }) => name)).toEqual(['hello', 'message', 'message', 'connected']);
  });

  it('of 0 is the start', async () => {
    const reader = await follow(await sessionOf(1), '', { 'last-event-id': '0' });
    await reader.frame('connected');
    expect(reader.frames.map(({ event: name, id }) => `${name} ${id}`)).toEqual([
      'hello 0',
      'message 1',
      'connected 1',
    ]);
  });

  it('that comes in two headers, in UTF-8 or with a NUL never is a fault [undici#5746]', async () => {
    const session = await sessionOf(1);
    const authorization = `Bearer ${await deployment.token()}`;
    const raw = async (headers: Buffer): Promise<string> => {
      const { socket, received } = open(deployment.publicUrl);
      const [start = ''] = head('GET', `/sessions/${session}/stream`, { Authorization: authorization }).split(
        '\r\n\r\n',
      );
      socket.write(Buffer.concat([Buffer.from(`${start}\r\n`), headers, Buffer.from('\r\n\r\n')]));
      await eventually('an answer', () => received().includes('event: connected') || /^HTTP\/1.1 4/.test(received()));
      socket.destroy();
      return received();
    };
    expect(await raw(Buffer.from('Last-Event-ID: 0\r\nLast-Event-ID: 1'))).toContain('"reason":"malformed"');
    expect(await raw(Buffer.from('Last-Event-ID: ٣'))).toContain('"reason":"malformed"');
    expect(await raw(Buffer.from('Last-Event-ID: 1\0'))).toMatch(/^HTTP\/1.1 400 /);
    expect(await raw(Buffer.from(`Last-Event-ID: ${'1'.repeat(20_000)}`))).toMatch(/^HTTP\/1.1 431 /);
  });

  it('leaves nothing behind, however often it comes [you-agent-factory PR#772]', async () => {
    const session = await sessionOf(1);
    const authorization = `Bearer ${await deployment.token()}`;
    for (let round = 0; round < 20; round += 1) {
      const controllers = Array.from({ length: 50 }, () => new AbortController());
      await Promise.all(
        controllers.map(({ signal }, index) =>
          fetch(`${deployment.publicUrl}/sessions/${session}/stream?after=x${index}`, {
            headers: { authorization },
            signal,
          }),
        ),
      );
      for (const controller of controllers) controller.abort();
    }
    await eventually('no subscriber is left', async () => {
      const { room } = (await call.internal('GET', `/sessions/${session}`)).json as {
        room: { subscribers: number } | null;
      };
      return room === null || room.subscribers === 0;
    });
  });
});

describe('the end of a session', () => {
  it('comes after all of it, and a reconnect is told to stay away', async () => {
    const session = await sessionOf(2);
    const reader = await follow(session);
    await reader.frame('connected');
    await call.append(session, event('3'));
    await call.internal('POST', `/sessions/${session}/close`);
    await reader.ended();
    expect(reader.frames.at(-1)).toMatchObject({ event: 'end', id: '3', data: '{"reason":"closed","head":3}' });
    expect(reader.frames.filter(({ event: name }) => name === 'message').map(({ id }) => id)).toEqual(['1', '2', '3']);
    const again = await follow(session, '', { 'last-event-id': '3' });
    expect([again.status, again.headers.get('cache-control')]).toEqual([204, 'no-store']);
    const allTheSame = await follow(session, '', { 'last-event-id': '3' });
    await allTheSame.ended();
    expect(allTheSame.retries).toEqual([3_600_000]);
    expect(allTheSame.frames.map(({ event: name, id }) => `${name} ${id}`)).toEqual(['hello 3', 'end 3']);
  });

  it('is seen by whoever comes later, with or without the events', async () => {
    const session = await sessionOf(2);
    await call.internal('POST', `/sessions/${session}/close`);
    for (const [query, names] of [
      ['', ['hello', 'message', 'message', 'end']],
      ['?after=1', ['hello', 'message', 'end']],
      ['?after=2', ['hello', 'end']],
      ['?after=head', ['hello', 'end']],
      ['?after=7', ['hello', 'reset', 'message', 'message', 'end']],
    ] as const) {
      const reader = await follow(session, query);
      await reader.ended();
      expect(reader.frames.map(({ event: name }) => name).filter((name) => name !== 'connected')).toEqual(names);
    }
  });

  it('stops a browser’s own EventSource, which has everything [jersey#6119]', async () => {
    const session = await sessionOf(3);
    await call.internal('POST', `/sessions/${session}/close`);
    const authorization = `Bearer ${await deployment.token({ subject: 'a browser' })}`;
    const statuses: number[] = [];
    const source = new EventSource(`${deployment.publicUrl}/sessions/${session}/stream`, {
      fetch: async (url, init) => {
        const response = await fetch(url, { ...init, headers: { ...init.headers, authorization } });
        statuses.push(response.status);
        return response;
      },
    });
    const ids: string[] = [];
    source.addEventListener('message', (message) => ids.push(message.lastEventId));
    await eventually('it stops', () => source.readyState === EventSource.CLOSED);
    expect(ids).toEqual(['1', '2', '3']);
    expect(statuses).toEqual([200, 204]);
  });

  it('by deletion ends an open stream between frames, with its reason', async () => {
    const session = await sessionOf(2);
    const reader = await follow(session);
    await reader.frame('connected');
    await call.internal('DELETE', `/sessions/${session}`);
    await reader.ended();
    expect(reader.frames.at(-1)).toMatchObject({ event: 'end' });
    expect(data(reader.frames.at(-1))).toMatchObject({ reason: 'deleted' });
    const later = await follow(session);
    await later.ended();
    expect(later.retries).toEqual([3_600_000]);
    expect(data(later.frames.at(-1))).toMatchObject({ reason: 'deleted' });
    expect(
      (await call.reader('GET', `/sessions/${session}/stream`, { headers: { prefer: 'handling=strict' } })).status,
    ).toBe(410);
  });
});

describe('a token that ends', () => {
  it('ends the stream, and a new one goes on at the same cursor [ably/docs#837]', async () => {
    const session = await sessionOf(2);
    // Over already, but within the tolerance of clocks: the stream opens and ends by itself.
    const authorization = `Bearer ${await deployment.token({ ttlSeconds: -2 })}`;
    const reader = await readStream(`${deployment.publicUrl}/sessions/${session}/stream`, { authorization });
    readers.push(reader);
    expect(reader.status).toBe(200);
    await reader.ended();
    expect(reader.frames.at(-1)).toMatchObject({ event: 'denied', id: '2', data: '{"reason":"expired"}' });
    await call.append(session, event('3'));
    const renewed = await follow(session, '', { 'last-event-id': reader.frames.at(-1)?.id ?? '' });
    expect((await renewed.events(1)).map(({ id }) => id)).toEqual(['3']);
    expect((await call.reader('GET', `/sessions/${session}/stream`, { token: { ttlSeconds: -60 } })).status).toBe(401);
  });
});
