/** The producer library over real HTTP, with its own timers, against a gateway that breaks connections. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createProducer } from '../../src/producer/producer.ts';
import { ScriptedGateway, refusal } from '../support/scripted-gateway.ts';
import type { Fate } from '../support/scripted-gateway.ts';
import { eventually } from '../support/waits.ts';

let gateway: ScriptedGateway;
let server: { url: string; stop(): Promise<void> };
beforeEach(async () => {
  gateway = new ScriptedGateway();
  server = await gateway.listen();
});
afterEach(() => server.stop());

const make = (more: { timeoutMs?: number; signal?: AbortSignal } = {}) =>
  createProducer({ url: server.url, key: 'k', session: 's1', ...more });

test('deltas leave by themselves', async () => {
  await make().append('text.delta', { text: 'a' });
  await eventually('it is stored', () => gateway.stored.length === 1);
  expect(gateway.received[0]).toMatchObject({ path: '/internal/sessions/s1/events', authorization: 'Bearer k' });
});

test.each<Fate>(['lose answer', 'lose request', 'cut answer', 'hang', refusal(503, 'append_unknown')])(
  'each event is stored once, in order, when every second request meets %j (trigger.dev PR#2611)',
  async (fate) => {
    gateway.meet((index) => (index % 2 === 0 ? fate : 'serve'));
    const producer = make({ timeoutMs: fate === 'hang' ? 100 : 10_000 });
    for (let index = 0; index < 200; index += 1) {
      await producer.append('text.delta', index);
      if (index % 50 === 49) await producer.append('message.completed', index);
      if (index === 100) await producer.flush();
    }
    expect(await producer.close()).toEqual({ last: 204 });
    expect(gateway.stored.map(({ counter }) => counter)).toEqual(Array.from({ length: 204 }, (_, index) => index + 1));
    const deltas = gateway.stored.filter(({ type }) => type === 'text.delta').map(({ data }) => data);
    expect(deltas).toEqual(Array.from({ length: 200 }, (_, index) => index));
  },
);

test('a gateway that is not there yet is found when it comes', async () => {
  const { url } = server;
  await server.stop();
  const producer = createProducer({ url, key: 'k', session: 's1' });
  await producer.append('x', 1);
  const flush = producer.flush();
  server = await gateway.listen(Number(new URL(url).port));
  expect(await flush).toEqual({ last: 1 });
});

test('a redirect is not followed', async () => {
  gateway.meet(() => ({ status: 302, headers: { location: '/elsewhere' } }));
  const producer = make();
  await producer.append('x', 1);
  await expect(producer.flush()).rejects.toMatchObject({ code: 'unexpected_answer', fields: { status: 302 } });
  expect(gateway.received).toHaveLength(1);
});

test('an abort ends a request that hangs', async () => {
  gateway.meet(() => 'hang');
  const controller = new AbortController();
  const producer = make({ signal: controller.signal });
  await producer.append('x', 1);
  const flush = producer.flush();
  await eventually('the request is under way', () => gateway.received.length > 0);
  controller.abort();
  await expect(flush).rejects.toMatchObject({ code: 'aborted' });
});
