/** What a person does in a session beside reading it: says something, decides, stops the agent, resolves a doubt; each is safe to repeat. */
import type { Clock } from './clock.ts';
import { FollowError } from './follow-error.ts';
import type { Content, OnBusy, SentMessage } from './outgoing.ts';
import type { Requester } from './requester.ts';
import { untilServed } from './until-served.ts';
import { whenAborted } from './when-aborted.ts';

export interface Message {
  readonly key: string;
  readonly content: Content;
  readonly onBusy: OnBusy;
}

/** What the server says of a message that it has. */
export interface AcceptedMessage extends SentMessage {
  readonly state: AgentState;
}

type AgentState = 'idle' | 'ready' | 'running' | 'waiting';

export type Choice = 'approved' | 'denied';

/** The decision that stands. */
export interface Decided {
  /** Null: nobody decided, and the turn that asked is over. */
  readonly decision: Choice | null;
  readonly by: string | null;
  readonly sequence: number | null;
  /** It was made by this reader, now or before. */
  readonly isOurs: boolean;
}

/** What a stop did: a worker was told to end its turn; or it is over; or there was nothing to stop. */
export interface Stopped {
  readonly stopping: boolean;
  readonly stopped: boolean;
  readonly state: AgentState;
}

/** What became of a step in doubt: it happened, with this result; or it never did, and may be done. */
export type Verdict = { readonly outcome: 'done'; readonly result: unknown } | { readonly outcome: 'not_done' };

/** Each rejects with a `FollowError`. */
export interface SessionActions {
  /** One try; the same key makes further ones safe. */
  send(message: Message, signal: AbortSignal): Promise<AcceptedMessage>;
  /** The first decision stands, whoever made it. What may pass is tried again for half a minute. */
  decide(approval: string, decision: Choice, comment?: string, signal?: AbortSignal): Promise<Decided>;
  /** That turn alone, or whatever is under way. What may pass is tried again for half a minute. */
  stop(turn?: string, signal?: AbortSignal): Promise<Stopped>;
  /**
   * Says what became of a step in doubt; with `isResumed` its turn goes on, once none of its steps is in doubt. What may pass is
   * tried again for half a minute: `step_settled`, or `step_unknown` of what never happened, may then be one's own first try.
   */
  resolve(turn: string, step: number, verdict: Verdict, isResumed: boolean, signal?: AbortSignal): Promise<void>;
}

/** So long a person waits for what was pressed; what was said is kept for longer. */
const PATIENCE_MS = 30_000;

export function createSessionActions(session: string, { json }: Requester, clock: Clock): SessionActions {
  const path = `/sessions/${encodeURIComponent(session)}`;

  /** Rejects with the last refusal, or that there was no answer. */
  async function patiently<T>(ask: (signal: AbortSignal) => Promise<T>, outer: AbortSignal | undefined): Promise<T> {
    const controller = new AbortController();
    const give = (): void => controller.abort();
    const stopListening = whenAborted(outer, give);
    let last: unknown = new FollowError('unavailable', `no answer within ${PATIENCE_MS} ms: try it again`);
    let isLate = false;
    const timer = clock.after(PATIENCE_MS, () => {
      isLate = true;
      give();
    });
    const tried = async (): Promise<T> => {
      try {
        return await ask(controller.signal);
      } catch (error) {
        if (!controller.signal.aborted) last = error;
        throw error;
      }
    };
    try {
      return await untilServed(tried, clock, controller.signal);
    } catch (error) {
      throw isLate ? last : error;
    } finally {
      timer.cancel();
      stopListening();
    }
  }

  return {
    send: (message, signal) =>
      json<AcceptedMessage>(`${path}/messages`, signal, ({ sequence }) => Number.isSafeInteger(sequence), message),

    async decide(approval, decision, comment, outer) {
      const body = { approval, decision, ...(comment !== undefined && { comment }) };
      try {
        const { sequence } = await patiently(
          (signal) =>
            json<SentMessage>(`${path}/decisions`, signal, (answer) => Number.isSafeInteger(answer.sequence), body),
          outer,
        );
        return { decision, by: null, sequence, isOurs: true };
      } catch (error) {
        if (error instanceof FollowError && error.problem === 'approval_decided') return firstOf(error);
        throw error;
      }
    },

    stop: (turn, outer) =>
      patiently(
        (signal) =>
          json<Stopped>(
            `${path}/stop`,
            signal,
            ({ stopping, stopped }) => typeof stopping === 'boolean' && typeof stopped === 'boolean',
            turn === undefined ? {} : { turn },
          ),
        outer,
      ),

    async resolve(turn, step, verdict, resume, outer) {
      const ofStep = `${path}/turns/${encodeURIComponent(turn)}/steps/${step}/resolve`;
      await patiently((signal) => json<object>(ofStep, signal, () => true, { ...verdict, resume }), outer);
    },
  };
}

/** Somebody was first, or the turn is over: an answer, and no failure. */
function firstOf({ document }: FollowError): Decided {
  const { decision, by, sequence } = document ?? {};
  return {
    decision: decision === 'approved' || decision === 'denied' ? decision : null,
    by: typeof by === 'string' ? by : null,
    sequence: typeof sequence === 'number' ? sequence : null,
    isOurs: false,
  };
}
