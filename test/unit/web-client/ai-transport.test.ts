/** The transport and the network: what it asks for, what it waits out, and what it leaves behind. */
import { readUIMessageStream } from 'ai';
import type { UIMessageChunk } from 'ai';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { createChatTransport, loadMessages } from '../../../web-client/src/ai.ts';
import type { ChatTransportOptions } from '../../../web-client/src/ai.ts';
import { manualWorld } from '../../support/followed-session.ts';
import { ScriptedSession, eventOf, frames, problem } from '../../support/scripted-session.ts';

const url = 'http://ledgerline.test';

function scene(chunks: readonly object[], options: Partial<ChatTransportOptions> = {}) {
  const session = new ScriptedSession();
  const world = manualWorld();
  const transport = createChatTransport({ url, share: false, fetch: session.fetch, ...options }, world);
  const append = (...more: readonly object[]): void => {
    const from = session.head;
    session.events.push(...more.map((chunk, index) => eventOf(from + index + 1, chunk, 'ui.chunk')));
    for (const visit of session.open) visit.say(session.text(from));
  };
  append(...chunks);
  const resume = (abortSignal?: AbortSignal) =>
    transport.reconnectToStream({ chatId: 's1', ...(abortSignal === undefined ? {} : { abortSignal }) });
  return { session, world, append, resume };
}

const written = [
  { type: 'start', messageId: 'a1' },
  { type: 'text-start', id: 't' },
];

async function readAll(stream: ReadableStream<UIMessageChunk> | null): Promise<string[]> {
  const types: string[] = [];
  for await (const { type } of stream ?? []) types.push(type);
  return types;
}

describe('a resume', () => {
  test('asks for one page and for the stream behind it, and for nothing twice', async () => {
    const { session, append, resume } = scene(written);
    const reading = readAll(await resume());
    await vi.waitFor(() => expect(session.visits).toHaveLength(1));
    append({ type: 'text-end', id: 't' }, { type: 'finish' });
    expect(await reading).toEqual(['start', 'text-start', 'text-end', 'finish']);
    expect(session.asked.map(({ path }) => path)).toEqual([
      '/sessions/s1/events',
      '/sessions/s1',
      '/sessions/s1/stream',
    ]);
    expect(session.last.cursor).toBe(2);
    expect(session.open).toEqual([]);
  });

  test('follows nothing before it is read', async () => {
    const { session, resume } = scene(written);
    const stream = await resume();
    for (let turns = 0; turns < 50; turns += 1) await turn();
    expect(session.visits).toEqual([]);
    await stream?.cancel();
    expect(session.visits).toEqual([]);
  });

  test('waits out a gateway that cannot serve now, and a token function that fails', async () => {
    let tokens = 0;
    const token = () => {
      tokens += 1;
      if (tokens === 1) throw new Error('the sign-in is away');
      return 'token';
    };
    const { session, world, resume } = scene(written, { token });
    const askedAtMs: number[] = [];
    session.meet = (_, index) => {
      askedAtMs.push(world.clock.now());
      return [problem(503, 'unavailable', { 'retry-after': '60' }), 'fail' as const][index];
    };
    let stream: ReadableStream<UIMessageChunk> | null | undefined;
    const resuming = resume().then((found) => (stream = found));
    while (stream === undefined) await world.clock.advance(1_000);
    await (await resuming)?.cancel();
    expect(stream).not.toBeNull();
    expect(tokens).toBe(2);
    expect(askedAtMs).toHaveLength(4);
    const [refused = 0, failed = 0] = askedAtMs;
    expect(failed - refused).toBeGreaterThanOrEqual(60_000);
    expect(world.clock.waiting).toBe(0);
  });

  test('that is aborted while it waits rejects, and leaves nothing behind', async () => {
    const { session, world, resume } = scene(written);
    session.meet = () => 'fail';
    const controller = new AbortController();
    const resuming = resume(controller.signal);
    await vi.waitFor(() => expect(world.clock.waiting).toBe(1));
    controller.abort();
    await expect(resuming).rejects.toMatchObject({ code: 'aborted' });
    expect(world.clock.waiting).toBe(0);
  });

  test('that is aborted while its stream is read ends the stream', async () => {
    const { session, world, resume } = scene(written);
    const controller = new AbortController();
    const reading = readAll(await resume(controller.signal));
    await vi.waitFor(() => expect(session.open).toHaveLength(1));
    controller.abort();
    expect(await reading).toEqual(['start', 'text-start']);
    await vi.waitFor(() => expect(session.open).toEqual([]));
    expect([world.clock.waiting, world.listeners]).toEqual([0, 0]);
  });

  test('begins anew after a reset, whatever cursor it had', async () => {
    const { session, append, resume } = scene(written, { after: 0 });
    const reading = readAll(await resume());
    await vi.waitFor(() => expect(session.open).toHaveLength(1));
    session.last.say(frames.reset('restored', 0, 1));
    await expect(reading).rejects.toMatchObject({ code: 'unavailable' });
    session.events.splice(0);
    append({ type: 'start', messageId: 'b1' }, { type: 'text-start', id: 't' });
    const again = readAll(await resume());
    await vi.waitFor(() => expect(session.open).toHaveLength(1));
    append({ type: 'finish' });
    expect(await again).toEqual(['start', 'text-start', 'finish']);
    expect(session.asked.filter(({ query }) => query.includes('before='))).toHaveLength(1);
  });

  test('with a cursor that the session never had looks for itself', async () => {
    const { session, resume } = scene(written, { after: 400 });
    await (await resume())?.cancel();
    const places = session.asked.map(({ path, query }) => path + query);
    expect(places[0]).toContain('after=400');
    expect(places[1]).toContain('before=');
  });

  test('is refused for good when the server says so', async () => {
    const { session, resume } = scene(written);
    session.meet = () => problem(403, 'forbidden');
    await expect(resume()).rejects.toMatchObject({ code: 'refused', problem: 'forbidden' });
  });
});

describe('loading', () => {
  test('takes texts and parts as what was said, and leaves out what has no part', async () => {
    const session = new ScriptedSession();
    const file = { type: 'file', mediaType: 'image/png', url: 'https://a.test/b.png' };
    const said = [
      { key: 'k1', role: 'user', content: 'text' },
      { role: 'system', content: ['one', { type: 'text', text: 'two' }, file] },
      { role: 'user', content: { amount: 7 } },
      { role: 'user' },
      { role: 'somebody', content: 'else' },
      'nothing',
    ];
    session.events.push(...said.map((data, index) => eventOf(index + 1, data, 'message.created')));
    session.events.push(eventOf(7, { type: 'start', messageId: 'empty' }, 'ui.chunk'));
    session.events.push(eventOf(8, { type: 'finish' }, 'ui.chunk'));
    const { messages, cursor } = await loadMessages({ url, session: 's1', fetch: session.fetch, readUIMessageStream });
    expect(cursor).toBe(8);
    expect(messages).toEqual([
      { id: 'k1', role: 'user', parts: [{ type: 'text', text: 'text' }] },
      { id: 'message-2', role: 'system', parts: [{ type: 'text', text: 'one' }, { type: 'text', text: 'two' }, file] },
      { id: 'message-3', role: 'user', parts: [{ type: 'text', text: '{"amount":7}' }] },
    ]);
  });

  test('keeps what the SDK can read of an answer, and tells what it cannot', async () => {
    const session = new ScriptedSession();
    const chunks = [
      ...written,
      { type: 'text-delta', id: 't', delta: 'so far' },
      { type: 'text-delta', id: 'nobody', delta: 'lost' },
      { type: 'finish' },
      { type: 'start', messageId: 'a2' },
      { type: 'text-start', id: 't' },
      { type: 'text-delta', id: 't', delta: 'the next' },
      { type: 'error', errorText: 'An error occurred.' },
    ];
    session.events.push(...chunks.map((data, index) => eventOf(index + 1, data, 'ui.chunk')));
    const onError = vi.fn<(error: unknown) => void>();
    const options = { url, session: 's1', fetch: session.fetch, readUIMessageStream, onError };
    const { messages } = await loadMessages(options);
    expect(messages).toMatchObject([
      { id: 'a1', parts: [{ text: 'so far' }] },
      { id: 'a2', parts: [{ text: 'the next' }] },
    ]);
    expect(onError.mock.calls.map(([error]) => (error as Error).message)).toEqual([
      expect.stringContaining('nobody'),
      'An error occurred.',
    ]);
  });

  test('is given up when it is aborted', async () => {
    const { fetch } = new ScriptedSession();
    const options = { url, session: 's1', fetch, readUIMessageStream, signal: AbortSignal.abort() };
    await expect(loadMessages(options)).rejects.toMatchObject({ code: 'aborted' });
  });
});
