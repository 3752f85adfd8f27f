/** Cookies and tickets: what opens a stream where no header can be sent, and what neither of them opens. */
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { caller, event, startDeployment } from '../support/deployment.ts';
import type { Caller, Deployment } from '../support/deployment.ts';
import { readStream } from '../support/sse-reader.ts';
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

const streamUrl = (query = '', of = session): string => `${deployment.publicUrl}/sessions/${of}/stream${query}`;
const cookieOf = async (options?: TokenOptions): Promise<string> =>
  `ledgerline_token=${await deployment.token(options)}`;
const statusOf = async (url: string, init: RequestInit = {}): Promise<number> => {
  const answer = await fetch(url, init);
  await answer.body?.cancel();
  return answer.status;
};

async function ticket(token?: TokenOptions, of = session): Promise<string> {
  const { status, json } = await call.reader('POST', `/sessions/${of}/tickets`, token === undefined ? {} : { token });
  expect(status).toBe(201);
  expect(json).toEqual({ ticket: expect.any(String), expiresAt: expect.stringMatching(/^\d{4}-.*Z$/) });
  return (json as { ticket: string }).ticket;
}

describe('a token in a cookie', () => {
  it('looks, wherever a token may', async () => {
    const headers = { cookie: `theme=dark; ${await cookieOf()}` };
    for (const path of [`/sessions/${session}`, `/sessions/${session}/events`, '/sessions', '/turns']) {
      expect([path, await statusOf(deployment.publicUrl + path, { headers })]).toEqual([path, 200]);
      expect([path, await statusOf(deployment.publicUrl + path, { headers, method: 'HEAD' })]).toEqual([path, 200]);
    }
    const reader = await readStream(streamUrl(), headers);
    await reader.events(1);
    await reader.close();
  });

  it('changes nothing, whatever its scope', async () => {
    const headers = { cookie: await cookieOf(), 'content-type': 'application/json' };
    const writes = ['', '/close', '/messages', '/decisions', '/stop', '/read', '/tickets'].map(
      (path) => [path === '' ? 'DELETE' : 'POST', `/sessions/${session}${path}`] as const,
    );
    for (const [method, path] of [...writes, ['POST', '/sessions'] as const]) {
      const answer = await fetch(deployment.publicUrl + path, { method, headers });
      expect([path, answer.status]).toEqual([path, 401]);
      expect(answer.headers.get('content-type')).toBe('application/problem+json');
      await answer.body?.cancel();
    }
    expect((await call.reader('GET', `/sessions/${session}`)).json).toMatchObject({ state: 'open', head: 1 });
  });

  it('is overruled by one in the header, also by one that is refused', async () => {
    const cookie = await cookieOf({ sessions: ['other'] });
    const good = `Bearer ${await deployment.token()}`;
    expect(await statusOf(streamUrl('?after=head'), { headers: { cookie, authorization: good } })).toBe(200);
    const refused = { cookie: await cookieOf(), authorization: 'Bearer nonsense' };
    expect(await statusOf(streamUrl(), { headers: refused })).toBe(401);
  });

  it('counts for pages of the server’s own origin and of those on the list, and of no other', async () => {
    const cookie = await cookieOf();
    const url = `${deployment.publicUrl}/sessions/${session}`;
    const statuses = async (origins: readonly string[]): Promise<number[]> =>
      Promise.all(origins.map((origin) => statusOf(url, { headers: { cookie, origin } })));
    expect(await statuses([new URL(url).origin, 'https://app.test'])).toEqual([200, 200]);
    expect(await statuses(['https://nobody.test', 'null', 'http://localhost', '*'])).toEqual([401, 401, 401, 401]);
  });

  it('counts for no foreign page that embeds the address or leads to it, though none of them is named', async () => {
    const cookie = await cookieOf();
    const statuses = async (sites: readonly string[]): Promise<number[]> =>
      Promise.all(sites.map((site) => statusOf(streamUrl(), { headers: { cookie, 'sec-fetch-site': site } })));
    expect(await statuses(['same-origin', 'none'])).toEqual([200, 200]);
    expect(await statuses(['same-site', 'cross-site', 'other'])).toEqual([401, 401, 401]);
  });

  it('counts by the word of the browser, which knows the scheme, rather than by the host that both may share', async () => {
    const cookie = await cookieOf();
    const url = `${deployment.publicUrl}/sessions/${session}`;
    const status = (origin: string, site: string): Promise<number> =>
      statusOf(url, { headers: { cookie, origin, 'sec-fetch-site': site } });
    expect(await status(new URL(url).origin, 'cross-site')).toBe(401);
    expect(await status('https://name.outside.test', 'same-origin')).toBe(200);
    expect(await status('https://app.test', 'cross-site')).toBe(200);
  });

  it('opens nothing on the internal listener', async () => {
    const headers = { cookie: await cookieOf() };
    expect(await statusOf(`${deployment.internalUrl}/sessions/${session}`, { headers })).toBe(401);
  });
});

describe('a ticket', () => {
  it('opens its stream, and leaves a cookie for that stream alone', async () => {
    const reader = await readStream(streamUrl(`?ticket=${await ticket()}`), {});
    await reader.events(1);
    await reader.close();
    const cookie = reader.headers.get('set-cookie') ?? '';
    expect(cookie).toMatch(
      new RegExp(
        `^ledgerline_pass=[\\w.-]+; Path=/sessions/${session}/stream; Max-Age=\\d+; HttpOnly; SameSite=Strict; Secure$`,
      ),
    );
  });

  it('is for whoever may read the session, with a token in the header', async () => {
    const path = `/sessions/${session}/tickets`;
    const status = async (token: TokenOptions): Promise<number> => (await call.reader('POST', path, { token })).status;
    expect(await status({ scope: 'read' })).toBe(201);
    expect(await status({ scope: 'send write create' })).toBe(403);
    expect(await status({ sessions: ['other'] })).toBe(404);
    expect(await statusOf(deployment.publicUrl + path, { method: 'POST' })).toBe(401);
    expect((await call.internal('POST', path)).status).toBe(201);
  });

  it('opens no other stream, no other route, and no other method', async () => {
    const other = await call.session();
    const text = await ticket();
    expect(await statusOf(streamUrl(`?ticket=${text}`, other))).toBe(401);
    for (const path of [`/sessions/${session}`, `/sessions/${session}/events`, '/sessions']) {
      expect([path, await statusOf(`${deployment.publicUrl}${path}?ticket=${text}`)]).toEqual([path, 401]);
    }
    expect(await statusOf(streamUrl(), { headers: { authorization: `Bearer ${text}` } })).toBe(401);
    expect(await statusOf(streamUrl(), { headers: { cookie: `ledgerline_token=${text}` } })).toBe(401);
    expect(await statusOf(streamUrl(`?ticket=${await deployment.token()}`))).toBe(401);
    const reads = { headers: { authorization: `Bearer ${await deployment.token({ sessions: ['other'] })}` } };
    expect(await statusOf(streamUrl(`?ticket=${text}`), reads)).toBe(404);
  });

  it('of the key is somebody’s: of whom the body names, or of nobody else', async () => {
    const path = `/sessions/${session}/tickets`;
    const subjectOf = async (body?: string): Promise<unknown> => {
      const { status, json } = await call.internal('POST', path, body);
      expect(status).toBe(201);
      return decodeJwt((json as { ticket: string }).ticket).sub;
    };
    expect(await subjectOf('{"subject":"maya"}')).toBe('maya');
    const [one, other] = [await subjectOf(), await subjectOf('{}')];
    expect(one).toMatch(/^[0-9a-f-]{36}$/);
    expect(other).not.toBe(one);
    for (const body of ['{"subject":""}', '{"subject":7}', '{"name":"maya"}', '[]', '{"subject":"a","subject":"b"}']) {
      expect([body, (await call.internal('POST', path, body)).status]).toEqual([body, 400]);
    }
    expect((await call.reader('POST', path, { body: '{}' })).status).toBe(201);
    const named = await call.reader('POST', path, { body: '{"subject":"noor"}' });
    expect([named.status, named.json]).toEqual([400, expect.objectContaining({ where: 'subject' })]);
  });

  it('of the key ends with its subject, and with no other', async () => {
    const subject = `s-${session}`;
    const open = async (body?: string) => {
      const { json } = await call.internal('POST', `/sessions/${session}/tickets`, body);
      const reader = await readStream(streamUrl(`?ticket=${(json as { ticket: string }).ticket}`), {});
      await reader.events(1);
      return reader;
    };
    const [meant, spared] = [await open(JSON.stringify({ subject })), await open()];
    await call.internal('POST', '/internal/revocations', JSON.stringify({ sub: subject }));
    expect((await meant.frame('denied')).data).toBe('{"reason":"revoked"}');
    await meant.ended();
    expect(spared.isEnded).toBe(false);
    await spared.close();
  });

  it('ends its stream when its token ends', async () => {
    const reader = await readStream(streamUrl(`?ticket=${await ticket({ ttlSeconds: -2 })}`), {});
    expect((await reader.frame('denied')).data).toBe('{"reason":"expired"}');
    await reader.ended();
  });

  it.each(['', 'x', '..', 'a.b.c', '%00', 'é', 'a'.repeat(9_000)])('is not %.10s', async (text) => {
    const answer = await fetch(streamUrl(`?ticket=${text}`));
    expect(answer.status).toBe(401);
    if (text.length > 2) expect(await answer.text()).not.toContain(text);
  });

  it('that does not hold leaves it to a token in a cookie', async () => {
    expect(await statusOf(streamUrl('?ticket=x&after=head'), { headers: { cookie: await cookieOf() } })).toBe(200);
  });
});

describe('a page of an origin on the list', () => {
  it('may ask for a ticket, and is told so before it does', async () => {
    const answer = await fetch(`${deployment.publicUrl}/sessions/${session}/tickets`, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://app.test',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization',
      },
    });
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'access-control-allow-origin': 'https://app.test',
      'access-control-allow-credentials': 'true',
      'access-control-allow-methods': expect.stringContaining('POST'),
      'access-control-allow-headers': expect.stringContaining('Authorization'),
      vary: 'Origin',
    });
  });

  it('on no list is promised nothing, with or without a cookie', async () => {
    for (const headers of [{}, { cookie: await cookieOf() }]) {
      const answer = await fetch(streamUrl(), { headers: { ...headers, origin: 'https://nobody.test' } });
      expect(answer.headers.get('access-control-allow-origin')).toBeNull();
      expect(answer.headers.get('access-control-allow-credentials')).toBeNull();
      await answer.body?.cancel();
    }
  });
});
