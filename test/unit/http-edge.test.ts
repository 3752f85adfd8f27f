/** What every answer has, whichever route it is of: methods, origins, doors, machines' questions. */
import { afterEach, describe, expect, it } from 'vitest';
import { LedgerlineError } from '../../src/base/errors.ts';
import { toCursor } from '../../src/event/sequence.ts';
import { KEY, openHead, recordingLog, row, startStubGateway } from '../support/stub-gateway.ts';
import type { StubGateway } from '../support/stub-gateway.ts';

let gateway: StubGateway;
afterEach(() => gateway.stop());

const bearer = async (options?: Parameters<StubGateway['token']>[0]) => ({
  authorization: `Bearer ${await gateway.token(options)}`,
});
const problemOf = async (answer: Response) => ({ status: answer.status, ...((await answer.json()) as object) });

describe('every answer', () => {
  it('names the protocol, and no route or method is unknown without a problem', async () => {
    gateway = await startStubGateway();
    for (const url of [gateway.publicUrl, gateway.internalUrl]) {
      for (const [method, path, status, type] of [
        ['GET', '/nowhere', 404, 'not_found'],
        ['GET', '/sessions/', 404, 'not_found'],
        ['GET', '/sessions/s1/', 404, 'not_found'],
        ['PUT', '/sessions', 405, 'method_not_allowed'],
        ['POST', '/turns', 405, 'method_not_allowed'],
        ['GET', '/sessions/s1/turns', 404, 'not_found'],
        ['PUT', '/sessions/s1', 405, 'method_not_allowed'],
        ['GET', '/sessions/s1/close', 405, 'method_not_allowed'],
        ['POST', '/healthz', 405, 'method_not_allowed'],
        ['GET', '/sessions/s1', 401, 'unauthorized'],
        ['POST', '/sessions', 401, 'unauthorized'],
        ['DELETE', '/sessions/s1', 401, 'unauthorized'],
        ['POST', '/sessions/s1/close', 401, 'unauthorized'],
        ['GET', '/sessions/s1/events', 401, 'unauthorized'],
        ['GET', '/sessions/s1/stream', 401, 'unauthorized'],
      ] as const) {
        const answer = await fetch(url + path, { method });
        expect(answer.headers.get('ledgerline-protocol')).toBe('1');
        expect(answer.headers.has('allow')).toBe(status === 405);
        expect(answer.headers.get('www-authenticate')).toBe(status === 401 ? 'Bearer realm="ledgerline"' : null);
        expect(await problemOf(answer), `${method} ${path}`).toMatchObject({
          status,
          type: `urn:ledgerline:problem:${type}`,
        });
      }
    }
  });

  it('to OPTIONS says what a route takes', async () => {
    gateway = await startStubGateway();
    const answer = await fetch(`${gateway.publicUrl}/sessions/s1`, { method: 'OPTIONS' });
    expect([answer.status, answer.headers.get('allow')]).toEqual([204, 'DELETE, GET, HEAD, OPTIONS']);
  });

  it('to HEAD is the answer to GET without its body', async () => {
    gateway = await startStubGateway();
    const answer = await fetch(`${gateway.publicUrl}/sessions/s1`, { method: 'HEAD', headers: await bearer() });
    expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([
      200,
      'application/json',
      '',
    ]);
  });

  it('of a draining server asks for another connection, and goes on', async () => {
    gateway = await startStubGateway({ draining: AbortSignal.abort() });
    const answer = await fetch(`${gateway.publicUrl}/sessions/s1`, { headers: await bearer() });
    expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'close']);
  });

  it('is counted by its route’s pattern, never by its path', async () => {
    gateway = await startStubGateway();
    for (const path of ['/sessions/s1', '/sessions/s2', '/x/y', '/healthz']) await fetch(gateway.publicUrl + path);
    expect((await gateway.metrics.requests.get()).values.map(({ labels, value }) => ({ ...labels, value }))).toEqual([
      { route: '/sessions/:session', status: '401', value: 2 },
      { route: 'none', status: '404', value: 1 },
      { route: '/healthz', status: '200', value: 1 },
    ]);
  });

  it('leaves a log without tokens, queries or keys', async () => {
    const { log, lines } = recordingLog();
    gateway = await startStubGateway({ log });
    const headers = await bearer();
    await fetch(`${gateway.publicUrl}/sessions/s1?token=hunter2`, { headers });
    await fetch(`${gateway.internalUrl}/sessions/s1`, { headers: { authorization: `Bearer ${KEY}` } });
    expect(lines()).toContain('"session":"s1"');
    for (const secret of ['hunter2', KEY, headers.authorization.slice(7)]) expect(lines()).not.toContain(secret);
  });
});

describe('the door', () => {
  it('answers the same for a session that is out of reach and one that is not there', async () => {
    gateway = await startStubGateway({
      sessions: { describe: () => Promise.resolve(undefined), close: () => Promise.resolve(undefined) },
    });
    const headers = await bearer({ sessions: ['mine-*'] });
    const ask = async (session: string) =>
      problemOf(await fetch(`${gateway.publicUrl}/sessions/${session}`, { headers }));
    expect(await ask('mine-1')).toEqual(await ask('yours'));
    expect(await ask('yours')).toMatchObject({ status: 404, type: 'urn:ledgerline:problem:session_unknown' });
  });

  it('reads nothing of a session that is out of reach', async () => {
    let reads = 0;
    const describe_ = () => {
      reads += 1;
      return Promise.resolve(row('yours'));
    };
    gateway = await startStubGateway({ sessions: { describe: describe_ } });
    await fetch(`${gateway.publicUrl}/sessions/yours`, { headers: await bearer({ sessions: ['mine'] }) });
    expect(reads).toBe(0);
  });

  it.each([
    ['GET', '', 'write create', 'read'],
    ['GET', '/events', 'write', 'read'],
    ['GET', '/stream', 'create', 'read'],
    ['POST', '/close', 'read create', 'write'],
    ['DELETE', '', 'read', 'write'],
    ['POST', '/messages', 'read write create', 'send'],
    ['POST', '/decisions', 'read write create', 'send'],
    ['POST', '/stop', 'read write create', 'send'],
    ['POST', '/read', 'send write create', 'read'],
    ['POST', '/turns/t1/retry', 'read send create', 'write'],
    ['POST', '/turns/t1/rerun', 'read send create', 'write'],
    ['POST', '/turns/t1/acknowledge', 'read send create', 'write'],
  ])('%s %s with the scopes "%s" misses %s', async (method, path, scope, missing) => {
    gateway = await startStubGateway();
    const answer = await fetch(`${gateway.publicUrl}/sessions/s1${path}`, { method, headers: await bearer({ scope }) });
    expect(await problemOf(answer)).toMatchObject({
      status: 403,
      type: 'urn:ledgerline:problem:forbidden',
      scope: missing,
    });
  });

  it.each(['a.b', '*', '%3E', 'a%20b', '%C3%A9', 'a%2Fb', '%00', 'x'.repeat(129), '%E0%A4%A'])(
    'refuses the id %s, which could reach another’s subject [Observables#560]',
    async (id) => {
      gateway = await startStubGateway();
      const answer = await fetch(`${gateway.publicUrl}/sessions/${id}/stream`, { headers: await bearer() });
      expect(await problemOf(answer)).toMatchObject({
        status: 400,
        type: 'urn:ledgerline:problem:malformed',
        where: 'session',
      });
    },
  );

  it('takes no reader’s token on the internal listener, and no key on the public one', async () => {
    gateway = await startStubGateway();
    const withToken = await fetch(`${gateway.internalUrl}/sessions/s1`, { headers: await bearer() });
    const withKey = await fetch(`${gateway.publicUrl}/sessions/s1`, { headers: { authorization: `Bearer ${KEY}` } });
    expect([withToken.status, withKey.status]).toEqual([401, 401]);
  });

  it('has no way to append, to work at turns, or to the metrics on the public listener', async () => {
    gateway = await startStubGateway();
    const headers = { authorization: `Bearer ${KEY}` };
    for (const [method, path] of [
      ['POST', '/internal/sessions/s1/events'],
      ['POST', '/internal/turns/claim'],
      ['POST', '/internal/turns/renew'],
      ['POST', '/internal/sessions/s1/turns/t1/finish'],
      ['GET', '/metrics'],
    ] as const) {
      expect((await fetch(gateway.publicUrl + path, { method, headers })).status).toBe(404);
    }
  });
});

describe('sessions of an owner', () => {
  const owned = {
    describe: (session: string) => Promise.resolve(row(session, openHead, session === 'hers' ? 'she' : 'he')),
  };

  it('are reached by a token with that owner, and no others', async () => {
    gateway = await startStubGateway({ sessions: owned });
    const { SignJWT } = await import('jose');
    const token = await new SignJWT({ sessions: [], scope: 'read', owner: 'she' })
      .setProtectedHeader({ alg: 'HS256' })
      .setSubject('u')
      .setJti('j')
      .setExpirationTime('1m')
      .sign(new TextEncoder().encode('a secret of the tests, long enough for HS256'));
    const status = async (session: string): Promise<number> =>
      (await fetch(`${gateway.publicUrl}/sessions/${session}`, { headers: { authorization: `Bearer ${token}` } }))
        .status;
    expect([await status('hers'), await status('his')]).toEqual([200, 404]);
  });
});

describe('origins', () => {
  const origin = 'https://app.test';
  it('on the list are echoed exactly, with credentials, on every answer', async () => {
    gateway = await startStubGateway({ allowedOrigins: [origin, 'https://other.test'] });
    for (const path of ['/sessions/s1', '/nowhere', '/']) {
      const answer = await fetch(gateway.publicUrl + path, { headers: { origin } });
      expect(answer.headers.get('access-control-allow-origin')).toBe(origin);
      expect(answer.headers.get('access-control-allow-credentials')).toBe('true');
      expect(answer.headers.get('vary')).toBe(path === '/' ? 'Accept, Origin' : 'Origin');
    }
  });

  it.each(['https://app.test.evil', 'http://app.test', 'https://app.test:8443', 'null', '*', 'https://APP.test'])(
    '%s is not on the list',
    async (other) => {
      gateway = await startStubGateway({ allowedOrigins: [origin] });
      for (const method of ['GET', 'OPTIONS']) {
        const answer = await fetch(`${gateway.publicUrl}/sessions/s1`, {
          method,
          headers: { origin: other, 'access-control-request-method': 'GET' },
        });
        expect(answer.headers.get('access-control-allow-origin')).toBeNull();
        expect(answer.headers.get('access-control-allow-credentials')).toBeNull();
        expect(answer.headers.get('vary')).toBe('Origin');
      }
    },
  );

  it('may ask beforehand, without a token', async () => {
    gateway = await startStubGateway({ allowedOrigins: [origin] });
    const answer = await fetch(`${gateway.publicUrl}/sessions/s1/stream`, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'authorization,last-event-id',
      },
    });
    expect(answer.status).toBe(204);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-allow-methods': 'GET, POST, DELETE',
      'access-control-allow-headers': 'Authorization, Content-Type, Last-Event-ID, Prefer, Traceparent',
    });
  });

  it('have no say on the internal listener', async () => {
    gateway = await startStubGateway({ allowedOrigins: [origin] });
    const answer = await fetch(`${gateway.internalUrl}/healthz`, { headers: { origin } });
    expect(answer.headers.get('access-control-allow-origin')).toBeNull();
  });
});

describe('a machine', () => {
  it('learns that the server is ready, and whenever it is not', async () => {
    const draining = new AbortController();
    let ready = (): Promise<void> => Promise.resolve();
    gateway = await startStubGateway({ draining: draining.signal, ready: () => ready() });
    const ask = async (path: string): Promise<number> => (await fetch(gateway.publicUrl + path)).status;
    expect([await ask('/healthz'), await ask('/readyz')]).toEqual([200, 200]);
    ready = () => Promise.reject(new LedgerlineError('unavailable', 'away'));
    expect([await ask('/healthz'), await ask('/readyz')]).toEqual([200, 503]);
    ready = () => new Promise(() => undefined);
    expect(await ask('/readyz')).toBe(503);
    ready = () => Promise.resolve();
    draining.abort();
    expect([await ask('/healthz'), await ask('/readyz')]).toEqual([200, 503]);
  });

  it('reads the metrics on the internal listener', async () => {
    gateway = await startStubGateway();
    const answer = await fetch(`${gateway.internalUrl}/metrics`);
    expect(answer.headers.get('content-type')).toContain('text/plain');
    expect(await answer.text()).toContain('ledgerline_requests_total');
  });

  it('gets a page of history whose envelopes are untouched', async () => {
    const events = ['{"sequence":1,"data":{"n":9007199254740993,"n":-0}}', '{"sequence":2,"data":"\\ud83d"}'];
    const asked: object[] = [];
    gateway = await startStubGateway({
      sessions: {
        history(_, range) {
          asked.push(range);
          return Promise.resolve({
            events,
            first: 1 as never,
            last: 2 as never,
            head: openHead,
          });
        },
      },
    });
    const answer = await fetch(`${gateway.publicUrl}/sessions/s1/events?before=3&limit=2`, { headers: await bearer() });
    expect(await answer.text()).toBe(`{"events":[${events.join(',')}],"first":1,"last":2,"head":3,"floor":0}`);
    await fetch(`${gateway.publicUrl}/sessions/s1/events`, { headers: await bearer() });
    expect(asked).toEqual([
      { before: toCursor(3), limit: 2 },
      { after: toCursor(0), limit: 100 },
    ]);
  });

  it.each([
    ['after=x', 'after'],
    ['before=-1', 'before'],
    ['after=1&before=2', 'before'],
    ['after=1&after=2', 'after'],
    ['limit=0', 'limit'],
    ['limit=1001', 'limit'],
    ['limit=', 'limit'],
    ['limit=1e2', 'limit'],
  ])('is told what is wrong with ?%s', async (query, where) => {
    gateway = await startStubGateway();
    const answer = await fetch(`${gateway.publicUrl}/sessions/s1/events?${query}`, { headers: await bearer() });
    expect(await problemOf(answer)).toMatchObject({ status: 400, type: 'urn:ledgerline:problem:malformed', where });
  });
});
