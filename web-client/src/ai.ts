/** Ledgerline sessions as chats of the AI SDK: a `ChatTransport`, and the messages that a chat begins with. */
import type { ChatTransport, UIMessage, UIMessageChunk } from 'ai';
import { loadMessages } from './ai-messages.ts';
import type { LoadOptions, LoadedChat } from './ai-messages.ts';
import type { AnswerChunk } from './answer-chunk.ts';
import type { Abandoned } from './chat-entry.ts';
import { messageToSend, stopReply, submit } from './ai-send.ts';
import { findOpen, hasNews, isAbsent, readOn } from './chat-history.ts';
import type { ChatHistory } from './chat-history.ts';
import type { ChatLog } from './chat-log.ts';
import { createReplyLog } from './chat-reply.ts';
import { streamChat, streamReply } from './chat-stream.ts';
import type { ChatStreamListener } from './chat-stream.ts';
import type { FollowOptions } from './follow-session.ts';
import type { OnBusy } from './outgoing.ts';
import { createRequester } from './requester.ts';
import { createSessionActions } from './session-actions.ts';
import type { SessionActions, Stopped } from './session-actions.ts';
import { createSessionServer } from './session-server.ts';
import { createSurroundings } from './surroundings.ts';
import type { Surroundings } from './surroundings.ts';
import { untilServed } from './until-served.ts';
import { whenAborted } from './when-aborted.ts';

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
  /** What a message does when the agent is at work; `enqueue` if absent. To steer a turn is no answer of its own. */
  readonly onBusy?: Exclude<OnBusy, 'steer'> | undefined;
  /**
   * A newer attempt began at the answer that a `sendMessage` streams. The SDK can begin a message anew only in a resumed
   * stream, so this one has ended: call `resumeStream()`.
   */
  readonly onRetry?: ((chatId: string) => void) | undefined;
  /** The turn that `stop()` was to stop goes on, because nobody could be told. */
  readonly onStopFailed?: ((error: unknown) => void) | undefined;
}

export interface SessionChatTransport<Message extends UIMessage> extends ChatTransport<Message> {
  /**
   * Stops what the agent does in the chat's session, from whichever page, after a reload or a resume, too. (To end a
   * resumed stream, as `useChat().stop()` does then, is to look away: the agent goes on.) Rejects with a `FollowError`.
   */
  stop(chatId: string): Promise<Stopped>;
}

interface ChatState {
  /** Undefined: none is known, or the one that was does not hold any more. */
  cursor: number | undefined;
  /** The cursor before the answer that was streamed last: the agent may go on with it. */
  answerCursor?: number | undefined;
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
 * `sendMessages` gives what the user said to the session, under the message's own id, so that it is stored once however
 * often it is tried, and streams the turn that answers it. Its abort, which is `useChat().stop()`, stops that turn.
 */
export function createChatTransport<Message extends UIMessage = UIMessage>(
  options: ChatTransportOptions,
  world: Surroundings = createSurroundings(),
): SessionChatTransport<Message> {
  const { clock } = world;
  const chats = new Map<string, ChatState>();
  const { after, session: sessionOf = (chatId: string) => chatId, onAbandoned, onBusy = 'enqueue', ...more } = options;
  const { onRetry, onStopFailed, ...rest } = more;

  function stateOf(chatId: string): ChatState {
    const state = chats.get(chatId) ?? { cursor: after, shown: new Set() };
    chats.set(chatId, state);
    return state;
  }

  async function find(session: string, state: ChatState, signal: AbortSignal): Promise<Found | undefined> {
    const server = createSessionServer({ ...rest, session, clock });
    let known = state.cursor === undefined ? undefined : await readOn(server, state.cursor, clock, signal);
    const { answerCursor } = state;
    // Nobody has asked anything new, so what comes may be more of the last answer, which the SDK begins anew.
    if (
      answerCursor !== undefined &&
      known?.log.isBusy === true &&
      known.log.entries.every(({ kind }) => kind === 'answer')
    ) {
      known = await readOn(server, answerCursor, clock, signal);
    }
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

  /** What a stream tells, and what becomes of it here. */
  const listenerOf = (state: ChatState, log: ChatLog): ChatStreamListener => ({
    onShown: (messageId) => state.shown.add(messageId),
    onAbandoned: (messageId) => onAbandoned?.(messageId),
    onCursor(cursor) {
      const answer = log.entries.findLast((entry) => entry.kind === 'answer');
      state.cursor = cursor;
      state.answerCursor = cursor === undefined || answer === undefined ? undefined : answer.first - 1;
      state.shown.clear();
    },
  });

  const actionsOf = (session: string): SessionActions =>
    createSessionActions(session, createRequester({ ...rest, clock }), clock);

  return {
    /** Every stream begins with the `start` of an answer, so the SDK must begin the message anew. */
    resumeStreamIsReplay: true,

    async reconnectToStream({ chatId, abortSignal }) {
      const controller = linked(abortSignal);
      const { signal } = controller;
      try {
        const state = stateOf(chatId);
        const session = sessionOf(chatId);
        const found = await find(session, state, signal);
        if (found === undefined) return null;
        const follow = { ...rest, session, signal };
        return streamOf(
          streamChat(found.history, found.gone, follow, listenerOf(state, found.history.log), world),
          controller,
        );
      } catch (error) {
        if (isAbsent(error)) return null;
        throw error;
      }
    },

    async sendMessages({ chatId, trigger, messages, abortSignal }) {
      const message = messageToSend({ trigger, messages }, onBusy);
      const session = sessionOf(chatId);
      const state = stateOf(chatId);
      const controller = linked(abortSignal);
      const { signal } = controller;
      const server = createSessionServer({ ...rest, session, clock });
      const actions = actionsOf(session);
      const stop = (sequence: number, log = createReplyLog(sequence)): void => {
        const place = { sequence, log, server, actions, options: { ...rest, session } };
        stopReply(place, world).catch((error: unknown) => onStopFailed?.(error));
      };
      const sequence = await submit(message, actions, clock, signal, stop);
      const log = createReplyLog(sequence);
      whenAborted(abortSignal, () => log.isBusy && stop(sequence, log));
      const { cursor } = state;
      const between = { after: cursor ?? sequence, before: sequence, id: message.key };
      const isBehind = await hasNews(server, between, clock, signal);
      const listener = listenerOf(state, log);
      const chunks = streamReply(
        { cursor: sequence, log, last: sequence },
        { ...rest, session, signal },
        // What this page has not shown of before, a resume has to find.
        isBehind ? { ...listener, onCursor: () => undefined } : listener,
        () => onRetry?.(chatId),
        world,
      );
      return streamOf(chunks, controller);
    },

    async stop(chatId) {
      const session = sessionOf(chatId);
      const { signal } = new AbortController();
      const { turn } = await createSessionServer({ ...rest, session, clock }).describe(signal);
      return actionsOf(session).stop(turn.turn ?? undefined);
    },
  };
}

function linked(signal: AbortSignal | undefined): AbortController {
  const controller = new AbortController();
  whenAborted(signal, () => controller.abort());
  return controller;
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
