/** Talks to a session without showing it: messages that are kept until the server has them, decisions, stops. */
import { createMessageSender } from './message-sender.ts';
import type { Content, OnBusy, Outgoing, SentMessage } from './outgoing.ts';
import { browserStorage, createOutgoingStore } from './outgoing-store.ts';
import type { MessageStorage } from './outgoing-store.ts';
import { shareName } from './read-shared.ts';
import { createRequester } from './requester.ts';
import { openSenderTabs } from './sender-tabs.ts';
import { createSessionActions } from './session-actions.ts';
import type { Choice, Decided, Stopped } from './session-actions.ts';
import type { SessionEvent } from './session-event.ts';
import type { SessionServerOptions } from './session-server.ts';
import { createSurroundings } from './surroundings.ts';
import type { Surroundings } from './surroundings.ts';

export type { Choice, Content, Decided, MessageStorage, OnBusy, Outgoing, SentMessage, Stopped };

export interface SendOptions {
  /** `enqueue` if absent. */
  readonly onBusy?: OnBusy | undefined;
}

export interface SenderOptions extends Omit<SessionServerOptions, 'clock'> {
  /** A text, such as a user's id, keeps the users of one browser apart: what one left unsent, no other sends. */
  readonly share?: boolean | string | undefined;
  /** Where messages are kept until the server has them; the browser's `localStorage` if absent, and if there is one. */
  readonly storage?: MessageStorage | undefined;
  /** Messages stay in `outgoing` until `take` was given their events. */
  readonly isFollowed?: boolean | undefined;
  /** `outgoing` is another list. */
  readonly onChange?: (() => void) | undefined;
}

export interface Sender {
  /** What the server does not have yet, or refused, in order; of other tabs and from before a reload, too. */
  readonly outgoing: readonly Outgoing[];
  /**
   * Says something. It is in `outgoing` at once, and goes out through cuts and reloads. Resolves when the server has it;
   * rejects with a `FollowError` when it is refused or discarded. Whoever shows `outgoing` needs not wait for it.
   */
  send(content: Content, options?: SendOptions): Promise<SentMessage>;
  /** Sends what was refused again, with the same key; of what is unsent, the next try is now. */
  retrySend(key: string): void;
  /** Takes a message back, unless the server may have it already. */
  discardSend(key: string): void;
  /**
   * Answers what the agent asked. The first answer stands, whoever gave it: the result tells which one it was. Rejects
   * with a `FollowError`, when it was refused or could not be said for half a minute.
   */
  decide(approval: string, decision: Choice, comment?: string): Promise<Decided>;
  /** Asks the agent to stop: that turn alone, or whatever is under way. Rejects as `decide` does. */
  stopTurn(turn?: string): Promise<Stopped>;
  /** Events that are shown from now on, and how far that goes: a message among them is not outgoing any more. */
  take(events: readonly SessionEvent[], cursor: number): void;
  /** The session is another one than it was, as after a restore: what it took may be gone, and is sent again. */
  reset(): void;
  /** What is on its way still arrives; what is unsent is kept, and goes out when the session is opened again. */
  close(): void;
}

export function createSender(options: SenderOptions, world: Surroundings = createSurroundings()): Sender {
  const { url, session, token, share, isFollowed = false, onChange } = options;
  const { clock } = world;
  const over = new AbortController();
  const actions = createSessionActions(session, createRequester({ ...options, clock }), clock);
  const name = `${shareName(url, session, typeof share === 'string' ? share : '')} outgoing`;
  const messages = createMessageSender({
    name,
    post: (message, signal) => actions.send(message, signal),
    store: createOutgoingStore(name, options.storage ?? browserStorage()),
    openTabs: openSenderTabs,
    world,
    canRenew: typeof token === 'function',
    isFollowed,
    onChange: () => onChange?.(),
  });
  return {
    get outgoing() {
      return messages.outgoing;
    },
    send: (content, { onBusy = 'enqueue' } = {}) => messages.send(content, onBusy),
    retrySend: (key) => messages.retry(key),
    discardSend: (key) => messages.discard(key),
    decide: (approval, decision, comment) => actions.decide(approval, decision, comment, over.signal),
    stopTurn: (turn) => actions.stop(turn, over.signal),
    take: (events, cursor) => messages.take(events, cursor),
    reset: () => messages.reset(),
    close() {
      over.abort();
      messages.close();
    },
  };
}
