/** The life of a session, and its history in pages. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { caller, event, freshId, startDeployment } from '../support/deployment.ts';
import type { Caller, Deployment } from '../support/deployment.ts';

let deployment: Deployment;
let call: Caller;
beforeAll(async () => {
  deployment = await startDeployment();
  call = caller(deployment);
});
afterAll(() => deployment.stop());

describe('a session', () => {
  it('is created once, and found afterwards as it is', async () => {
    const session = freshId();
    const create = (metadata: object) =>
      call.reader('POST', '/sessions', { body: JSON.stringify({ session, metadata }) });
    const first = await create({ title: 'Größe \u0000' });
    expect(first.status).toBe(201);
    expect(first.json).toEqual({ session, head: 0, floor: 0, state: 'open', metadata: { title: 'Größe \u0000' } });
    const again = await create({ title: 'other' });
    expect([again.status, again.json]).toEqual([200, first.json]);
    expect((await call.reader('GET', `/sessions/${session}`)).json).toEqual({
      ...(first.json as object),
      turn: { state: 'idle', turn: null, attempt: null, stop: null },
      room: null,
    });
  });

  it('gets an id when it comes with none', async () => {
    for (const body of ['', '{}']) {
      const answer = await call.reader('POST', '/sessions', { body });
      expect(answer.status).toBe(201);
      expect(answer.json).toMatchObject({
        session: expect.stringMatching(/^[A-Za-z0-9_-]{1,128}$/) as unknown,
        metadata: null,
      });
    }
  });

  it.each([
    ['{"session":"a.b"}', 400, 'malformed', { where: 'session' }],
    ['{"session":""}', 400, 'malformed', { where: 'session' }],
    ['{"session":"é"}', 400, 'malformed', { where: 'session' }],
    ['{"metadata":[]}', 400, 'malformed', { where: 'metadata' }],
    ['{"more":1}', 400, 'malformed', { where: 'body' }],
    ['[]', 400, 'malformed', { where: 'body' }],
    ['{', 400, 'malformed', {}],
    ['{"owner":"me"}', 400, 'malformed', { where: 'owner' }],
    [`{"metadata":{"x":"${'x'.repeat(16 << 10)}"}}`, 413, 'too_large', { limit: 'metadataBytes' }],
    [`{"metadata":{"x":"${'x'.repeat(64 << 10)}"}}`, 413, 'too_large', { limit: 'bodyBytes' }],
    [`{"metadata":{"x":${'['.repeat(5_000)}${']'.repeat(5_000)}}}`, 413, 'too_deep', { limit: 'jsonDepth' }],
  ])('is not made by %s', async (body, status, code, fields) => {
    const answer = await call.reader('POST', '/sessions', { body });
    expect(answer.status).toBe(status);
    expect(answer.json).toMatchObject({ type: `urn:ledgerline:problem:${code}`, ...fields });
  });

  it('closes once and stays closed, with no event of it', async () => {
    const session = await call.session();
    await call.append(session, event('1'));
    for (const _ of [1, 2]) {
      const answer = await call.reader('POST', `/sessions/${session}/close`);
      expect([answer.status, answer.json]).toEqual([200, { session, head: 1, floor: 0, state: 'closed' }]);
    }
  });

  it('is deleted with its events, and its id is never used again', async () => {
    const session = await call.session();
    await call.append(session, event('"erase me"'));
    for (const _ of [1, 2]) {
      const answer = await call.reader('DELETE', `/sessions/${session}`);
      expect(answer.status).toBe(200);
      expect(answer.json).toMatchObject({ session, state: 'deleted' });
    }
    for (const [method, path, body] of [
      ['GET', `/sessions/${session}`, undefined],
      ['GET', `/sessions/${session}/events`, undefined],
      ['POST', `/sessions/${session}/close`, undefined],
      ['POST', '/sessions', JSON.stringify({ session })],
    ] as const) {
      const answer = await call.reader(method, path, body === undefined ? {} : { body });
      expect([method, path, answer.status]).toEqual([method, path, 410]);
      expect(answer.text).not.toContain('erase me');
    }
  });

  it('that is not there is 404, whatever is asked of it', async () => {
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/events'],
      ['GET', '/stream'],
      ['POST', '/close'],
      ['DELETE', ''],
    ] as const) {
      const answer = await call.reader(method, `/sessions/${freshId()}${path}`);
      expect([method, path, answer.status]).toEqual([method, path, 404]);
      expect(answer.json).toMatchObject({ type: 'urn:ledgerline:problem:session_unknown' });
    }
  });

  it('of others is out of reach, and looks like one that is not there', async () => {
    const session = await call.session();
    await call.append(session, event('"secret"'));
    const token = { sessions: ['mine-*'] };
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/events'],
      ['GET', '/stream'],
      ['GET', '/stream?after=1'],
      ['POST', '/close'],
      ['DELETE', ''],
    ] as const) {
      const foreign = await call.reader(method, `/sessions/${session}${path}`, { token });
      const missing = await call.reader(method, `/sessions/${freshId()}${path}`, { token });
      expect([foreign.status, foreign.json]).toEqual([missing.status, missing.json]);
      expect(foreign.status).toBe(404);
    }
    expect((await call.internal('GET', `/sessions/${session}`)).json).toMatchObject({ state: 'open', head: 1 });
    const created = await call.reader('POST', '/sessions', { token, body: JSON.stringify({ session }) });
    expect([created.status, created.json]).toMatchObject([403, { type: 'urn:ledgerline:problem:forbidden' }]);
  });

  it('may be created on the internal listener too, with an owner', async () => {
    const answer = await call.internal('POST', '/sessions', JSON.stringify({ session: freshId(), owner: 'she' }));
    expect(answer.status).toBe(201);
    const bad = await call.internal('POST', '/sessions', '{"owner":"\\u0000"}');
    expect([bad.status, bad.json]).toMatchObject([400, { where: 'owner' }]);
  });
});

describe('history', () => {
  interface Page {
    events: { sequence: number }[];
    first: number | null;
    last: number | null;
    head: number;
    floor: number;
  }
  const page = async (session: string, query: string): Promise<Page> =>
    (await call.reader('GET', `/sessions/${session}/events?${query}`)).json as Page;
  const sequences = ({ events }: Page): number[] => events.map(({ sequence }) => sequence);

  it('is walked in both directions with the same integer', async () => {
    const session = await call.session();
    await call.append(session, ...Array.from({ length: 25 }, (_, index) => event(String(index + 1))));
    const forward: number[] = [];
    for (let after = 0; ;) {
      const one = await page(session, `after=${after}&limit=7`);
      if (one.last === null) break;
      forward.push(...sequences(one));
      after = one.last;
      expect(one).toMatchObject({ head: 25, floor: 0, first: one.events[0]?.sequence });
    }
    const backward: number[] = [];
    for (let before = 26; ;) {
      const one = await page(session, `before=${before}&limit=7`);
      if (one.first === null) break;
      backward.unshift(...sequences(one));
      before = one.first;
    }
    const all = Array.from({ length: 25 }, (_, index) => index + 1);
    expect(forward).toEqual(all);
    expect(backward).toEqual(all);
  });

  it('begins at the start, ends in an empty page, and knows a cursor beyond the head', async () => {
    const session = await call.session();
    expect(await page(session, '')).toEqual({ events: [], first: null, last: null, head: 0, floor: 0 });
    await call.append(session, event('1'));
    expect(sequences(await page(session, ''))).toEqual([1]);
    expect(sequences(await page(session, 'after=1'))).toEqual([]);
    expect(sequences(await page(session, 'after=9007199254740991'))).toEqual([]);
    expect(sequences(await page(session, 'before=1'))).toEqual([]);
    expect(sequences(await page(session, 'before=0'))).toEqual([]);
    expect(sequences(await page(session, 'before=9007199254740991'))).toEqual([1]);
  });

  it('is bounded in bytes too, with at least one event a page', async () => {
    const session = await call.session();
    for (let count = 0; count < 6; count += 1) await call.append(session, event(`"${'x'.repeat((1 << 20) - 2)}"`));
    const first = await page(session, 'limit=1000');
    expect(first.events.length).toBeGreaterThan(0);
    expect(first.events.length).toBeLessThan(6);
    expect(sequences(await page(session, `after=${first.last}&limit=1000`))[0]).toBe((first.last ?? 0) + 1);
  });
});
