/** A chat of the real AI SDK as a page has it, without the page: loaded from a session, resumed over the transport. */
import { Chat } from '@ai-sdk/react';
import { readUIMessageStream } from 'ai';
import type { UIMessage, UIMessageChunk } from 'ai';
import { createProducer } from '../../src/producer/producer.ts';
import type { Producer } from '../../src/producer/producer.ts';
import { appendUIMessageStream } from '../../src/producer/ui-message-stream.ts';
import { createChatTransport, loadMessages } from '../../web-client/src/ai.ts';
import type { ChatTransportOptions, SessionChatTransport } from '../../web-client/src/ai.ts';
import { call } from './gateway-calls.ts';
import { paced } from './model-answer.ts';
import type { PacedChunks } from './model-answer.ts';
import { takeTurn } from './scripted-agent.ts';
import type { HeldTurn } from './scripted-agent.ts';

export interface ChatPlace {
  readonly publicUrl: string;
  readonly internalUrl: string;
  readonly key: string;
  readonly token: string;
}

export interface OpenChat {
  readonly chat: Chat<UIMessage>;
  readonly transport: SessionChatTransport<UIMessage>;
  /** What the page had before it resumed. */
  readonly loaded: readonly UIMessage[];
  /** Ids of the messages that the transport said are left without parts. */
  readonly abandoned: readonly string[];
  readonly finished: readonly UIMessage[];
  /** Resolves when the stream has ended, or there was none. */
  resume(): Promise<void>;
}

export interface OpenOptions extends Partial<ChatTransportOptions> {
  /** The messages of a database of one's own, instead of the session's. */
  readonly messages?: UIMessage[];
}

export async function openChat(place: ChatPlace, session: string, options: OpenOptions = {}): Promise<OpenChat> {
  const { messages: own, ...more } = options;
  const server = { url: place.publicUrl, token: place.token };
  const { messages, cursor } =
    own === undefined
      ? await loadMessages({ ...server, session, readUIMessageStream })
      : { messages: own, cursor: undefined };
  const loaded = structuredClone(messages);
  const abandoned: string[] = [];
  const finished: UIMessage[] = [];
  const transport = createChatTransport({
    ...server,
    after: cursor,
    onAbandoned: (messageId) => abandoned.push(messageId),
    ...more,
  });
  const chat = new Chat<UIMessage>({
    id: session,
    messages,
    transport,
    onFinish: ({ message }) => finished.push(message),
  });
  return { chat, transport, loaded, abandoned, finished, resume: () => chat.resumeStream() };
}

export interface Agent {
  readonly producer: Producer;
  /** Stores the event before it resolves. */
  tell(type: string, data: unknown): Promise<void>;
  say(key: string, text: string): Promise<void>;
  /** At the test's pace; `done` resolves when all of it is stored. */
  answer(chunks: readonly UIMessageChunk[]): { readonly pace: PacedChunks; readonly done: Promise<{ last: number }> };
  /** As it is: without the beginning and the end that an answer gets, as a killed agent leaves it. */
  chunks(...chunks: readonly UIMessageChunk[]): Promise<void>;
}

export function startAgent(place: ChatPlace, session: string): Agent {
  const producer = createProducer({ url: place.internalUrl, key: place.key, session });
  async function tell(type: string, data: unknown): Promise<void> {
    await producer.append(type, data);
    await producer.flush();
  }
  return {
    producer,
    tell,
    say: (key, content) => tell('message.created', { key, role: 'user', content }),
    answer(chunks) {
      const pace = paced(chunks);
      return { pace, done: appendUIMessageStream(producer, pace) };
    },
    async chunks(...chunks) {
      for (const chunk of chunks) await producer.append('ui.chunk', chunk);
      await producer.flush();
    },
  };
}

export interface ChatTurn extends HeldTurn {
  /** As its attempt, which the ledger refuses once it is not the newest. */
  chunks(...chunks: readonly UIMessageChunk[]): Promise<void>;
}

/** The session's next turn, as an agent gets it. */
export async function takeChatTurn(place: ChatPlace, session: string): Promise<ChatTurn> {
  const held = await takeTurn(place, session);
  const { turn, attempt } = held;
  return {
    ...held,
    async chunks(...chunks) {
      const events = chunks.map((data) => ({ type: 'ui.chunk', data }));
      const body = JSON.stringify({ fence: { turn, attempt }, events });
      const { status, text } = await call(place, 'POST', `/internal/sessions/${session}/events`, body);
      if (status !== 201) throw new Error(`answered ${status}: ${text}`);
    },
  };
}

/** What the SDK makes of a whole answer that nobody ever interrupted. */
export async function messageOf(chunks: readonly UIMessageChunk[]): Promise<UIMessage> {
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  let message: UIMessage | undefined;
  for await (const state of readUIMessageStream({ stream })) message = state;
  if (message === undefined) throw new Error('the chunks are no message');
  return plain(message);
}

/** Without the members that are there and undefined, as after a trip through JSON. */
export const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

export const userMessage = (id: string, text: string): UIMessage => ({
  id,
  role: 'user',
  parts: [{ type: 'text', text }],
});

export const textOf = ({ parts }: UIMessage): string =>
  parts.map((part) => (part.type === 'text' ? part.text : '')).join('');

/** A text of one part. */
export const textChunks = (id: string, ...deltas: readonly string[]): UIMessageChunk[] => [
  { type: 'text-start', id },
  ...deltas.map((delta): UIMessageChunk => ({ type: 'text-delta', id, delta })),
  { type: 'text-end', id },
];
