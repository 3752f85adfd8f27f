/** Loads what a chat shows before anything is resumed: a session's finished messages, as the AI SDK has them. */
import type { UIMessage, UIMessageChunk, readUIMessageStream } from 'ai';
import { joinDeltas } from './answer-chunk.ts';
import type { AnswerChunk } from './answer-chunk.ts';
import { cursorOf, isAbsent, readOn } from './chat-history.ts';
import type { Answer, Saying } from './chat-entry.ts';
import type { ChatLog } from './chat-log.ts';
import { replayOf } from './chat-entry.ts';
import { systemClock } from './clock.ts';
import type { Clock } from './clock.ts';
import { createSessionServer } from './session-server.ts';
import type { SessionServerOptions } from './session-server.ts';
import { untilServed } from './until-served.ts';

export interface LoadOptions extends Omit<SessionServerOptions, 'clock'> {
  /** The SDK's own, of `ai`: what it makes of an answer's chunks is what it showed while they came. */
  readonly readUIMessageStream: typeof readUIMessageStream;
  /** Called with what the SDK could not read in an answer; what it could is among the messages. */
  readonly onError?: ((error: unknown) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface LoadedChat<Message extends UIMessage> {
  /** For `useChat({ messages })`. */
  readonly messages: Message[];
  /** For `createChatTransport({ after })`: everything up to here is in the messages. */
  readonly cursor: number;
}

/**
 * The messages of a session: what was said (`message.created`) and the answers made of UI chunks, in order. The answer
 * that is still being written is left to the transport, which begins where this ends, so that nothing is missing and
 * nothing comes twice, also when that answer ends in between. Of abandoned attempts nothing is left. A session that is
 * not there has no messages. Rejects with a `FollowError` when refused; what may pass is waited out.
 */
export async function loadMessages<Message extends UIMessage = UIMessage>(
  options: LoadOptions,
  clock: Clock = systemClock,
): Promise<LoadedChat<Message>> {
  const signal = options.signal ?? new AbortController().signal;
  const server = createSessionServer({ ...options, clock });
  try {
    const history = await readOn(server, 0, clock, signal);
    if (history === undefined) return { messages: [], cursor: 0 };
    const { log, last } = history;
    // Of a session that is over nothing is still being written, whatever it looks like.
    const isOver = log.isBusy && (await untilServed(() => server.describe(signal), clock, signal)).state !== 'open';
    return { messages: await messagesOf(log, isOver, options), cursor: isOver ? last : cursorOf(log, last) };
  } catch (error) {
    if (isAbsent(error)) return { messages: [], cursor: 0 };
    throw error;
  }
}

async function messagesOf<Message extends UIMessage>(
  { entries, open }: ChatLog,
  isOver: boolean,
  options: LoadOptions,
): Promise<Message[]> {
  const messages: Message[] = [];
  for (const entry of entries) {
    const message =
      entry.kind === 'saying'
        ? (sayingOf(entry) as Message)
        : await answerOf<Message>({ ...entry, runs: entry.runs.filter((run) => isOver || run !== open) }, options);
    if (message !== undefined && message.parts.length > 0) messages.push(message);
  }
  return messages;
}

async function answerOf<Message extends UIMessage>(
  answer: Answer,
  { readUIMessageStream: read, onError }: LoadOptions,
): Promise<Message | undefined> {
  let message: Message | undefined;
  const stream = streamOf(joinDeltas(replayOf([answer])));
  for await (const state of read<Message>({ stream, ...(onError === undefined ? {} : { onError }) })) message = state;
  return message;
}

const sayingOf = ({ id, role, content }: Saying): UIMessage => ({ id, role, parts: partsOf(content) });

/** A text, or a list of texts and of the SDK's own parts. */
function partsOf(content: unknown): UIMessage['parts'] {
  if (content === undefined || content === null) return [];
  const list: readonly unknown[] = Array.isArray(content) ? content : [content];
  return list.map((part) => (isPart(part) ? part : { type: 'text', text: textOf(part) }));
}

const isPart = (part: unknown): part is UIMessage['parts'][number] =>
  typeof part === 'object' && part !== null && 'type' in part && typeof part.type === 'string';

const textOf = (part: unknown): string => (typeof part === 'string' ? part : JSON.stringify(part));

function streamOf(chunks: readonly AnswerChunk[]): ReadableStream<UIMessageChunk> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk as UIMessageChunk);
      controller.close();
    },
  });
}
