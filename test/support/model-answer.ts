/** An answer as the AI SDK streams it: a scripted model thinks, speaks, calls a tool, and speaks on; and its pace is the test's. */
import { simulateReadableStream, stepCountIs, streamText, tool } from 'ai';
import type { UIMessageChunk } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { z } from 'zod';

export interface AnswerScript {
  readonly reasoning?: readonly string[];
  /** Said before the tool is called. */
  readonly before?: readonly string[];
  /** Said after it. */
  readonly after?: readonly string[];
}

type Streamed = Awaited<ReturnType<MockLanguageModelV4['doStream']>>;
type Part = Streamed['stream'] extends ReadableStream<infer One> ? One : never;

export const toolInput = { city: 'Zürich', unit: 'celsius' };
export const toolOutput = { city: 'Zürich', degrees: 21 };

/** The whole of it, with everything that the SDK adds: steps, ids, the tool's output, the end. */
export async function modelAnswer(script: AnswerScript, messageId?: string): Promise<UIMessageChunk[]> {
  const { reasoning = [], before = [], after = [] } = script;
  const model = new MockLanguageModelV4({
    doStream: [
      streamed([
        ...part('reasoning', 'r1', reasoning),
        ...part('text', 't1', before),
        { type: 'tool-input-start', id: 'c1', toolName: 'weather' },
        ...(JSON.stringify(toolInput).match(/.{1,5}/gsu) ?? []).map((delta): Part => ({
          type: 'tool-input-delta',
          id: 'c1',
          delta,
        })),
        { type: 'tool-input-end', id: 'c1' },
        { type: 'tool-call', toolCallId: 'c1', toolName: 'weather', input: JSON.stringify(toolInput) },
        finish('tool-calls'),
      ]),
      streamed([...part('text', 't2', after), finish('stop')]),
    ],
  });
  const result = streamText({
    model,
    prompt: 'What is the weather in Zürich?',
    stopWhen: stepCountIs(2),
    tools: {
      weather: tool({
        inputSchema: z.object({ city: z.string(), unit: z.string() }),
        execute: () => Promise.resolve(toolOutput),
      }),
    },
  });
  const chunks: UIMessageChunk[] = [];
  const ids = messageId === undefined ? {} : { originalMessages: [], generateMessageId: () => messageId };
  for await (const chunk of result.toUIMessageStream(ids)) chunks.push(chunk);
  return chunks;
}

function part(kind: 'text' | 'reasoning', id: string, deltas: readonly string[]): Part[] {
  if (deltas.length === 0) return [];
  return [
    { type: `${kind}-start`, id },
    ...deltas.map((delta): Part => ({ type: `${kind}-delta`, id, delta })),
    { type: `${kind}-end`, id },
  ];
}

const finish = (reason: 'tool-calls' | 'stop'): Part => ({
  type: 'finish',
  finishReason: { unified: reason, raw: reason },
  usage: {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  },
});

const streamed = (chunks: Part[]): Streamed => ({
  stream: simulateReadableStream({ chunks, initialDelayInMs: null, chunkDelayInMs: null }),
});

export interface PacedChunks extends AsyncIterable<UIMessageChunk> {
  /** How many were taken. */
  readonly taken: number;
  readonly total: number;
  /** Lets so many more out; all of them if left out. */
  release(count?: number): void;
}

/** Chunks that come when the test says so. */
export function paced(chunks: readonly UIMessageChunk[]): PacedChunks {
  let allowed = 0;
  let taken = 0;
  let wake: (() => void) | undefined;
  return {
    get taken() {
      return taken;
    },
    total: chunks.length,
    release(count = chunks.length) {
      allowed = Math.min(chunks.length, allowed + count);
      wake?.();
    },
    async *[Symbol.asyncIterator]() {
      for (const chunk of chunks) {
        while (taken >= allowed) await new Promise<void>((resolve) => (wake = resolve));
        taken += 1;
        yield chunk;
      }
    },
  };
}
