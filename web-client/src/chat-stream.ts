/** The answer that is being written, chunk by chunk: first what a chat has yet to show of it, then what comes, to its end. */
import { joinDeltas } from './answer-chunk.ts';
import type { AnswerChunk } from './answer-chunk.ts';
import { restartOf } from './answer-restart.ts';
import type { ChatHistory } from './chat-history.ts';
import { replayOf } from './chat-entry.ts';
import type { Abandoned } from './chat-entry.ts';
import { FollowError } from './follow-error.ts';
import { followSession } from './follow-session.ts';
import type { FollowOptions } from './follow-session.ts';
import type { SessionEvent } from './session-event.ts';
import type { Surroundings } from './surroundings.ts';

export type ChatStreamOptions = Omit<FollowOptions, 'after' | 'onEvents' | 'onReset'>;

export interface ChatStreamListener {
  /** A message that is on the screen from now on, and unfinished until the cursor moves. */
  onShown(messageId: string): void;
  /** A message that is left without parts, because a newer attempt began. */
  onAbandoned(messageId: string): void;
  /** Everything up to here has been taken; undefined: the session was reset, and no cursor holds any more. */
  onCursor(cursor: number | undefined): void;
}

/**
 * `gone` are messages on the screen that do not stand any more. Ends with the answer, or with the session; when `signal`
 * aborts, without a word. Throws a `FollowError` when refused.
 */
export async function* streamChat(
  { log, last }: ChatHistory,
  gone: readonly Abandoned[],
  options: ChatStreamOptions,
  listener: ChatStreamListener,
  world: Surroundings,
): AsyncGenerator<AnswerChunk, void> {
  let abandoned = gone;
  let cursor = last;

  /** The SDK reads no further than an error, so the cursor moves before the last chunk that will be taken is given. */
  async function* give(chunk: AnswerChunk | undefined, isLast: boolean): AsyncGenerator<AnswerChunk, void> {
    const restarts = abandoned.map((one) => restartOf(one, chunk));
    abandoned = [];
    for (const { chunks } of restarts) yield* chunks;
    if (isLast) listener.onCursor(cursor);
    else if (chunk?.type === 'start' && typeof chunk.messageId === 'string') listener.onShown(chunk.messageId);
    if (chunk !== undefined) yield chunk;
    // Who asks for more has taken what came before.
    for (const { leftovers } of restarts) leftovers.forEach((id) => listener.onAbandoned(id));
  }

  const replay = joinDeltas(replayOf(log.entries));
  const error = replay.findIndex(({ type }) => type === 'error');
  const end = error < 0 ? replay.length - 1 : error;
  for (const [index, chunk] of replay.entries()) yield* give(chunk, index === end && !log.isBusy);
  for await (const event of log.isBusy ? eventsAfter(last, options, listener, world) : []) {
    cursor = event.sequence;
    for (const change of log.take(event)) {
      if (change.kind === 'abandoned') abandoned = [...abandoned, change];
      else yield* give(change.chunk, !log.isBusy);
    }
    if (!log.isBusy) break;
  }
  if (options.signal?.aborted !== true) yield* give(undefined, true);
}

/**
 * The answer to a message of the chat's own. What a newer attempt takes back cannot be taken back in such a stream: it ends,
 * and `onRetry` is called.
 */
export async function* streamReply(
  { log, last }: ChatHistory,
  options: ChatStreamOptions,
  listener: ChatStreamListener,
  onRetry: () => void,
  world: Surroundings,
): AsyncGenerator<AnswerChunk, void> {
  let cursor = last;
  for await (const event of eventsAfter(last, options, listener, world)) {
    cursor = event.sequence;
    for (const change of log.take(event)) {
      if (change.kind === 'abandoned') {
        onRetry();
        return;
      }
      const { chunk } = change;
      if (!log.isBusy) listener.onCursor(cursor);
      else if (chunk.type === 'start' && typeof chunk.messageId === 'string') listener.onShown(chunk.messageId);
      yield chunk;
    }
    if (!log.isBusy) break;
  }
  if (options.signal?.aborted !== true) listener.onCursor(cursor);
}

async function* eventsAfter(
  after: number,
  options: ChatStreamOptions,
  listener: ChatStreamListener,
  world: Surroundings,
): AsyncGenerator<SessionEvent, void> {
  let hasReset = false;
  const follower = followSession({ ...options, after, onReset: stop }, world);
  function stop(): void {
    hasReset = true;
    follower.stop();
  }
  for await (const event of follower) {
    if (hasReset) break;
    yield event;
  }
  if (!hasReset) return;
  listener.onCursor(undefined);
  throw new FollowError('unavailable', 'the session was reset while it was followed: load it again');
}
