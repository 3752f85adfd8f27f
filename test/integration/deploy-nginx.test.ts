/** What deploy/nginx.conf does with requests: what it passes on, what it repeats, what it answers itself, what it logs. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { freePort } from '../../src/db/postgres-process.ts';
import { askHttp2, openHttp2 } from '../support/nginx-calls.ts';
import { startDeployedNginx } from '../support/nginx-deployed.ts';
import type { DeployedNginx } from '../support/nginx-deployed.ts';
import { startUpstream } from '../support/nginx-upstream.ts';
import type { Upstream } from '../support/nginx-upstream.ts';
import { eventually } from '../support/waits.ts';
import { range } from '../support/world.ts';

const TICKET = 'a-ticket-that-opens-a-stream';
const streamWithTicket = `/sessions/s/stream?ticket=${TICKET}`;
const strict = { prefer: 'handling=strict' };

describe('before gateways that answer', () => {
  let upstreams: readonly [Upstream, Upstream];
  let nginx: DeployedNginx;
  const asked = () => upstreams.flatMap((upstream) => upstream.asked);
  beforeAll(async () => {
    const start = () =>
      startUpstream((response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"a":1}'));
    upstreams = [await start(), await start()];
    nginx = await startDeployedNginx([upstreams[0].address, upstreams[1].address]);
  });
  afterAll(async () => {
    await nginx?.stop();
    for (const upstream of upstreams ?? []) await upstream.stop();
  });

  test('it passes on what a gateway decides by, its own address with the port included', async () => {
    const headers = {
      authorization: 'Bearer t',
      cookie: 'ledgerline_token=c',
      origin: nginx.url,
      'last-event-id': '41',
      'accept-encoding': 'br, gzip',
      ...strict,
    };
    await askHttp2(nginx.url, '/sessions/s/stream?after=3', { headers });
    const last = asked().at(-1);
    expect(last?.path).toBe('/sessions/s/stream?after=3');
    expect(last?.headers).toMatchObject({ ...headers, host: new URL(nginx.url).host });
  });

  test('it compresses nothing by itself', async () => {
    const answer = await askHttp2(nginx.url, '/turns', { headers: { 'accept-encoding': 'gzip' } });
    expect([answer.status, answer.headers['content-encoding'], answer.text]).toEqual([200, undefined, '{"a":1}']);
  });

  test('one connection carries many requests to a gateway', async () => {
    const before = asked().length;
    for (const _ of range(1, 12)) await askHttp2(nginx.url, '/turns');
    // each process of nginx keeps connections of its own
    const connections = new Set(
      asked()
        .slice(before)
        .map(({ connection }) => connection),
    );
    expect(connections.size).toBeLessThan(12);
  });

  test('the paths of the internal listener end here, however they are written', async () => {
    const before = asked().length;
    const paths = ['/internal/sessions/s/events', '/internal', '/metrics', '/lab/marks', '/%69nternal/x', '//metrics'];
    for (const path of paths) expect([path, (await askHttp2(nginx.url, path)).status]).toEqual([path, 404]);
    expect(asked()).toHaveLength(before);
  });

  test('the largest body of a public route passes, and one that no route takes does not', async () => {
    const send = (bytes: number) =>
      askHttp2(nginx.url, '/sessions/s/messages', { method: 'POST', body: Buffer.alloc(bytes, 'x') });
    expect((await send(limits.bodyBytes)).status).toBe(200);
    const before = asked().length;
    expect((await send(3 * limits.bodyBytes)).status).toBe(413);
    expect(asked()).toHaveLength(before);
  });

  test('its log tells the path alone', async () => {
    const headers = { authorization: 'Bearer a-token-of-a-reader', cookie: 'ledgerline_token=a-cookie-of-a-reader' };
    await askHttp2(nginx.url, streamWithTicket, { headers });
    const line = await eventually('it is logged', () =>
      nginx.accessLog().findLast(({ path }) => path === '/sessions/s/stream'),
    );
    expect(line).toMatchObject({ method: 'GET', protocol: 'HTTP/2.0', status: '200', upstreamStatus: '200' });
    expect(nginx.logs()).not.toMatch(/a-ticket|a-token|a-cookie/);
  });
});

test('a request that changes something is never made again, and one that looks goes to the other gateway', async () => {
  const cut = () => startUpstream((response) => response.socket?.destroy());
  const upstreams = [await cut(), await cut()] as const;
  const nginx = await startDeployedNginx([upstreams[0].address, upstreams[1].address]);
  try {
    const post = await askHttp2(nginx.url, '/sessions/s/messages', { method: 'POST', body: '{"key":"k"}' });
    expect(post.status).toBe(502);
    expect(upstreams.flatMap(({ asked }) => asked).map(({ method }) => method)).toEqual(['POST']);
    // the gateway that cut the first is out of the row for 2 s
    await eventually('a look reaches both', async () => {
      await askHttp2(nginx.url, '/turns');
      return upstreams.every(({ asked }) => asked.some(({ method }) => method === 'GET'));
    });
    expect(upstreams.flatMap(({ asked }) => asked).filter(({ method }) => method === 'POST')).toHaveLength(1);
  } finally {
    await nginx.stop();
    for (const upstream of upstreams) await upstream.stop();
  }
});

describe('before gateways that are away', () => {
  let nginx: DeployedNginx;
  let port: number;
  beforeAll(async () => {
    port = await freePort();
    nginx = await startDeployedNginx([`127.0.0.1:${port}`, `127.0.0.1:${await freePort()}`]);
  });
  afterAll(() => nginx?.stop());

  test('a browser’s EventSource is told when to come back, for any other status would end it [Yaffle#88]', async () => {
    const { status, headers, text } = await askHttp2(nginx.url, streamWithTicket);
    expect([status, headers['content-type'], text]).toEqual([200, 'text/event-stream', 'retry: 2000\n\n']);
  });

  test('a client that reads statuses gets one', async () => {
    expect((await askHttp2(nginx.url, streamWithTicket, { headers: strict })).status).toBe(503);
    expect((await askHttp2(nginx.url, '/turns')).status).toBe(502);
  });

  test('no log tells the ticket of a stream that failed', async () => {
    await askHttp2(nginx.url, streamWithTicket);
    await eventually('it is logged', () =>
      nginx.accessLog().some(({ upstreamStatus }) => /502/.test(upstreamStatus ?? '')),
    );
    expect(nginx.logs()).not.toContain(TICKET);
  });

  test('one that is back gets all readers at once, although none of their streams ends', async () => {
    expect((await askHttp2(nginx.url, streamWithTicket, { headers: strict })).status).toBe(503);
    const back = await startUpstream((response) => response.writeHead(200).write('data: 1\n\n'), port);
    onTestFinished(() => back.stop());
    const opened = await Promise.all(range(1, 8).map(() => openHttp2(nginx.url, streamWithTicket, strict)));
    onTestFinished(() => opened.forEach(({ close }) => close()));
    expect(opened.map(({ status }) => status)).toEqual(range(1, 8).map(() => 200));
    expect(back.asked).toHaveLength(8);
  });
});
