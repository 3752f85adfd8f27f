/** Ledgerline sessions as chats of the AI SDK: the reading half of a `ChatTransport`, and the messages it begins with. */
import type { ChatTransport, UIMessage, UIMessageChunk } from 'ai';
import { loadMessages } from './ai-messages.ts';
import type { LoadOptions, LoadedChat } from './ai-messages.ts';
import type { AnswerChunk } from './answer-chunk.ts';
import type { Abandoned } from './chat-entry.ts';
import { findOpen, isAbsent, readOn, untilServed } from './chat-history.ts';
import type { ChatHistory } from './chat-history.ts';
import { streamChat } from './chat-stream.ts';
import { FollowError } from './follow-error.ts';
import type { FollowOptions } from './follow-session.ts';
import { createSessionServer } from './session-server.ts';
import { createSurroundings } from './surroundings.ts';
import type { Surroundings } from './surroundings.ts';

export { loadMessages };
export type { LoadOptions, LoadedChat };

export interface ChatTransportOptions extends Pick<
  FollowOptions,
  'url' | 'token' | 'share' | 'credentials' | 'fetch' | 'onStatus' | 'onFault'
> {
  /** The session of a chat; the chat's own id if left out. */
  readonly session?: ((chatId: string) => string) | undefined;
  /**
   * The cursor of `loadMessages`: everything after it is streamed. Left out, the first resume finds by itself what is
   * being written, and takes everything before it for known. A transport with a cursor is of one chat.
   */
  readonly after?: number | undefined;
  /**
   * A newer attempt at an answer began, and this message was left without parts. The SDK lets a transport empty a
   * message, not remove it: take it out with `setMessages`, or show no message that has no parts.
   */
  readonly onAbandoned?: ((messageId: string) => void) | undefined;
}

interface ChatState {
  /** Undefined: none is known, or the one that was does not hold any more. */
  cursor: number | undefined;
  /** Messages that were streamed since the cursor, and are unfinished on the screen. */
  readonly shown: Set<string>;
}

interface Found {
  readonly history: ChatHistory;
  /** What was shown and does not stand any more. */
  readonly gone: readonly Abandoned[];
}

/**
 * A transport for `useChat({ id, transport, resume: true })`. `reconnectToStream` gives the answer that is being written,
 * from its `start` to its end, through reloads, cuts and deploys, each part once; null when nothing is being written.
 * An answer that must still come (a turn has begun, or what the user said is the last word) is waited for.
 *
 * It does not send: give the message to a backend of your own, and call `resumeStream()`.
 */
export function createChatTransport<Message extends UIMessage = UIMessage>(
  options: ChatTransportOptions,
  world: Surroundings = createSurroundings(),
): ChatTransport<Message> {
  const { clock } = world;
  const chats = new Map<string, ChatState>();
  const { after, session: sessionOf = (chatId: string) => chatId, onAbandoned, ...rest } = options;

  function stateOf(chatId: string): ChatState {
    const state = chats.get(chatId) ?? { cursor: after, shown: new Set() };
    chats.set(chatId, state);
    return state;
  }

  async function find(session: string, state: ChatState, signal: AbortSignal): Promise<Found | undefined> {
    const server = createSessionServer({ ...rest, session, clock });
    const known = state.cursor === undefined ? undefined : await readOn(server, state.cursor, clock, signal);
    const history = known ?? (await findOpen(server, clock, signal));
    state.cursor = history.cursor;
    const { log, last } = history;
    const gone = [...state.shown]
      .filter((id) => log.entries.every((entry) => entry.id !== id))
      .map((id) => ({ kind: 'abandoned', id, rest: [] }) as const);
    // Of a session that is over nothing comes; what it left unfinished is news only to who has a cursor.
    const isOver =
      known === undefined &&
      log.isBusy &&
      (await untilServed(() => server.describe(signal), clock, signal)).state !== 'open';
    const isNews = log.isBusy || gone.length > 0 || log.entries.some(({ kind }) => kind === 'answer');
    if (!isOver && isNews) return { history, gone };
    state.cursor = last;
    return undefined;
  }

  return {
    /** Every stream begins with the `start` of an answer, so the SDK must begin the message anew. */
    resumeStreamIsReplay: true,

    async reconnectToStream({ chatId, abortSignal }) {
      const controller = new AbortController();
      const stop = () => controller.abort();
      if (abortSignal?.aborted === true) stop();
      abortSignal?.addEventListener('abort', stop, { once: true });
      try {
        const state = stateOf(chatId);
        const session = sessionOf(chatId);
        const found = await find(session, state, controller.signal);
        if (found === undefined) return null;
        const chunks = streamChat(
          found.history,
          found.gone,
          { ...rest, session, signal: controller.signal },
          {
            onShown: (messageId) => state.shown.add(messageId),
            onAbandoned: (messageId) => onAbandoned?.(messageId),
            onCursor(cursor) {
              state.cursor = cursor;
              state.shown.clear();
            },
          },
          world,
        );
        return streamOf(chunks, controller);
      } catch (error) {
        if (isAbsent(error)) return null;
        throw error;
      }
    },

    sendMessages: () =>
      Promise.reject(
        new FollowError('failed', 'this transport only reads: send through your own backend, then call resumeStream()'),
      ),
  };
}

function streamOf(
  chunks: AsyncGenerator<AnswerChunk, void>,
  controller: AbortController,
): ReadableStream<UIMessageChunk> {
  return new ReadableStream(
    {
      async pull(sink) {
        const { done, value } = await chunks.next();
        if (done === true) sink.close();
        else sink.enqueue(value as UIMessageChunk);
      },
      async cancel() {
        controller.abort();
        await chunks.return(undefined);
      },
    },
    // Nothing is read ahead: a chunk that is asked for means that the one before it was taken.
    { highWaterMark: 0 },
  );
}
