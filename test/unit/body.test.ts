/** Bodies that are being read at the same time share a budget. */
import { PassThrough } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { createBodyReader } from '../../src/http/body.ts';
import type { AppContext } from '../../src/http/context.ts';
import { eventually } from '../support/waits.ts';

const chunk = Buffer.alloc(1 << 20);
const chunksOfABody = limits.appendBodyBytes / chunk.length;

function request(): { c: AppContext; incoming: PassThrough } {
  const incoming = Object.assign(new PassThrough(), { headers: {} });
  return { incoming, c: { env: { incoming } } as unknown as AppContext };
}

describe('bodies on their way', () => {
  it('hold no more than the budget together; one more is refused, and what ends makes room [I6]', async () => {
    const readJsonBody = createBodyReader();
    const open = Array.from({ length: limits.heldBodiesBytes / limits.appendBodyBytes }, () => {
      const { c, incoming } = request();
      const body = readJsonBody(c, 'appendBodyBytes');
      for (let count = 0; count < chunksOfABody; count += 1) incoming.write(chunk);
      return { body, incoming };
    });
    const late = async (): Promise<number> => {
      const { c, incoming } = request();
      const body = readJsonBody(c, 'appendBodyBytes');
      incoming.end('{}');
      return (await body).length;
    };
    await expect(late()).rejects.toMatchObject({ code: 'unavailable' });
    await expect(late()).rejects.toMatchObject({ code: 'unavailable' });
    open[0]?.incoming.destroy();
    await expect(open[0]?.body).rejects.toMatchObject({ code: 'malformed', fields: { where: 'body' } });
    await expect(late()).resolves.toBe(2);
    open[1]?.incoming.end();
    expect((await open[1]?.body)?.length).toBe(limits.appendBodyBytes);
    await expect(late()).resolves.toBe(2);
    for (const { incoming } of open.slice(2)) incoming.end();
    await Promise.all(open.slice(2).map(({ body }) => body));
  });
});

it('a body that was cut off is refused, though what came of it ends, as over HTTP/2', async () => {
  const { c, incoming } = request();
  const body = createBodyReader()(c, 'appendBodyBytes');
  incoming.write('{}');
  Object.assign(incoming, { aborted: true });
  incoming.end();
  await expect(body).rejects.toMatchObject({ code: 'malformed', fields: { where: 'body' } });
});

it('a body is not held by its request, which a kept connection holds until its next [I6]', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const { c, incoming } = request();
  const read = async (): Promise<WeakRef<Buffer>> => {
    const body = createBodyReader()(c, 'appendBodyBytes');
    incoming.end(Buffer.alloc(1 << 20));
    return new WeakRef(await body);
  };
  const body = await read();
  await eventually('it is collected', () => {
    collect();
    return body.deref() === undefined;
  });
  expect(incoming.readableEnded).toBe(true);
});
