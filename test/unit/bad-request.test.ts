/** Bodies that break or say one thing twice are refused in words; what may have been stored is never called bad. */
import { afterEach, describe, expect, it } from 'vitest';
import { exchange, head, open } from '../support/raw-http.ts';
import { startStubGateway } from '../support/stub-gateway.ts';
import type { StubGateway } from '../support/stub-gateway.ts';
import { eventually } from '../support/waits.ts';

let gateway: StubGateway;
afterEach(() => gateway.stop());

const creation = async (headers: Record<string, string>) =>
  head('POST', '/sessions', { Authorization: `Bearer ${await gateway.token()}`, ...headers });

describe('a body that breaks on its way', () => {
  it.each([
    ['a chunk without a size', 'zz\r\n', 400],
    ['chunk extensions without an end', `1;${'x'.repeat(20_000)}`, 413],
  ])('is refused for %s', async (_, body, status) => {
    gateway = await startStubGateway();
    const answer = await exchange(gateway.publicUrl, (await creation({ 'Transfer-Encoding': 'chunked' })) + body);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer.match(/HTTP\/1\.1/g)).toHaveLength(1);
  });
});

describe('a whole request with something else behind it', () => {
  it('is not told that it was bad, for it may have been done', async () => {
    let isCreating = false;
    gateway = await startStubGateway({
      sessions: {
        create: () => {
          isCreating = true;
          return new Promise<never>(() => undefined);
        },
      },
    });
    const { socket, received } = open(gateway.publicUrl);
    const isClosed = new Promise((resolve) => socket.once('close', resolve));
    socket.write(`${await creation({ 'Content-Length': '2' })}{}`);
    await eventually('the session is being created', () => isCreating);
    socket.write('no HTTP\r\n\r\n');
    await isClosed;
    expect(received()).toBe('');
  });
});

describe('a broken body behind an answer that has begun', () => {
  it('puts nothing into that answer', async () => {
    gateway = await startStubGateway();
    const { socket, received } = open(gateway.publicUrl);
    const isClosed = new Promise((resolve) => socket.once('close', resolve));
    const authorization = `Bearer ${await gateway.token()}`;
    socket.write(head('GET', '/sessions/s1/stream', { Authorization: authorization }));
    await eventually('the stream has begun', () => received().includes('text/event-stream'));
    socket.write(`${await creation({ 'Transfer-Encoding': 'chunked' })}zz\r\n`);
    await isClosed;
    expect(received().match(/HTTP\/1\.1/g)).toHaveLength(1);
  });
});

describe('the body of a creation', () => {
  it.each([
    ['{"session":"a","session":"b"}', 'session'],
    ['{"metadata":{},"\\u006detadata":{"a":1}}', 'metadata'],
  ])('is refused when a key of its own occurs twice: %s', async (body, where) => {
    gateway = await startStubGateway();
    const answer = await fetch(`${gateway.publicUrl}/sessions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${await gateway.token()}`, 'content-type': 'application/json' },
      body,
    });
    expect({ status: answer.status, ...((await answer.json()) as object) }).toMatchObject({ status: 400, where });
  });
});
