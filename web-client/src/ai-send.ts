/** The sending half of a chat's transport: gives a session what the user said, and stops the turn that answers it. */
import type { UIMessage } from 'ai';
import { createReplyLog } from './chat-reply.ts';
import type { ReplyLog } from './chat-reply.ts';
import type { Clock } from './clock.ts';
import { FollowError } from './follow-error.ts';
import { followSession } from './follow-session.ts';
import type { FollowOptions } from './follow-session.ts';
import type { Message, SessionActions, Stopped } from './session-actions.ts';
import type { SessionServer } from './session-server.ts';
import { settle } from './settle.ts';
import type { Surroundings } from './surroundings.ts';
import { untilServed } from './until-served.ts';

/** What the SDK asks to be sent. */
export interface Submission {
  readonly trigger: 'submit-message' | 'regenerate-message';
  readonly messages: readonly UIMessage[];
}

/** Throws a `FollowError` when that is nothing that a session takes. */
export function messageToSend({ trigger, messages }: Submission, onBusy: Message['onBusy']): Message {
  const last = messages.at(-1);
  if (trigger === 'regenerate-message') {
    throw notSendable('a session is a record, in which no answer is replaced: say it again, or have the turn rerun');
  }
  if (last?.role !== 'user') {
    throw notSendable('the last message is not the user’s: an approval is answered with `decide`, and then resumed');
  }
  return { key: last.id, content: last.parts, onBusy };
}

const notSendable = (why: string): FollowError => new FollowError('failed', why);

/**
 * Tries until the server has it, always with the same key. An abort ends the tries; whether the last one came through is
 * told later.
 */
export async function submit(
  message: Message,
  actions: SessionActions,
  clock: Clock,
  signal: AbortSignal,
  whenLate: (sequence: number) => void,
): Promise<number> {
  const lasting = new AbortController();
  const tries = untilServed(
    () => (signal.aborted ? Promise.reject(aborted()) : actions.send(message, lasting.signal)),
    clock,
    signal,
  );
  const outcome = await settle(tries, signal);
  if (outcome.kind === 'value') return outcome.value.sequence;
  if (outcome.kind === 'thrown') throw outcome.cause;
  // Of one that has no answer nothing is known that could be stopped.
  tries.then(({ sequence }) => whenLate(sequence)).catch(() => undefined);
  throw aborted();
}

const aborted = (): FollowError => new FollowError('aborted', 'aborted before it was sent');

export interface ReplyPlace {
  readonly sequence: number;
  readonly log: ReplyLog;
  readonly server: SessionServer;
  readonly actions: SessionActions;
  readonly options: Omit<FollowOptions, 'after' | 'signal' | keyof Listeners>;
}
type Listeners = Pick<FollowOptions, 'onEvents' | 'onReset' | 'onStatus' | 'onFault'>;

/**
 * Stops the turn that answers the message, and no other: one that has not begun is waited for, and where none has, the
 * message is taken back. Undefined when it was over.
 */
export async function stopReply(place: ReplyPlace, world: Surroundings): Promise<Stopped | undefined> {
  const { sequence, log, server, actions, options } = place;
  if (log.turn !== undefined) return actions.stop(log.turn);
  const { signal } = new AbortController();
  const served = <T>(ask: () => Promise<T>): Promise<T> => untilServed(ask, world.clock, signal);
  const reply = createReplyLog(sequence);
  let last = sequence;
  for (let head = Infinity; last < head && reply.isBusy;) {
    const page = await served(() => server.history({ after: last, limit: 1_000 }));
    page.events.forEach((event) => reply.take(event));
    ({ head } = page);
    last = page.last ?? head;
  }
  if (reply.isBusy && reply.turn === undefined) {
    const { turn } = await served(() => server.describe());
    if (turn.state === 'ready' && turn.turn === null) return actions.stop();
    for await (const event of followSession({ ...options, after: last }, world)) {
      reply.take(event);
      if (reply.turn !== undefined || !reply.isBusy) break;
    }
  }
  return reply.isBusy && reply.turn !== undefined ? actions.stop(reply.turn) : undefined;
}
