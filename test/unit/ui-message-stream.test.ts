/** An AI SDK's UI message stream on its way into a session: each chunk as it is, one beginning, one end, at the gateway's pace. */
import { createUIMessageStream } from 'ai';
import type { UIMessageChunk } from 'ai';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createProducer } from '../../src/producer/producer.ts';
import type { ProducerOptions } from '../../src/producer/producer.ts';
import { appendUIMessageStream } from '../../src/producer/ui-message-stream.ts';
import { modelAnswer, paced } from '../support/model-answer.ts';
import { ScriptedGateway, refusal } from '../support/scripted-gateway.ts';

function house(options: Partial<ProducerOptions> = {}) {
  const gateway = new ScriptedGateway();
  const producer = createProducer({ url: 'http://gateway', key: 'k', session: 's1', fetch: gateway.fetch, ...options });
  return { gateway, producer, chunks: () => gateway.stored.map(({ data }) => data) };
}

/** Of each request, the types of its chunks. */
const batches = ({ received }: ScriptedGateway): string[][] =>
  received.map(({ body }) =>
    (JSON.parse(body) as { events: { data: { type: string } }[] }).events.map(({ data }) => data.type),
  );

async function* of(...chunks: readonly UIMessageChunk[]): AsyncGenerator<UIMessageChunk> {
  for (const chunk of chunks) yield await Promise.resolve(chunk);
}

async function* breaking(error: Error, ...chunks: readonly UIMessageChunk[]): AsyncGenerator<UIMessageChunk> {
  yield* of(...chunks);
  throw error;
}

const start = { type: 'start', messageId: 'm1' } as const;
const finish = { type: 'finish', finishReason: 'stop' } as const;
const text = (...deltas: readonly string[]): UIMessageChunk[] => [
  { type: 'text-start', id: 't1' },
  ...deltas.map((delta): UIMessageChunk => ({ type: 'text-delta', id: 't1', delta })),
  { type: 'text-end', id: 't1' },
];

describe('a UI message stream', () => {
  test('is appended as ui.chunk events, chunk for chunk', async () => {
    const { gateway, producer, chunks } = house();
    const stream = [start, ...text('Hel', 'lo \ud83d', '\ude00'), finish];
    expect(await appendUIMessageStream(producer, of(...stream))).toEqual({ last: stream.length });
    expect(chunks()).toEqual(stream);
    expect(new Set(gateway.stored.map(({ type }) => type))).toEqual(new Set(['ui.chunk']));
  });

  test('of the SDK, with reasoning, a tool and steps, is appended as the SDK makes it', async () => {
    const stream = await modelAnswer({ reasoning: ['Look ', 'it up.'], before: ['Let me see.'], after: ['21 °C.'] });
    expect(stream.map(({ type }) => type)).toEqual(
      expect.arrayContaining(['start', 'reasoning-delta', 'tool-input-delta', 'tool-output-available', 'finish-step']),
    );
    const { producer, chunks } = house();
    await appendUIMessageStream(producer, of(...stream));
    expect(chunks()).toEqual(JSON.parse(JSON.stringify(stream)));
  });

  test('lets deltas wait for each other, and takes them along with whatever else comes', async () => {
    const gateway = new ScriptedGateway();
    const producer = createProducer(
      { url: 'http://gateway', key: 'k', session: 's1', fetch: gateway.fetch },
      // time stands still: nothing leaves because it waited long enough
      {
        clock: { ...systemClock, now: () => 0 },
        sleep: (_, signal) => new Promise((resolve) => signal?.addEventListener('abort', () => resolve())),
      },
    );
    const pace = paced([start, ...text('a', 'b', 'c'), finish]);
    const appending = appendUIMessageStream(producer, pace);
    for (const count of [1, 1, 3]) {
      pace.release(count);
      for (let turns = 0; turns < 20; turns += 1) await turn();
    }
    expect(pace.taken).toBe(5);
    expect(batches(gateway)).toEqual([['start'], ['text-start']]);
    pace.release(1);
    await vi.waitFor(() => expect(gateway.received).toHaveLength(3));
    pace.release();
    await appending;
    const deltas = ['text-delta', 'text-delta', 'text-delta'];
    expect(batches(gateway)).toEqual([['start'], ['text-start'], [...deltas, 'text-end'], ['finish']]);
  });

  test('is read no faster than the gateway takes it', async () => {
    const ending = new AbortController();
    const { gateway, producer } = house({ bufferBytes: 1_000, signal: ending.signal });
    gateway.meet(() => 'hang');
    let read = 0;
    async function* endless(): AsyncGenerator<UIMessageChunk> {
      yield start;
      for (; ; read += 1)
        yield await Promise.resolve({ type: 'text-delta', id: 't1', delta: 'x'.repeat(100) } as const);
    }
    const appending = appendUIMessageStream(producer, endless());
    await vi.waitFor(() => expect(read).toBeGreaterThan(3));
    for (let index = 0; index < 100; index += 1) await turn();
    expect(read).toBeLessThan(20);
    ending.abort();
    await expect(appending).rejects.toMatchObject({ code: 'aborted' });
  });

  test('may be a stream whose type knows no iteration', async () => {
    const { producer, chunks } = house();
    const stream = new ReadableStream<UIMessageChunk>({
      start(controller) {
        for (const chunk of [start, ...text('a'), finish]) controller.enqueue(chunk);
        controller.close();
      },
    });
    await appendUIMessageStream(producer, { getReader: () => stream.getReader() });
    expect(chunks()).toEqual([start, ...text('a'), finish]);
  });
});

describe('an answer has one beginning and one end', () => {
  test('when nothing began or ended it', async () => {
    const { producer, chunks } = house();
    await appendUIMessageStream(producer, of(...text('a')), { messageId: 'm2' });
    expect(chunks()).toEqual([{ type: 'start', messageId: 'm2' }, ...text('a'), { type: 'finish' }]);
  });

  test('when the SDK merged streams and wrote data before, between and behind them', async () => {
    const { producer, chunks } = house();
    const data = (value: number) => ({ type: 'data-note', data: value }) as const;
    const merged = (id: string): ReadableStream<UIMessageChunk> =>
      new ReadableStream({
        start(controller) {
          controller.enqueue({ type: 'start', messageMetadata: { [id]: 1 } });
          controller.enqueue({ type: 'text-start', id });
          controller.enqueue({ type: 'finish', messageMetadata: { [id]: 2 } });
          controller.close();
        },
      });
    await appendUIMessageStream(
      producer,
      createUIMessageStream({
        async execute({ writer }) {
          writer.write(data(1));
          writer.merge(merged('a'));
          await turn();
          writer.write(data(2));
          writer.merge(merged('b'));
          await turn();
          writer.write(data(3));
        },
      }),
    );
    expect(chunks()).toEqual([
      { type: 'start' },
      data(1),
      { type: 'message-metadata', messageMetadata: { a: 1 } },
      { type: 'text-start', id: 'a' },
      data(2),
      { type: 'message-metadata', messageMetadata: { b: 1 } },
      { type: 'text-start', id: 'b' },
      { type: 'message-metadata', messageMetadata: { a: 2 } },
      data(3),
      { type: 'finish', messageMetadata: { b: 2 } },
    ]);
  });

  test('when it was aborted: the abort is its end', async () => {
    const { producer, chunks } = house();
    const stream = [start, ...text('a'), { type: 'abort', reason: 'the user' } as const];
    await appendUIMessageStream(producer, of(...stream));
    expect(chunks()).toEqual(stream);
  });

  test('when it tells an error of its own: what follows ends nothing again', async () => {
    const { producer, chunks } = house();
    const error = { type: 'error', errorText: 'no model' } as const;
    const ends: UIMessageChunk[] = [{ ...finish, messageMetadata: 2 }, { type: 'abort' }, { ...error, errorText: '!' }];
    await appendUIMessageStream(producer, of(start, error, { type: 'finish-step' }, ...ends));
    const kept = [{ type: 'finish-step' }, { type: 'message-metadata', messageMetadata: 2 }];
    expect(chunks()).toEqual([start, error, ...kept]);
  });

  test('when one of its parts has finished and another one fails: the failure is its end', async () => {
    const { producer, chunks } = house();
    const error = { type: 'error', errorText: 'no model' } as const;
    await appendUIMessageStream(producer, of(start, { ...finish, messageMetadata: 1 }, ...text('a'), error));
    expect(chunks()).toEqual([start, ...text('a'), { type: 'message-metadata', messageMetadata: 1 }, error]);
  });

  test('and a stream without a chunk is no answer', async () => {
    const { producer, chunks } = house();
    expect(await appendUIMessageStream(producer, of())).toEqual({ last: 0 });
    expect(chunks()).toEqual([]);
  });

  test('keeps the id that it has, and gets the given one when it has none', async () => {
    const { producer, chunks } = house();
    await appendUIMessageStream(producer, of(start, finish), { messageId: 'other' });
    await appendUIMessageStream(producer, of({ type: 'start', messageMetadata: 1 }, finish), { messageId: 'm2' });
    expect(chunks()).toEqual([start, finish, { type: 'start', messageMetadata: 1, messageId: 'm2' }, finish]);
  });
});

describe('a stream that breaks', () => {
  const secret = new Error('the password is 1234');

  test('tells its readers so, without the reason, and its caller the reason', async () => {
    const { producer, chunks } = house();
    await expect(appendUIMessageStream(producer, breaking(secret, start, ...text('a')))).rejects.toBe(secret);
    expect(chunks()).toEqual([start, ...text('a'), { type: 'error', errorText: 'An error occurred.' }]);
    await producer.append('note', 'the producer lives on');
    expect(await producer.flush()).toEqual({ last: 6 });
  });

  test('tells what it is given to tell, also before anything began', async () => {
    const { producer, chunks } = house();
    const onError = (error: unknown) => `sorry: ${(error as Error).message.length}`;
    await expect(appendUIMessageStream(producer, breaking(secret), { onError })).rejects.toBe(secret);
    expect(chunks()).toEqual([{ type: 'start' }, { type: 'error', errorText: 'sorry: 20' }]);
  });

  test('tells the usual when nobody can say what to tell', async () => {
    const { producer, chunks } = house();
    const onError = (): never => {
      throw new Error('of onError');
    };
    await expect(appendUIMessageStream(producer, breaking(secret, start), { onError })).rejects.toBe(secret);
    expect(chunks()).toEqual([start, { type: 'error', errorText: 'An error occurred.' }]);
  });

  test.each(['error', 'abort'] as const)('behind its own %s has ended before', async (type) => {
    const { producer, chunks } = house();
    const end = { type, errorText: 'no model' } as UIMessageChunk;
    await expect(appendUIMessageStream(producer, breaking(secret, start, end))).rejects.toBe(secret);
    expect(chunks()).toEqual([start, end]);
  });

  test('behind a finish that was held back has not ended', async () => {
    const { producer, chunks } = house();
    const broken = breaking(secret, start, { ...finish, messageMetadata: 1 });
    await expect(appendUIMessageStream(producer, broken)).rejects.toBe(secret);
    const metadata = { type: 'message-metadata', messageMetadata: 1 };
    expect(chunks()).toEqual([start, metadata, { type: 'error', errorText: 'An error occurred.' }]);
  });

  test.each([null, 'text', {}, { type: 7 }])('is what yields %j', async (chunk) => {
    const { producer, chunks } = house();
    await expect(appendUIMessageStream(producer, of(start, chunk as unknown as UIMessageChunk))).rejects.toMatchObject({
      code: 'malformed',
    });
    expect(chunks()).toEqual([start, { type: 'error', errorText: 'An error occurred.' }]);
  });

  test('is what yields a chunk beyond the size of an event', async () => {
    const { producer, chunks } = house();
    const file = { type: 'file', mediaType: 'image/png', url: `data:${'x'.repeat(2 ** 20)}` } as const;
    await expect(appendUIMessageStream(producer, of(start, file))).rejects.toMatchObject({ code: 'too_large' });
    expect(chunks()).toEqual([start, { type: 'error', errorText: 'An error occurred.' }]);
  });

  test.each(['start', 'finish'] as const)('is what yields a %s beyond the size of an event', async (type) => {
    const { producer, chunks } = house();
    const huge = { type, messageMetadata: 'x'.repeat(2 ** 20) } as UIMessageChunk;
    const stream = type === 'start' ? of(huge) : of({ type: 'start' }, huge);
    await expect(appendUIMessageStream(producer, stream)).rejects.toMatchObject({ code: 'too_large' });
    expect(chunks()).toEqual([{ type: 'start' }, { type: 'error', errorText: 'An error occurred.' }]);
  });
});

test('a refusal cancels the stream, and is what the caller hears', async () => {
  const { gateway, producer } = house();
  gateway.meet(() => refusal(409, 'session_closed'));
  let isCancelled = false;
  const stream = new ReadableStream<UIMessageChunk>({
    async pull(controller) {
      await turn();
      controller.enqueue({ type: 'text-delta', id: 't1', delta: 'on and on' });
    },
    cancel() {
      isCancelled = true;
    },
  });
  await expect(appendUIMessageStream(producer, stream)).rejects.toMatchObject({ code: 'session_closed' });
  expect(isCancelled).toBe(true);
});
