/** Who may do what, on which listener, by which method, and from which page. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { caller, event, startDeployment } from '../support/deployment.ts';
import type { Caller, Deployment } from '../support/deployment.ts';
import type { TokenOptions } from '../support/token.ts';

let deployment: Deployment;
let call: Caller;
let session: string;
beforeAll(async () => {
  deployment = await startDeployment();
  call = caller(deployment);
  session = await call.session();
  await call.append(session, event('1'));
});
afterAll(() => deployment.stop());

const ask = (base: string, method: string, path: string, authorization?: string): Promise<Response> =>
  fetch(base + path, { method, ...(authorization === undefined ? {} : { headers: { authorization } }) });

/** Each route, and the scope that it wants. */
const routes = [
  ['POST', '/sessions', 'create'],
  ['GET', '/sessions/:session', 'read'],
  ['GET', '/sessions/:session/events', 'read'],
  ['GET', '/sessions/:session/stream', 'read'],
  ['POST', '/sessions/:session/close', 'write'],
  ['DELETE', '/sessions/:session', 'write'],
  ['POST', '/sessions/:session/messages', 'send'],
  ['POST', '/sessions/:session/decisions', 'send'],
  ['POST', '/sessions/:session/stop', 'send'],
  ['POST', '/sessions/:session/read', 'read'],
  ['GET', '/sessions/:session/deliveries', 'read'],
  ['POST', '/sessions/:session/turns/t1/retry', 'write'],
  ['POST', '/sessions/:session/turns/t1/rerun', 'write'],
  ['POST', '/sessions/:session/turns/t1/acknowledge', 'write'],
] as const;

describe('every route of a session', () => {
  it.each(routes)('%s %s refuses whoever has no right to it', async (method, pattern, scope) => {
    const path = pattern.replace(':session', session);
    const status = async (authorization?: string): Promise<number> => {
      const answer = await ask(deployment.publicUrl, method, path, authorization);
      const text = await answer.text();
      expect(answer.headers.get('ledgerline-protocol')).toBe('1');
      expect(answer.headers.get('content-type')).toBe('application/problem+json');
      expect(text).not.toContain(deployment.key);
      return answer.status;
    };
    const withToken = async (options: TokenOptions): Promise<number> =>
      status(`Bearer ${await deployment.token(options)}`);
    const good = await deployment.token();
    expect(await status()).toBe(401);
    expect(await status('')).toBe(401);
    expect(await status(`Basic ${good}`)).toBe(401);
    expect(await status('Bearer nonsense')).toBe(401);
    expect(await status(`Bearer ${good.slice(0, -4)}AAAA`)).toBe(401);
    expect(await status(`Bearer ${deployment.key}`)).toBe(401);
    expect(await withToken({ ttlSeconds: -60 })).toBe(401);
    const others = ['read', 'send', 'write', 'create'].filter((one) => one !== scope).join(' ');
    expect(await withToken({ scope: others })).toBe(403);
    if (scope !== 'create') expect(await withToken({ sessions: [`${session}-`, 'other-*'] })).toBe(404);
    expect((await call.internal('GET', `/sessions/${session}`)).json).toMatchObject({ state: 'open', head: 1 });
  });

  it('on the internal listener wants the key', async () => {
    const path = `/internal/sessions/${session}/events`;
    for (const authorization of [
      undefined,
      'Bearer nonsense',
      `Bearer ${deployment.key}x`,
      `Bearer ${await deployment.token()}`,
    ]) {
      const answer = await ask(deployment.internalUrl, 'POST', path, authorization);
      expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="ledgerline"']);
    }
    for (const [method, pattern] of routes.slice(1, 3)) {
      const answer = await ask(
        deployment.internalUrl,
        method,
        pattern.replace(':session', session),
        `Bearer ${deployment.key}`,
      );
      expect(answer.status).toBe(200);
    }
  });

  it('that appends is on the internal listener alone', async () => {
    const path = `/internal/sessions/${session}/events`;
    for (const credential of [deployment.key, await deployment.token()]) {
      expect((await ask(deployment.publicUrl, 'POST', path, `Bearer ${credential}`)).status).toBe(404);
    }
  });
});

describe('methods', () => {
  it.each([
    ['/sessions', 'GET, HEAD, OPTIONS, POST'],
    ['/sessions/x', 'DELETE, GET, HEAD, OPTIONS'],
    ['/sessions/x/stream', 'GET, HEAD, OPTIONS'],
    ['/sessions/x/events', 'GET, HEAD, OPTIONS'],
    ['/sessions/x/close', 'OPTIONS, POST'],
    ['/sessions/x/messages', 'OPTIONS, POST'],
    ['/sessions/x/decisions', 'OPTIONS, POST'],
    ['/sessions/x/stop', 'OPTIONS, POST'],
    ['/sessions/x/read', 'OPTIONS, POST'],
    ['/sessions/x/deliveries', 'GET, HEAD, OPTIONS'],
    ['/sessions/x/turns/t1/retry', 'OPTIONS, POST'],
    ['/turns', 'GET, HEAD, OPTIONS'],
    ['/healthz', 'GET, HEAD, OPTIONS'],
  ])('that %s does not take are told which it does', async (path, allow) => {
    const answer = await ask(deployment.publicUrl, 'PATCH', path);
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, allow]);
    expect(await answer.json()).toMatchObject({ type: 'urn:ledgerline:problem:method_not_allowed' });
  });

  it('HEAD opens no stream', async () => {
    const answer = await ask(
      deployment.publicUrl,
      'HEAD',
      `/sessions/${session}/stream`,
      `Bearer ${await deployment.token()}`,
    );
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
    expect((await call.internal('GET', `/sessions/${session}`)).json).toMatchObject({ room: null });
  });
});

describe('a server', () => {
  it('tells machines that it lives and is ready, on both listeners', async () => {
    for (const base of [deployment.publicUrl, deployment.internalUrl]) {
      for (const path of ['/healthz', '/readyz', '/']) {
        const answer = await ask(base, 'GET', path);
        expect([path, answer.status, answer.headers.get('ledgerline-protocol')]).toEqual([path, 200, '1']);
      }
    }
  });

  it('shows its metrics inside only, without a session’s name', async () => {
    expect((await ask(deployment.publicUrl, 'GET', '/metrics')).status).toBe(404);
    const metrics = await (await ask(deployment.internalUrl, 'GET', '/metrics')).text();
    expect(metrics).toContain('ledgerline_appends_total{outcome="appended"}');
    expect(metrics).toContain('route="/sessions/:session/stream"');
    expect(metrics).not.toContain(session);
  });

  it('counts an append once, and its events', async () => {
    const counts = async (): Promise<number[]> => {
      const text = await (await ask(deployment.internalUrl, 'GET', '/metrics')).text();
      return ['appends_total{outcome="appended"}', 'append_seconds_count', 'appended_events_total'].map((name) =>
        Number(text.split(`ledgerline_${name} `)[1]?.split('\n')[0]),
      );
    };
    const before = await counts();
    await call.append(await call.session(), event('1'), event('2'));
    expect(await counts()).toEqual([0, 1, 2].map((index) => (before[index] ?? 0) + (index === 2 ? 2 : 1)));
  });

  it('opens itself to no origin that is not on its list', async () => {
    for (const origin of ['https://nobody.test', 'null', '*']) {
      const answer = await fetch(`${deployment.publicUrl}/sessions/${session}`, { headers: { origin } });
      expect(answer.headers.get('access-control-allow-origin')).toBeNull();
      expect(answer.headers.get('vary')).toBe('Origin');
    }
  });
});
