/** The producer library against a gateway that does what the test says, in a time that jumps over every wait. */
import fc from 'fast-check';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { Clock } from '../../src/base/clock.ts';
import { limits } from '../../src/base/limits.ts';
import { producerLimits } from '../../src/base/producer-limits.ts';
import { parseRetryAfter } from '../../src/producer/delivery.ts';
import { createProducer } from '../../src/producer/producer.ts';
import type { ProducerError, ProducerOptions } from '../../src/producer/producer.ts';
import { ScriptedGateway, refusal } from '../support/scripted-gateway.ts';
import type { Fate, Reply } from '../support/scripted-gateway.ts';

/** Every sleep ends after a turn of the loop, and the clock jumps over it; while `isHeld`, only its signal ends one. */
function jumpingTime() {
  let nowMs = 0;
  const clock: Clock = { ...systemClock, now: () => nowMs, random: () => 0.5 };
  return {
    isHeld: false,
    slept: [] as number[],
    clock,
    async pass(delayMs: number, signal?: AbortSignal) {
      this.slept.push(delayMs);
      await turn();
      while (this.isHeld && signal?.aborted !== true) await turn();
      if (signal?.aborted !== true) nowMs += delayMs;
    },
  };
}

function house(options: Partial<ProducerOptions> = {}) {
  const gateway = new ScriptedGateway();
  const time = jumpingTime();
  const make = (more: Partial<ProducerOptions> = {}) =>
    createProducer(
      { url: 'http://gateway', key: 'k', session: 's1', producer: 'p1', fetch: gateway.fetch, ...options, ...more },
      { clock: time.clock, sleep: (delayMs, signal) => time.pass(delayMs, signal) },
    );
  return { gateway, time, make, producer: make(), data: () => gateway.stored.map((event) => event.data) };
}

const counters = (gateway: ScriptedGateway) =>
  gateway.received.map(({ body }) => (JSON.parse(body) as { producer: { sequence: number } }).producer.sequence);
const sizes = (gateway: ScriptedGateway) =>
  gateway.received.map(({ body }) => (JSON.parse(body) as { events: unknown[] }).events.length);
const once =
  (fate: Fate): ((index: number) => Fate) =>
  (index) =>
    index === 0 ? fate : 'serve';

describe('a producer', () => {
  test('appends in order, under its own counter from 1', async () => {
    const { gateway, producer, data } = house();
    await producer.append('turn.started', { turn: 't' });
    await producer.append('text.delta', 'a');
    expect(await producer.flush()).toEqual({ last: 2 });
    await producer.append('message.completed', null);
    expect(await producer.close()).toEqual({ last: 3 });
    expect(data()).toEqual([{ turn: 't' }, 'a', null]);
    expect(gateway.stored.map(({ producer: id, counter }) => [id, counter])).toEqual([
      ['p1', 1],
      ['p1', 2],
      ['p1', 3],
    ]);
    expect(gateway.received[0]).toMatchObject({ path: '/internal/sessions/s1/events', authorization: 'Bearer k' });
    expect(producer.sequence).toBe(4);
  });

  test('goes on from a given counter', async () => {
    const { gateway, make } = house();
    await make({ sequence: 41 }).append('x', 1);
    await vi.waitFor(() => expect(gateway.stored).toMatchObject([{ counter: 41 }]));
  });

  test('creates the session once before its first append, if asked to', async () => {
    const { gateway, make } = house({ create: true, url: 'http://gateway/below' });
    gateway.meet((index) =>
      index === 0 ? { status: 503 } : index === 1 ? { status: 200 } : { status: 201, body: { first: 1, last: 1 } },
    );
    const producer = make();
    await producer.append('x', 1);
    await producer.flush();
    await producer.append('x', 1);
    await producer.flush();
    const [create, append] = ['/below/sessions', '/below/internal/sessions/s1/events'];
    expect(gateway.received.map(({ path }) => path)).toEqual([create, create, append, append]);
    expect(gateway.received[0]!.body).toBe('{"session":"s1"}');
  });

  test('answers a flush of nothing at once', async () => {
    expect(await house().producer.flush()).toEqual({ last: 0 });
  });

  test('sends a payload text as it is, half a surrogate pair as its escape [I2]', async () => {
    const { gateway, producer } = house();
    const raw = '{ "n": 9007199254740993, "b":1, "a":-0, "b":2, "nul":"\\u0000" }';
    await producer.appendRaw('x', raw);
    await producer.appendRaw('x', '"\ud83d"');
    await producer.append('x', '\ude00');
    await producer.appendRaw('x', '"\ud83d\ude00"');
    await producer.close();
    const sent = gateway.received.map(({ body }) => body).join('');
    expect(sent).toContain(`"data":${raw}`);
    expect(sent).toContain('"data":"\\ud83d"}');
    expect(sent).toContain('"data":"\\ude00"}');
    expect(sent).toContain('"data":"\ud83d\ude00"}');
  });
});

describe('a batch', () => {
  test('of deltas waits for others until 33 ms are over', async () => {
    const { gateway, time, producer } = house();
    for (const text of ['a', 'b', 'c']) await producer.append('text.delta', text);
    await vi.waitFor(() => expect(gateway.received).toHaveLength(1));
    expect(sizes(gateway)).toEqual([3]);
    expect(time.slept).toEqual([producerLimits.batchMs]);
  });

  test('of deltas leaves when there are 50, and takes what came meanwhile', async () => {
    const { gateway, time, producer } = house();
    for (let index = 0; index < 50; index += 1) void producer.append('text.delta', index);
    await turn();
    for (let index = 50; index < 180; index += 1) void producer.append('text.delta', index);
    await producer.flush();
    expect(sizes(gateway)).toEqual([50, 130]);
    expect(time.slept).toEqual([]);
  });

  test('leaves at once with a structural event, behind the deltas that wait', async () => {
    const { gateway, data, producer, time } = house();
    time.isHeld = true;
    await producer.append('text.delta', 'a');
    await turn();
    expect(gateway.received).toEqual([]);
    await producer.append('tool.call', 'b');
    await vi.waitFor(() => expect(data()).toEqual(['a', 'b']));
    expect(sizes(gateway)).toEqual([2]);
  });

  test('leaves at once with a flush', async () => {
    const { data, producer, time } = house();
    time.isHeld = true;
    await producer.append('text.delta', 'a');
    await turn();
    await producer.flush();
    expect(data()).toEqual(['a']);
  });

  test('heeds what the caller says of an event rather than its type', async () => {
    const { time, gateway, producer } = house();
    await producer.append('text.delta', 'now', { isDelta: false });
    await vi.waitFor(() => expect(gateway.received).toHaveLength(1));
    expect(time.slept).toEqual([]);
    await producer.append('mine', 'later', { isDelta: true });
    await vi.waitFor(() => expect(gateway.received).toHaveLength(2));
    expect(time.slept).toEqual([producerLimits.batchMs]);
  });

  test('stays within one request of 8 MiB and 1,000 events', async () => {
    const { gateway, producer } = house({ bufferBytes: 64 * 1024 * 1024 });
    const large = JSON.stringify('x'.repeat(1_000_000));
    for (let index = 0; index < 12; index += 1) void producer.appendRaw('text.delta', large);
    for (let index = 0; index < 1_500; index += 1) void producer.append('text.delta', index);
    await producer.flush();
    expect(gateway.stored).toHaveLength(1_512);
    expect(Math.max(...sizes(gateway))).toBe(1_000);
    for (const { body } of gateway.received) expect(body.length).toBeLessThanOrEqual(limits.appendBodyBytes);
  });
});

describe('after a failure that left the outcome unclear', () => {
  test.each<Fate>([
    'lose answer',
    'lose request',
    'cut answer',
    refusal(503, 'append_unknown'),
    refusal(503, 'unavailable'),
    refusal(500, 'internal'),
    { status: 502 },
    { status: 504 },
    { status: 201, body: {} },
  ])('(%j) the same batch goes out again under the same counters, and is stored once', async (fate) => {
    const { gateway, producer, data } = house();
    gateway.meet(once(fate));
    void producer.append('text.delta', 'a');
    void producer.append('x', 'b');
    expect(await producer.flush()).toEqual({ last: 2 });
    await producer.append('x', 'c');
    expect(await producer.flush()).toEqual({ last: 3 });
    expect(data()).toEqual(['a', 'b', 'c']);
    expect(counters(gateway)).toEqual([1, 1, 3]);
    expect(gateway.received[0]!.body).toBe(gateway.received[1]!.body);
  });

  test('a request that hangs is given up and sent again', async () => {
    const { gateway, producer, data } = house({ timeoutMs: 20 });
    gateway.meet(once('hang'));
    await producer.append('x', 'a');
    await producer.flush();
    expect(data()).toEqual(['a']);
  });

  test('an answer that is cut twice is asked for until it is whole', async () => {
    const { gateway, producer, data } = house();
    gateway.meet((index) => (index < 3 ? 'cut answer' : 'serve'));
    await producer.append('x', 'a');
    expect(await producer.flush()).toEqual({ last: 1 });
    expect(data()).toEqual(['a']);
  });

  test('a duplicate of another length is an error', async () => {
    const { gateway, producer } = house();
    gateway.meet((index) => (index === 0 ? 'lose request' : refusal(409, 'duplicate_append', { first: 7, last: 9 })));
    await producer.append('x', 'a');
    await expect(producer.flush()).rejects.toMatchObject({ code: 'duplicate_append', fields: { first: 7, last: 9 } });
  });

  test('the waits grow, and are not the same for all', async () => {
    const { gateway, time, producer } = house();
    gateway.meet((index) => (index < 4 ? 'lose request' : 'serve'));
    await producer.append('x', 'a');
    await producer.flush();
    // half of the ceiling, and half of the other half for a random number of 0.5
    expect(time.slept).toEqual([75, 150, 300, 600]);
  });

  test('it gives up in the end and says what it knows', async () => {
    const { gateway, producer } = house({ giveUpMs: 10_000 });
    gateway.meet(() => refusal(503, 'unavailable'));
    await producer.append('x', 'a');
    await expect(producer.flush()).rejects.toMatchObject({
      code: 'gave_up',
      fields: { lastFailure: 'unavailable', isAmbiguous: true },
    });
    expect(gateway.received.length).toBeGreaterThan(4);
  });
});

describe('two live producers of one name', () => {
  test('meet an error, for a duplicate without a failure before it is not theirs [I8]', async () => {
    const { gateway, make } = house();
    const [one, other] = [make(), make()];
    await one.append('x', 'same');
    await one.flush();
    await other.append('x', 'same');
    await expect(other.flush()).rejects.toMatchObject({
      code: 'duplicate_append',
      fields: { first: 1, last: 1, status: 409 },
    });
    expect(gateway.stored).toHaveLength(1);
  });

  test('meet an error also after a failure that is known to have stored nothing', async () => {
    const { gateway, make } = house();
    const [one, other] = [make(), make()];
    await one.append('x', 'same');
    await one.flush();
    gateway.meet(once(refusal(429, 'too_many')));
    await other.append('x', 'same');
    await expect(other.flush()).rejects.toMatchObject({ code: 'duplicate_append' });
  });

  test('meet an error when they differ, though the outcome was unclear', async () => {
    const { gateway, make } = house();
    const [one, other] = [make(), make()];
    await one.append('x', 'one');
    await one.flush();
    gateway.meet(once('lose request'));
    await other.append('x', 'other');
    await expect(other.flush()).rejects.toMatchObject({ code: 'producer_conflict' });
  });
});

describe('a server that asks to wait', () => {
  test.each([429, 503])('with %i is asked again no sooner', async (status) => {
    const { gateway, time, producer, data } = house();
    gateway.meet(once({ status, headers: { 'retry-after': '7' } }));
    await producer.append('x', 'a');
    await producer.flush();
    expect(time.slept).toEqual([7_075]);
    expect(data()).toEqual(['a']);
  });

  test('because the session is busy is asked again', async () => {
    const { gateway, producer, data } = house();
    gateway.meet(once(refusal(409, 'session_busy')));
    await producer.append('x', 'a');
    await producer.flush();
    expect(data()).toEqual(['a']);
  });

  test('says so in seconds or with a date', () => {
    const nowMs = Date.parse('2026-11-30T04:00:00Z');
    expect(parseRetryAfter('3', nowMs)).toBe(3_000);
    expect(parseRetryAfter('Mon, 30 Nov 2026 04:00:05 GMT', nowMs)).toBe(5_000);
    expect(parseRetryAfter('Mon, 30 Nov 2026 03:00:00 GMT', nowMs)).toBe(0);
    for (const value of [null, '', '-1', 'soon', '1e9']) expect(parseRetryAfter(value, nowMs)).toBe(0);
  });
});

describe('a refusal', () => {
  test.each<[Reply, string]>([
    [refusal(400, 'malformed', { where: 'events[0].data' }), 'malformed'],
    [refusal(401, 'unauthorized'), 'unauthorized'],
    [refusal(403, 'forbidden'), 'forbidden'],
    [refusal(404, 'session_unknown'), 'session_unknown'],
    [refusal(409, 'session_closed'), 'session_closed'],
    [refusal(409, 'producer_overlap', { counter: 4 }), 'producer_overlap'],
    [refusal(410, 'session_deleted'), 'session_deleted'],
    [refusal(413, 'too_large', { limit: 'payloadBytes' }), 'too_large'],
    [{ status: 302, headers: { location: '/elsewhere' } }, 'unexpected_answer'],
    [{ status: 200, body: { first: 1, last: 1 } }, 'unexpected_answer'],
  ])('%j rejects all that waits, and every later call', async (reply, code) => {
    const onError = vi.fn<(error: ProducerError) => void>();
    const { gateway, producer } = house({ onError });
    gateway.meet(() => reply);
    void producer.append('x', 'a');
    const flushes = [producer.flush(), producer.flush()];
    void producer.append('x', 'b');
    for (const flush of flushes) await expect(flush).rejects.toMatchObject({ name: 'ProducerError', code });
    expect(() => producer.append('x', 'c')).toThrow(expect.objectContaining({ code }));
    await expect(producer.close()).rejects.toMatchObject({ code });
    expect(gateway.received).toHaveLength(1);
    expect(onError).toHaveBeenCalledTimes(1);
    expect(onError.mock.calls[0]![0]).toMatchObject({ code, fields: { status: reply.status } });
  });

  test('carries the words and the fields of the problem', async () => {
    const { gateway, producer } = house();
    gateway.meet(() => refusal(400, 'malformed', { where: 'events[0].data', index: 0 }));
    await producer.append('x', 'a');
    await expect(producer.flush()).rejects.toMatchObject({
      message: 'because of malformed',
      fields: { where: 'events[0].data', index: 0, status: 400 },
    });
  });
});

describe('the buffer', () => {
  test('lets the caller wait while it is full, and no longer', async () => {
    const { gateway, producer } = house({ bufferBytes: 1_000 });
    gateway.meet(once(refusal(429, 'too_many', {}, { 'retry-after': '1' })));
    let hasRoom = false;
    void producer.appendRaw('x', JSON.stringify('y'.repeat(500)));
    const waits = producer.appendRaw('x', JSON.stringify('y'.repeat(500))).then(() => (hasRoom = true));
    expect(hasRoom).toBe(false);
    await waits;
    expect(gateway.stored.length).toBeGreaterThan(0);
  });

  test('stays bounded when nobody waits', () => {
    const { gateway, producer } = house({ bufferBytes: 1_000 });
    gateway.meet(() => 'hang');
    const overrun = () => {
      for (let index = 0; index < 1_000; index += 1) void producer.append('x', 'y'.repeat(100));
    };
    expect(overrun).toThrow(expect.objectContaining({ code: 'buffer_full' }));
  });

  test('rejects who waits for room when the producer fails', async () => {
    const { gateway, producer } = house({ bufferBytes: 10 });
    gateway.meet(() => refusal(409, 'session_closed'));
    await expect(producer.append('x', 'long enough')).rejects.toMatchObject({ code: 'session_closed' });
  });
});

describe('what the server would refuse', () => {
  test.each<[string, string, string]>([
    ['Upper', '1', 'malformed'],
    ['', '1', 'malformed'],
    ['x', '{', 'malformed'],
    ['x', '', 'malformed'],
    ['x', JSON.stringify('y'.repeat(limits.payloadBytes)), 'too_large'],
    ['x', JSON.stringify('\u2028'.repeat(limits.payloadBytes / 4)), 'too_large'],
    ['x', '['.repeat(limits.jsonDepth + 1) + ']'.repeat(limits.jsonDepth + 1), 'too_deep'],
  ])('is thrown at the call and harms nothing else: %s', async (type, json, code) => {
    const { producer, data } = house();
    expect(() => producer.appendRaw(type, json)).toThrow(expect.objectContaining({ code }));
    await producer.append('x', 'good');
    await producer.close();
    expect(data()).toEqual(['good']);
  });

  test.each([undefined, () => 1, 10n, Symbol('s')])('is no JSON: %s', (value) => {
    expect(() => house().producer.append('x', value)).toThrow(expect.objectContaining({ code: 'malformed' }));
  });

  test.each<Partial<ProducerOptions>>([
    { session: 'a.b' },
    { producer: '' },
    { sequence: 0 },
    { url: 'localhost:8081' },
    { url: '' },
    { key: '' },
    { key: 'hunter2\u2026' },
    { key: 'hunter\n2' },
  ])('is no option: %j', (options) => {
    expect(() => house(options)).toThrow(expect.objectContaining({ code: 'malformed' }));
    expect(() => house(options)).not.toThrow(/hunter/);
  });
});

describe('the end', () => {
  test('takes no more after close', async () => {
    const { producer } = house();
    await producer.append('x', 1);
    await producer.close();
    expect(() => producer.append('x', 1)).toThrow(expect.objectContaining({ code: 'ended' }));
    expect(await producer.close()).toEqual({ last: 1 });
  });

  test('comes by the signal, whatever the producer does just then', async () => {
    for (const fate of ['hang', refusal(503, 'unavailable')] as const) {
      const controller = new AbortController();
      const { gateway, producer } = house({ signal: controller.signal, giveUpMs: Infinity });
      gateway.meet(() => fate);
      await producer.append('x', 1);
      const flush = producer.flush();
      await turn();
      controller.abort(new Error('enough'));
      await expect(flush).rejects.toMatchObject({ code: 'aborted', cause: { message: 'enough' } });
      expect(() => producer.append('x', 1)).toThrow(expect.objectContaining({ code: 'aborted' }));
    }
  });

  test('comes by a signal that was given before the first append', async () => {
    const { gateway, producer } = house({ signal: AbortSignal.abort() });
    expect(() => producer.append('x', 1)).toThrow(expect.objectContaining({ code: 'aborted' }));
    expect(gateway.received).toEqual([]);
  });

  test('leaves nothing on a signal that lives longer, when it has failed and nobody closes it', async () => {
    const { signal } = new AbortController();
    const added = vi.spyOn(signal, 'addEventListener');
    const removed = vi.spyOn(signal, 'removeEventListener');
    const { gateway, producer } = house({ signal });
    gateway.meet(() => refusal(409, 'session_closed'));
    await producer.append('turn.started', {});
    await expect(producer.flush()).rejects.toMatchObject({ code: 'session_closed' });
    expect(added).toHaveBeenCalledTimes(1);
    expect(removed).toHaveBeenCalledWith('abort', added.mock.calls[0]?.[1]);
  });

  test('leaves nothing on a signal that lives longer', async () => {
    const { signal } = new AbortController();
    const added = vi.spyOn(signal, 'addEventListener');
    const removed = vi.spyOn(signal, 'removeEventListener');
    const { producer } = house({ signal });
    await producer.append('x', 1);
    await producer.close();
    expect(removed.mock.calls.map(([type, listener]) => [type, listener])).toEqual(
      added.mock.calls.slice(-1).map(([type, listener]) => [type, listener]),
    );
  });
});

function nextOf<Value>(values: Iterator<Value>): Value {
  const result = values.next();
  if (result.done === true) throw new Error('the stream has no end');
  return result.value;
}

test('under random failures the stored list is what was appended, once, in order, one request at a time', async () => {
  const fate = fc.constantFrom<Fate>(
    'serve',
    'serve',
    'serve',
    'lose request',
    'lose answer',
    'cut answer',
    refusal(503, 'append_unknown'),
    refusal(429, 'too_many', {}, { 'retry-after': '1' }),
    { status: 502 },
  );
  const step = fc.record({ isDelta: fc.boolean(), pause: fc.nat(3), isFlush: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 60 }), fc.infiniteStream(fate), async (steps, fates) => {
      const { gateway, producer, data } = house({ giveUpMs: Infinity, bufferBytes: 400 });
      gateway.meet(() => nextOf(fates));
      for (const [index, { isDelta, pause, isFlush }] of steps.entries()) {
        await producer.append(isDelta ? 'text.delta' : 'x', index);
        for (let turns = 0; turns < pause; turns += 1) await turn();
        if (isFlush) expect(await producer.flush()).toEqual({ last: index + 1 });
      }
      expect(await producer.close()).toEqual({ last: steps.length });
      expect(data()).toEqual(steps.map((_, index) => index));
      expect(gateway.stored.map(({ counter }) => counter)).toEqual(steps.map((_, index) => index + 1));
      expect(gateway.mostAtOnce).toBe(1);
    }),
    { numRuns: 150 },
  );
});
