/** Following goes on through everything that can happen to a connection, against a server that misbehaves on request. */
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { sleep as wait, systemClock } from '../../src/base/clock.ts';
import type { Clock } from '../../src/base/clock.ts';
import { follow } from '../../src/cli/follow.ts';
import type { FollowEnd, FollowOptions } from '../../src/cli/follow.ts';

// Only to see how long it waits.
vi.mock(import('../../src/base/clock.ts'), { spy: true });

type Act = (response: ServerResponse, request: IncomingMessage) => void;

const event = (sequence: number) =>
  `id: ${sequence}\ndata: {"sequence":${sequence},"type":"t","at":"…","data":"${sequence}"}\n\n`;
const control = (name: string, id: number, data: object) =>
  `event: ${name}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`;
const hello = (after: number) => `retry: 1\n\n${control('hello', after, { session: 's', after, floor: 0, head: 9 })}`;
const end = (at: number) => control('end', at, { reason: 'closed', head: at });

const stream = (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/event-stream' });
const problem = (response: ServerResponse, status: number, code: string, headers = {}) =>
  response
    .writeHead(status, { 'content-type': 'application/problem+json', ...headers })
    .end(JSON.stringify({ type: `urn:ledgerline:problem:${code}`, title: 'no', detail: `because of ${code}` }));

let server: Server;
let acts: Act[];
let requests: IncomingMessage[];
let notes: string[];
let lines: string[];

beforeEach(async () => {
  acts = [];
  requests = [];
  notes = [];
  lines = [];
  server = createServer((request, response) => {
    requests.push(request);
    const act = acts.shift();
    if (act === undefined) response.destroy();
    else act(response, request);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});

afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

function following(options: Partial<FollowOptions> = {}): Promise<FollowEnd> {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return follow({
    session: 's',
    after: undefined,
    target: () => Promise.resolve({ url, credential: 'c' }),
    onEvents: (envelopes) => {
      lines.push(...envelopes);
      return Promise.resolve(true);
    },
    note: (text) => notes.push(text),
    stop: new AbortController().signal,
    // No test of these is about how long a wait is.
    clock: { ...systemClock, random: () => 0 },
    ...options,
  });
}

const sequences = () => lines.map((line) => (JSON.parse(line) as { sequence: number }).sequence);

describe('following a session', () => {
  it('hands out envelopes as they came, and ends with the session', async () => {
    acts = [
      (response) =>
        stream(response).end(hello(0) + event(1) + event(2) + control('connected', 2, { head: 2 }) + event(3) + end(3)),
    ];
    expect(await following()).toEqual({ kind: 'end', reason: 'closed' });
    expect(lines[0]).toBe('{"sequence":1,"type":"t","at":"…","data":"1"}');
    expect(sequences()).toEqual([1, 2, 3]);
    expect(requests[0]?.headers).toMatchObject({
      authorization: 'Bearer c',
      prefer: 'handling=strict',
      accept: 'text/event-stream',
    });
  });

  it('begins where it is told, and resumes from the last id after a cut', async () => {
    acts = [
      (response) => stream(response).end(hello(4) + event(5)),
      (response) => stream(response).write(hello(5) + event(6), () => response.destroy()),
      (response) => stream(response).end(hello(6) + end(6)),
    ];
    await following({ after: '4' });
    expect(requests.map(({ url }) => url)).toEqual([
      '/sessions/s/stream?after=4',
      '/sessions/s/stream',
      '/sessions/s/stream',
    ]);
    expect(requests.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, '5', '6']);
    expect(sequences()).toEqual([5, 6]);
    expect(notes).toEqual(['the stream was cut; going on after 5', 'the connection was lost; going on after 6']);
  });

  it('resumes from hello when nothing else came, so that "head" stays where it was', async () => {
    acts = [(response) => stream(response).end(hello(7)), (response) => stream(response).end(end(7))];
    await following({ after: 'head' });
    expect(requests.map(({ headers, url }) => [url, headers['last-event-id']])).toEqual([
      ['/sessions/s/stream?after=head', undefined],
      ['/sessions/s/stream', '7'],
    ]);
  });

  it('takes no half frame for an event, wherever the stream is cut', async () => {
    const bytes = Buffer.from(event(1));
    for (let cut = 0; cut < bytes.length; cut += 1) {
      lines = [];
      acts = [
        (response) => stream(response).end(Buffer.concat([Buffer.from(hello(0)), bytes.subarray(0, cut)])),
        (response, request) =>
          stream(response).end((request.headers['last-event-id'] === '1' ? '' : event(1)) + end(1)),
      ];
      await following();
      expect(sequences()).toEqual([1]);
    }
  });

  it('comes back when nothing came for too long', async () => {
    acts = [(response) => stream(response).write(hello(0) + event(1)), (response) => stream(response).end(end(1))];
    let watches = 0;
    const after: Clock['after'] = (_, run) => {
      watches += 1;
      // the first watches over the connection, the second over what follows the event
      return watches === 2 ? systemClock.after(0, run) : { cancel: () => undefined };
    };
    await following({ clock: { ...systemClock, random: () => 0, after } });
    expect(notes).toEqual(['nothing came for too long; going on after 1']);
  });

  it('says so when the stream is reset, and goes on', async () => {
    acts = [
      (response) =>
        stream(response).end(
          control('reset', 100, { reason: 'expired', floor: 100, head: 200 }) + event(101) + end(101),
        ),
    ];
    await following({ after: '3' });
    expect(notes).toEqual(['reset (expired): the stream goes on after 100']);
    expect(sequences()).toEqual([101]);
  });

  it('knows the end of a session from 204', async () => {
    acts = [(response) => response.writeHead(204).end()];
    expect(await following()).toEqual({ kind: 'end', reason: 'closed' });
  });

  it('waits out a refusal that may pass', async () => {
    acts = [
      (response) => problem(response, 503, 'unavailable', { 'retry-after': '0' }),
      (response) => stream(response).end(end(0)),
    ];
    await following();
    expect(notes).toEqual(['because of unavailable (503 unavailable). Trying again until it answers.']);
  });

  it.each([
    [401, 'unauthorized'],
    [404, 'session_unknown'],
    [410, 'session_deleted'],
  ])('gives up at %i, which no time mends', async (status, code) => {
    acts = [(response) => problem(response, status, code)];
    await expect(following()).rejects.toMatchObject({ code, message: `because of ${code} (${status} ${code})` });
  });

  it('gives up when the token no longer holds', async () => {
    acts = [(response) => stream(response).end(hello(0) + control('denied', 0, { reason: 'expired' }))];
    await expect(following()).rejects.toMatchObject({ code: 'unauthorized' });
  });

  it('reads no further while its lines are not taken', async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    acts = [
      (response) =>
        stream(response).end(hello(0) + event(1) + event(2) + control('sync', 2, { head: 2 }) + event(3) + end(3)),
    ];
    const ended = following({
      onEvents: async (envelopes) => {
        lines.push(...envelopes);
        await held;
        return true;
      },
    });
    await expect.poll(sequences).toEqual([1, 2]);
    release();
    await ended;
    expect(sequences()).toEqual([1, 2, 3]);
  });

  it('counts no silence while its lines are not taken', async () => {
    const armed = new Set<symbol>();
    const after = () => {
      const timer = Symbol('armed');
      armed.add(timer);
      return { cancel: () => void armed.delete(timer) };
    };
    const seen: number[] = [];
    acts = [(response) => stream(response).end(hello(0) + event(1) + end(1))];
    const onEvents = () => Promise.resolve(seen.push(armed.size) > 0);
    await following({ clock: { ...systemClock, after }, onEvents });
    expect([seen, armed.size]).toEqual([[0], 0]);
  });

  it('comes back no sooner than it was asked to', async () => {
    vi.mocked(wait).mockClear();
    acts = [
      (response) => stream(response).end(hello(0)),
      (response) => stream(response).end(`retry: 2\n\n${control('sync', 0, { head: 0 })}`),
      (response) => stream(response).end(`event: goaway\nretry: 3\nid: 0\ndata: {"head":0}\n\n`),
      (response) => stream(response).end(end(0)),
    ];
    await following();
    expect(vi.mocked(wait).mock.calls.map(([delayMs]) => delayMs)).toEqual([1, 2, 3]);
  });

  it('stops when its reader is gone, and when it is told to', async () => {
    acts = [(response) => stream(response).write(hello(0) + event(1)), (response) => stream(response).write(hello(0))];
    expect(await following({ onEvents: () => Promise.resolve(false) })).toEqual({ kind: 'stopped' });
    const stopping = new AbortController();
    const ended = following({ stop: stopping.signal });
    await expect.poll(() => requests.length).toBe(2);
    stopping.abort();
    expect(await ended).toEqual({ kind: 'stopped' });
  });

  it('stops when it is told to before it has a connection', async () => {
    acts = [(response) => stream(response).write(hello(0))];
    const stopping = new AbortController();
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const target = () => {
      stopping.abort();
      return Promise.resolve({ url, credential: 'c' });
    };
    expect(await following({ stop: stopping.signal, target })).toEqual({ kind: 'stopped' });
  });

  it('stops when it is told to while its lines are not taken', async () => {
    acts = [(response) => stream(response).write(hello(0) + event(1))];
    const stopping = new AbortController();
    const onEvents = () => {
      stopping.abort();
      return new Promise<boolean>(() => undefined);
    };
    expect(await following({ stop: stopping.signal, onEvents })).toEqual({ kind: 'stopped' });
  });

  it('gives up on an address that answers and is no stream', async () => {
    acts = [(response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>hello</p>')];
    await expect(following()).rejects.toMatchObject({
      message: expect.stringMatching(/200, and not as Ledgerline does/),
    });
  });

  it('tells in whole sentences why it tries again', async () => {
    acts = [(response) => stream(response).end(), (response) => stream(response).end(end(0))];
    await following();
    acts = [(response) => response.destroy(), (response) => stream(response).end(end(0))];
    await following();
    expect(notes).toEqual([
      'the stream was cut. Trying again until it answers.',
      expect.stringMatching(/: is the server running there\? Trying again until it answers\.$/),
    ]);
  });

  it('does not take an error of its own output for a failure of the network', async () => {
    acts = [(response) => stream(response).write(hello(0) + event(1))];
    await expect(following({ onEvents: () => Promise.reject(new Error('disk full')) })).rejects.toThrow('disk full');
  });
});
