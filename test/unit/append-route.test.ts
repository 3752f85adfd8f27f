/** Every outcome of an append has its answer; a body that is refused reaches nobody. */
import { Socket } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { LedgerlineError } from '../../src/base/errors.ts';
import { limits } from '../../src/base/limits.ts';
import { toCursor, toSequence } from '../../src/event/sequence.ts';
import type { Outcome } from '../../src/ledger/ledger.ts';
import { exchange, head, open } from '../support/raw-http.ts';
import { KEY, recordingLog, startStubGateway } from '../support/stub-gateway.ts';
import type { StubGateway } from '../support/stub-gateway.ts';
import { eventually } from '../support/waits.ts';

let gateway: StubGateway;
afterEach(() => gateway.stop());

const path = '/internal/sessions/s1/events';
const body = '{"events":[{"type":"a","data":1}]}';
const authorization = `Bearer ${KEY}`;
const appended: Outcome = {
  kind: 'appended',
  first: toSequence(42),
  last: toSequence(42),
  at: '2026-11-30T04:00:00.000Z',
};
const answering = (outcome: Outcome) => startStubGateway({ sessions: { append: () => Promise.resolve(outcome) } });

const append = (init: RequestInit & { duplex?: 'half' } = {}) =>
  fetch(gateway.internalUrl + path, {
    method: 'POST',
    body,
    ...init,
    headers: { authorization, 'content-type': 'application/json', ...init.headers },
  });

describe('an append', () => {
  it('that was stored is 201 with its range', async () => {
    gateway = await answering(appended);
    const answer = await append({
      body: '{"expectedHead":41,"producer":{"id":"p","sequence":7},"fence":{"turn":"t1","attempt":3},"events":[{"type":"a","data": {"x":1e0}}]}',
    });
    expect(answer.status).toBe(201);
    expect(await answer.json()).toEqual({ first: 42, last: 42 });
    expect(gateway.appends).toEqual([
      {
        session: 's1',
        expectedHead: 41,
        producer: { id: 'p', sequence: 7 },
        fence: { turn: 't1', attempt: 3 },
        events: [{ type: 'a', data: '{"x":1e0}', bytes: 9 }],
      },
    ]);
  });

  const first = toSequence(4);
  const last = toSequence(6);
  it.each<[Outcome, number, object]>([
    [{ kind: 'duplicate', first, last }, 409, { type: 'urn:ledgerline:problem:duplicate_append', first: 4, last: 6 }],
    [{ kind: 'conflict', first, last }, 409, { type: 'urn:ledgerline:problem:producer_conflict', first: 4, last: 6 }],
    [{ kind: 'overlap', counter: 9 }, 409, { type: 'urn:ledgerline:problem:producer_overlap', counter: 9 }],
    [{ kind: 'closed' }, 409, { type: 'urn:ledgerline:problem:session_closed' }],
    [{ kind: 'deleted' }, 410, { type: 'urn:ledgerline:problem:session_deleted' }],
    [{ kind: 'unknown_session' }, 404, { type: 'urn:ledgerline:problem:session_unknown' }],
    [{ kind: 'wrong_head', head: toCursor(5) }, 409, { type: 'urn:ledgerline:problem:wrong_head', head: 5 }],
    [{ kind: 'fenced' }, 409, { type: 'urn:ledgerline:problem:fenced' }],
    [{ kind: 'busy' }, 503, { type: 'urn:ledgerline:problem:session_busy' }],
    [{ kind: 'refused', reason: 'too deep' }, 400, { type: 'urn:ledgerline:problem:malformed', where: 'events' }],
  ])('whose outcome is %j is %i', async (outcome, status, problem) => {
    gateway = await answering(outcome);
    const answer = await append();
    expect(answer.status).toBe(status);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    expect(answer.headers.get('ledgerline-protocol')).toBe('1');
    expect(answer.headers.get('retry-after')).toBe(status === 503 ? '1' : null);
    expect(await answer.json()).toMatchObject(problem);
  });

  it.each(['unavailable', 'append_unknown'] as const)('that fails with %s is 503 with its code', async (code) => {
    gateway = await startStubGateway({ sessions: { append: () => Promise.reject(new LedgerlineError(code, 'x')) } });
    const answer = await append();
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await answer.json()).toMatchObject({ type: `urn:ledgerline:problem:${code}` });
  });

  it('that meets a fault of ours tells its caller an id, and the log the rest', async () => {
    const { log, lines } = recordingLog();
    // Hono hands only errors to its handler; what is thrown otherwise must not leak either.
    for (const thrown of [new Error('password hunter2'), 'password hunter2', { password: 'hunter2' }]) {
      // oxlint-disable-next-line prefer-promise-reject-errors
      gateway = await startStubGateway({ log, sessions: { append: () => Promise.reject(thrown) } });
      const answer = await append();
      const text = await answer.text();
      expect(answer.status).toBe(500);
      expect(answer.headers.get('ledgerline-protocol')).toBe('1');
      expect(text).not.toContain('hunter2');
      expect(JSON.parse(text)).toMatchObject({ type: 'urn:ledgerline:problem:internal' });
      if (thrown instanceof Error) expect(lines()).toContain('hunter2');
      await gateway.stop();
    }
  });

  it('is answered in one piece, which is no list of pieces for the system', async () => {
    gateway = await answering(appended);
    const listed = vi.spyOn(Socket.prototype as unknown as { _writev: () => void }, '_writev');
    const headers = { Authorization: authorization, 'Content-Length': String(body.length) };
    const answer = await exchange(gateway.internalUrl, head('POST', path, headers) + body, (text) =>
      text.endsWith('{"first":42,"last":42}'),
    );
    expect(answer).toMatch(/^HTTP\/1.1 201 /);
    expect(listed).not.toHaveBeenCalled();
    listed.mockRestore();
  });

  it('of two keys is refused, though the first is right', async () => {
    gateway = await answering(appended);
    const withOne = head('POST', path, { Authorization: authorization, 'Content-Length': String(body.length) });
    const request = withOne.replace('\r\n\r\n', `\r\nauthorization: Bearer another\r\n\r\n`) + body;
    const answer = await exchange(gateway.internalUrl, request, (text) => text.includes('}'));
    expect(answer).toMatch(/^HTTP\/1.1 401 /);
    expect(gateway.appends).toEqual([]);
  });

  it('is logged in one line, without its key or its payload', async () => {
    const { log, lines } = recordingLog();
    gateway = await startStubGateway({ log, sessions: { append: () => Promise.resolve(appended) } });
    await append({ body: '{"events":[{"type":"a","data":"hunter2"}]}' });
    const requests = lines()
      .split('\n')
      .filter((line) => line.includes('"msg":"request"'));
    expect(requests.map((line) => JSON.parse(line) as object)).toMatchObject([
      { method: 'POST', route: '/internal/sessions/:session/events', status: 201, session: 's1' },
    ]);
    expect(lines()).not.toContain(KEY);
    expect(lines()).not.toContain('hunter2');
  });
});

describe('the body of an append', () => {
  it.each(['application/json', 'Application/JSON; charset=utf-8', 'application/json;charset="UTF-8"', undefined])(
    'may have the type %s',
    async (type) => {
      gateway = await answering(appended);
      const headers = {
        Authorization: authorization,
        'Content-Length': String(body.length),
        ...(type === undefined ? {} : { 'Content-Type': type }),
      };
      const answer = await exchange(gateway.internalUrl, head('POST', path, headers) + body, (text) =>
        text.includes('}'),
      );
      expect(answer).toMatch(/^HTTP\/1.1 201 /);
    },
  );

  it.each([
    { 'content-type': 'text/plain' },
    { 'content-type': 'application/x-www-form-urlencoded' },
    { 'content-type': 'application/json; charset=latin1' },
    { 'content-type': 'application/jsonp' },
    { 'content-encoding': 'gzip' },
  ])('may not have %j', async (headers) => {
    gateway = await answering(appended);
    const answer = await append({ headers });
    expect(answer.status).toBe(415);
    expect(await answer.json()).toMatchObject({ type: 'urn:ledgerline:problem:unsupported_media_type' });
    expect(gateway.appends).toEqual([]);
  });

  it.each(['with its length', 'in chunks'])(
    'is refused past its limit, sent %s, and the connection says so',
    async (way) => {
      gateway = await answering(appended);
      const size = limits.appendBodyBytes + 1;
      const stream = new Blob([new Uint8Array(size).fill(0x20)]);
      const answer = await append(way === 'in chunks' ? { body: stream.stream(), duplex: 'half' } : { body: stream });
      expect(answer.status).toBe(413);
      expect(await answer.json()).toMatchObject({ limit: 'appendBodyBytes', max: limits.appendBodyBytes });
      expect(gateway.appends).toEqual([]);
    },
  );

  it('is refused by the length it announces, before any of it is sent', async () => {
    gateway = await answering(appended);
    const headers = { Authorization: authorization, 'Content-Length': String(limits.appendBodyBytes + 1) };
    const answer = await exchange(gateway.internalUrl, head('POST', path, headers), (text) => text.includes('}'));
    expect(answer).toMatch(/^HTTP\/1.1 413 /);
  });

  it('of 256 MB without a line break is cut off in bounded memory [teamclaude#341]', async () => {
    gateway = await answering(appended);
    const { socket, received } = open(gateway.internalUrl);
    const chunk = Buffer.alloc(1 << 20, 'x');
    let sent = 0;
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    socket.on('error', () => undefined);
    socket.write(
      head('POST', path, { Authorization: authorization, 'Content-Length': String(256 << 20) }) +
        '{"events":[{"type":"a","data":"',
    );
    const pump = (): void => {
      while (sent < 256 << 20 && !socket.destroyed) {
        sent += chunk.length;
        if (!socket.write(chunk)) return void socket.once('drain', pump);
      }
    };
    pump();
    await eventually('the refusal', () => received().includes('"limit":"appendBodyBytes"'));
    await closed;
    expect(received()).toMatch(/^HTTP\/1.1 413 /);
    expect(gateway.appends).toEqual([]);
  });

  it('that ends early causes nothing', async () => {
    const { log, lines } = recordingLog();
    gateway = await startStubGateway({ log, sessions: { append: () => Promise.resolve(appended) } });
    for (const framing of [{ 'Content-Length': String(body.length + 1) }, { 'Transfer-Encoding': 'chunked' }]) {
      const { socket } = open(gateway.internalUrl);
      const sent = 'Content-Length' in framing ? body : `${body.length.toString(16)}\r\n${body}\r\n`;
      socket.write(head('POST', path, { Authorization: authorization, ...framing }) + sent, () => socket.destroy());
    }
    await eventually('both requests are over', () => lines().split('"msg":"request"').length === 3);
    expect(gateway.appends).toEqual([]);
    expect(lines()).not.toContain('a request failed');
  });
});
