/** Appends an AI SDK's UI message stream to a session, so that readers can join, leave and resume the answer at any moment. */
import { isDelta } from '../event/event.ts';
import { ownError } from './producer-error.ts';
import type { Producer } from './producer.ts';

/** A chunk of the AI SDK's UI message stream, of whatever version: only its type is looked at. */
export interface UIMessageChunk {
  readonly type: string;
}

/** `result.toUIMessageStream()`, `createUIMessageStream(…)`, or anything else that yields chunks. */
export type UIMessageChunks = AsyncIterable<UIMessageChunk> | ChunkStream;

/** A `ReadableStream`, also one whose type knows no iteration. */
export interface ChunkStream {
  getReader(): ChunkReader;
}

export interface ChunkReader {
  read(): Promise<{ readonly done: boolean; readonly value?: UIMessageChunk | undefined }>;
  cancel(reason?: unknown): Promise<void>;
}

export interface AppendStreamOptions {
  /** The message's id, for a `start` without one. Where nobody gives an id, readers make one of the `start`'s sequence. */
  readonly messageId?: string;
  /** What readers are told when the stream breaks; `An error occurred.` if left out, since errors may hold secrets. */
  readonly onError?: (error: unknown) => string;
}

/**
 * Appends one answer: each chunk as a `ui.chunk` event, as it is, in its order. Deltas (`text-delta`, `reasoning-delta`,
 * `tool-input-delta`) wait a moment for others, everything else leaves at once. It reads no faster than the producer's
 * buffer has room, and resolves when all of it is stored; `last` is the sequence of its last event.
 *
 * ```ts
 * const producer = createProducer({ url, key, session: chatId, create: true });
 * const result = streamText({ model, messages });
 * await appendUIMessageStream(producer, result.toUIMessageStream());
 * await producer.close();
 * ```
 *
 * Readers find an answer by its `start`, and its end by a `finish`, `abort` or `error`. So that every answer has exactly
 * one beginning and one end, a stream without a `start` or an end gets one, `finish` moves behind whatever still follows
 * it, and of every further `start` and end (those of merged streams) only the metadata is kept.
 *
 * When the stream breaks, the promise rejects with the stream's own error, and readers get an `error` chunk, unless they
 * had an end before. When the producer refuses, the stream is cancelled, and the promise rejects with the
 * `ProducerError`.
 */
export async function appendUIMessageStream(
  producer: Producer,
  stream: UIMessageChunks,
  options: AppendStreamOptions = {},
): Promise<{ last: number }> {
  let hasBegun = false;
  let hasEnded = false;
  /** The end, unless another one comes first. */
  let finish: UIMessageChunk | undefined;

  async function append(chunk: UIMessageChunk): Promise<void> {
    await producer.append('ui.chunk', chunk, { isDelta: isDelta(chunk.type) });
  }

  async function appendMetadata(chunk: UIMessageChunk | undefined): Promise<void> {
    if (chunk !== undefined && 'messageMetadata' in chunk) await append(metadataChunk(chunk.messageMetadata));
  }

  async function begin(chunk: UIMessageChunk): Promise<void> {
    await append(named(chunk, options.messageId));
    hasBegun = true;
  }

  async function end(chunk: UIMessageChunk): Promise<void> {
    const held = finish;
    finish = undefined;
    if (held !== chunk) await appendMetadata(held);
    await append(chunk);
    hasEnded = true;
  }

  async function take(chunk: UIMessageChunk): Promise<void> {
    const isStart = chunk.type === 'start';
    if (!hasBegun) {
      await begin(isStart ? chunk : { type: 'start' });
      if (isStart) return;
    }
    if (isStart || (hasEnded && isEnd(chunk))) {
      await appendMetadata(chunk);
    } else if (chunk.type === 'finish') {
      await appendMetadata(finish);
      finish = chunk;
    } else await (isEnd(chunk) ? end(chunk) : append(chunk));
  }

  /** So that nobody waits for what does not come. */
  async function tellReaders(thrown: unknown): Promise<void> {
    try {
      if (!hasBegun) await begin({ type: 'start' });
      if (!hasEnded) await end(errorChunk(textFor(thrown, options)));
      await producer.flush();
    } catch {
      // It is the producer itself that failed, of which the caller hears anyway.
    }
  }

  try {
    for await (const chunk of chunksOf(stream)) await take(checked(chunk));
    if (hasBegun && !hasEnded) await end(finish ?? { type: 'finish' });
    return await producer.flush();
  } catch (thrown) {
    await tellReaders(thrown);
    throw thrown;
  }
}

const metadataChunk = (messageMetadata: unknown) => ({ type: 'message-metadata', messageMetadata });
const errorChunk = (errorText: string) => ({ type: 'error', errorText });

/** Nothing of the answer follows. */
const isEnd = ({ type }: UIMessageChunk): boolean => type === 'finish' || type === 'abort' || type === 'error';

function textFor(thrown: unknown, { onError }: AppendStreamOptions): string {
  const standard = 'An error occurred.';
  try {
    return onError?.(thrown) ?? standard;
  } catch {
    // The caller asked why the stream broke, and hears that instead.
    return standard;
  }
}

function named(start: UIMessageChunk & { readonly messageId?: unknown }, id: string | undefined) {
  const messageId = start.messageId ?? id;
  return messageId === undefined ? start : { ...start, messageId };
}

/** Cancels the stream when its reader stops early. */
async function* chunksOf(stream: UIMessageChunks): AsyncGenerator<UIMessageChunk> {
  if (Symbol.asyncIterator in stream) {
    yield* stream;
    return;
  }
  const reader = stream.getReader();
  let isDone = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      isDone = done;
      if (value === undefined) return;
      yield value;
    }
  } finally {
    if (!isDone) await reader.cancel();
  }
}

function checked(chunk: unknown): UIMessageChunk {
  if (typeof chunk === 'object' && chunk !== null && 'type' in chunk && typeof chunk.type === 'string') {
    return chunk as UIMessageChunk;
  }
  throw ownError('malformed', 'a chunk of a UI message stream is an object with a type', { where: 'data' });
}
