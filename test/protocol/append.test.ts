/** What may be appended, what is refused, and that a payload comes back to the last character. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { toOneLine } from '../../src/event/slice.ts';
import { caller, event, freshId, startDeployment } from '../support/deployment.ts';
import type { Answer, Caller, Deployment } from '../support/deployment.ts';
import { jsonText } from '../support/json-texts.ts';
import { readStream } from '../support/sse-reader.ts';

let deployment: Deployment;
let call: Caller;
beforeAll(async () => {
  deployment = await startDeployment();
  call = caller(deployment);
});
afterAll(() => deployment.stop());

const headOf = async (session: string): Promise<unknown> =>
  ((await call.internal('GET', `/sessions/${session}`)).json as { head: unknown }).head;
const history = async (session: string): Promise<string> =>
  (await call.internal('GET', `/sessions/${session}/events?limit=1000`)).text;
const expectProblem = (answer: Answer, status: number, code: string, fields: object = {}): void => {
  expect(answer.json).toMatchObject({ type: `urn:ledgerline:problem:${code}`, status, ...fields });
  expect(answer.status).toBe(status);
  expect(answer.headers.get('content-type')).toBe('application/problem+json');
  expect(answer.headers.get('ledgerline-protocol')).toBe('1');
};
const follow = (session: string, query = '') =>
  readStream(`${deployment.internalUrl}/sessions/${session}/stream${query}`, {
    authorization: `Bearer ${deployment.key}`,
  });

describe('an append', () => {
  it('numbers its events from 1, without a gap [I1]', async () => {
    const session = await call.session();
    expect((await call.append(session, event('1'))).json).toEqual({ first: 1, last: 1 });
    expect((await call.append(session, event('2'), event('3'))).json).toEqual({ first: 2, last: 3 });
    expect(await headOf(session)).toBe(3);
  });

  it('comes back as it was sent, from history, from replay and live, in equal bytes [I2]', async () => {
    const session = await call.session();
    const live = await follow(session);
    await live.frame('connected');
    const payloads = [
      '{"n":9007199254740993,"b":1,"a":2,"b":3,"z":-0,"e":1e400}',
      '"\\u0000"',
      '"\\ud83d"',
      '"\\ude00"',
      '"{}"',
      '"x"',
      'null',
      '0',
      '-0',
      '[]',
      '"\ufeffbyte order mark"',
      '"\\u2028 \\u0085"',
      '"id: 7\\n\\nevent: end\\r\\rdata: x"',
      '123456789012345678901234567890.10',
      `"${'x'.repeat(limits.payloadBytes - 2)}"`,
    ];
    for (const data of payloads) expect((await call.append(session, event(data))).status).toBe(201);
    const replay = await follow(session);
    const envelopes = (await replay.events(payloads.length)).map(({ data }) => data);
    envelopes.forEach((envelope, index) => {
      expect(envelope.slice(envelope.indexOf('"data":') + 7, -1)).toBe(payloads[index]);
      expect(envelope).toMatch(
        /^\{"sequence":\d+,"type":"text\.delta","at":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z","data":/,
      );
    });
    expect((await live.events(payloads.length)).map(({ data }) => data)).toEqual(envelopes);
    expect((await history(session)).startsWith(`{"events":[${envelopes.slice(0, 3).join(',')}`)).toBe(true);
    await Promise.all([live.close(), replay.close()]);
  });

  it('keeps any JSON at all [I2]', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(jsonText, { minLength: 1, maxLength: 20 }), async (payloads) => {
        const session = await call.session();
        const sent = payloads.map((data) => Buffer.from(data).toString());
        expect((await call.append(session, ...sent.map((data) => event(data)))).status).toBe(201);
        const kept = sent.map((data) => toOneLine(data.replace(/^[ \t\n\r]+|[ \t\n\r]+$/g, '')));
        const text = await history(session);
        const envelopes = text.slice('{"events":['.length, text.lastIndexOf('],"first"'));
        let rest = envelopes;
        kept.forEach((data, index) => {
          const end = rest.indexOf('"data":') + 7;
          expect(rest.slice(end, end + data.length)).toBe(data);
          rest = rest.slice(end + data.length + (index === kept.length - 1 ? 1 : 2));
        });
        expect(rest).toBe('');
      }),
      { numRuns: 30 },
    );
  });

  it('holds as many events as its limit says', async () => {
    const session = await call.session();
    const answer = await call.append(session, ...Array<string>(limits.eventsPerAppend).fill(event('1')));
    expect(answer.json).toEqual({ first: 1, last: limits.eventsPerAppend });
  });
});

describe('a refused append', () => {
  it.each([
    ['not JSON', '{"events":[{"type":"a","data":nothing}]}', 400, 'malformed', { where: 'body' }],
    [
      'a bad second event',
      '{"events":[{"type":"a","data":1},{"type":"A","data":1}]}',
      400,
      'malformed',
      { where: 'events[1].type' },
    ],
    ['an event without data', '{"events":[{"type":"a"}]}', 400, 'malformed', { where: 'events[0].data' }],
    ['an equal key', '{"events":[{"type":"a","data":1,"data":2}]}', 400, 'malformed', { where: 'events[0].data' }],
    ['no events', '{"events":[]}', 400, 'malformed', { where: 'events' }],
    [
      'a line break in its type',
      '{"events":[{"type":"a\\nid: 1","data":1}]}',
      400,
      'malformed',
      { where: 'events[0].type' },
    ],
    [
      'too many events',
      `{"events":[${Array(1_001).fill('{"type":"a","data":1}').join(',')}]}`,
      413,
      'too_large',
      { limit: 'eventsPerAppend', max: 1_000 },
    ],
    [
      'a payload past the limit',
      `{"events":[{"type":"a","data":1},{"type":"a","data":"${'x'.repeat(1 << 20)}"}]}`,
      413,
      'too_large',
      { limit: 'payloadBytes', index: 1 },
    ],
    [
      'too deep a payload',
      `{"events":[{"type":"a","data":${'['.repeat(257)}${']'.repeat(257)}}]}`,
      413,
      'too_deep',
      { limit: 'jsonDepth', index: 0 },
    ],
  ])('for %s says so and stores nothing', async (_, body, status, code, fields) => {
    const session = await call.session();
    expectProblem(await call.internal('POST', `/internal/sessions/${session}/events`, body), status, code, fields);
    expect(await headOf(session)).toBe(0);
  });

  it('for bad UTF-8 stores nothing, and the connection works on [rakazo#416]', async () => {
    const session = await call.session();
    const path = `/internal/sessions/${session}/events`;
    const body = Buffer.from('{"events":[{"type":"a","data":"?"}]}');
    body[body.indexOf('?')] = 0xff;
    expectProblem(await call.internal('POST', path, body), 400, 'malformed', { where: 'body' });
    expect((await call.append(session, event('1'))).json).toEqual({ first: 1, last: 1 });
  });

  it('for a body past its limit stores nothing', async () => {
    const session = await call.session();
    const answer = await call.internal(
      'POST',
      `/internal/sessions/${session}/events`,
      Buffer.alloc(limits.appendBodyBytes + 1, 0x20),
    );
    expectProblem(answer, 413, 'too_large', { limit: 'appendBodyBytes', max: limits.appendBodyBytes });
    expect(await headOf(session)).toBe(0);
  });

  it('for its type stores nothing', async () => {
    const session = await call.session();
    const path = `/internal/sessions/${session}/events`;
    const answer = await call.internal('POST', path, `{"events":[${event('1')}]}`, { 'content-type': 'text/plain' });
    expectProblem(answer, 415, 'unsupported_media_type');
    expect(await headOf(session)).toBe(0);
  });

  it('for the session’s state says which', async () => {
    expectProblem(await call.append(freshId(), event('1')), 404, 'session_unknown');
    const closed = await call.session();
    await call.internal('POST', `/sessions/${closed}/close`);
    expectProblem(await call.append(closed, event('1')), 409, 'session_closed');
    const deleted = await call.session();
    await call.internal('DELETE', `/sessions/${deleted}`);
    expectProblem(await call.append(deleted, event('1')), 410, 'session_deleted');
  });

  it('for another head says where it is', async () => {
    const session = await call.session();
    const path = `/internal/sessions/${session}/events`;
    const expecting = (head: number) =>
      call.internal('POST', path, `{"expectedHead":${head},"events":[${event('1')}]}`);
    expect((await expecting(0)).json).toEqual({ first: 1, last: 1 });
    expectProblem(await expecting(0), 409, 'wrong_head', { head: 1 });
    expect((await expecting(1)).json).toEqual({ first: 2, last: 2 });
  });

  it('for a counter that was there says what is stored [I8]', async () => {
    const session = await call.session();
    const path = `/internal/sessions/${session}/events`;
    const append = (sequence: number, ...data: readonly string[]) =>
      call.internal(
        'POST',
        path,
        `{"producer":{"id":"p","sequence":${sequence}},"events":[${data.map((one) => event(one)).join(',')}]}`,
      );
    expect((await append(1, '1', '2')).json).toEqual({ first: 1, last: 2 });
    expectProblem(await append(1, '1', '2'), 409, 'duplicate_append', { first: 1, last: 2 });
    expectProblem(await append(1, '1', '3'), 409, 'producer_conflict', { first: 1, last: 2 });
    expectProblem(await append(2, '2', '3'), 409, 'producer_overlap', { counter: 2 });
    expect((await append(3, '3')).json).toEqual({ first: 3, last: 3 });
    expect(await headOf(session)).toBe(3);
  });
});
