/** What the work half promises to the floors above: no message unanswered, none answered twice. */
import type { Cursor, Sequence } from '../event/sequence.ts';
import type { NewEvent } from '../event/event.ts';
import type { Traceparent } from '../event/trace.ts';
import type { SessionFilter } from '../ledger/session-filter.ts';
import type { TurnNow, TurnState } from '../event/turn-state.ts';
import type { EffectClass } from '../step/step.ts';

/** What becomes of a turn. `open` and `waiting` are not over. */
export const turnStatuses = ['open', 'waiting', 'done', 'failed', 'cancelled', 'in_doubt'] as const;
export type TurnStatus = (typeof turnStatuses)[number];

/** What a message does when the agent is at work. */
export const onBusyModes = ['enqueue', 'reject', 'interrupt', 'steer'] as const;
export type OnBusy = (typeof onBusyModes)[number];

/** A lost attempt is followed by another, or is the end of its turn. */
export const policies = ['retry', 'once'] as const;
export type Policy = (typeof policies)[number];

/** An attempt at a turn: whatever a worker writes names it, and is refused (`fenced`) once it is not the newest. */
export interface Attempt {
  readonly session: string;
  readonly turn: string;
  /** The fence. It grows with every attempt of the session, so it is no count of tries. */
  readonly attempt: number;
}

export interface Message {
  readonly session: string;
  /** The sender's own, so that a message which is sent again is stored once. */
  readonly key: string;
  /** A text, or a list of parts as the AI SDK has them; as JSON it fits one event. */
  readonly content: string | readonly unknown[];
  readonly onBusy: OnBusy;
  /** Whose token sent it. */
  readonly by: string;
  /** Which trace it belongs to, and so the turn that answers it. */
  readonly traceparent?: Traceparent | undefined;
}

export interface AcceptedMessage {
  readonly sequence: Sequence;
  /** It was there already, by the same key with the same content. */
  readonly isRepeat: boolean;
  readonly state: TurnState;
}

/** What a worker asks for. */
export interface ClaimRequest {
  /** For people to read. */
  readonly worker: string;
  /** At most so many turns. */
  readonly limit: number;
  /** How long to wait for one when there is none; 0 answers at once. */
  readonly waitMs: number;
  /** Of turns that begin with this claim. */
  readonly policy: Policy;
  readonly maxAttempts: number;
  /** From its first claim, a turn may take so long. */
  readonly turnMs: number;
}

/** An event whose data is a JSON text. */
export interface Input {
  readonly sequence: Sequence;
  readonly at: string;
  readonly data: string;
  readonly traceparent?: Traceparent;
}

export interface Decision {
  readonly approval: string;
  readonly decision: 'approved' | 'denied';
  readonly by: string;
  readonly comment: string | undefined;
  readonly sequence: Sequence;
}

export interface ClaimedTurn extends Attempt {
  /** From 1: which try at this turn without progress it is. */
  readonly tryNumber: number;
  readonly maxAttempts: number;
  /** In milliseconds from now; each append and renewal begins it anew. */
  readonly leaseMs: number;
  readonly deadline: string;
  /** The same by the database's clock, in milliseconds from the claim. */
  readonly remainingMs: number;
  /** The head at the claim: the sequence of this attempt's `turn.started`. */
  readonly head: Cursor;
  /** The messages it answers, in order; the same at every attempt. */
  readonly inputs: readonly Input[];
  /** What it asked before, as far as it was decided. */
  readonly decisions: readonly Decision[];
  /** Of the first of its messages that came with one: the same at every attempt. */
  readonly traceparent?: Traceparent | undefined;
}

/** A lease that goes on. Whoever is missing from the answer has lost its turn. */
export interface Renewed extends Attempt {
  readonly stop: 'stop' | 'interrupt' | undefined;
  /** Messages wait that may join this turn: `steer` takes them. */
  readonly hasSteering: boolean;
  /** False: somebody held the session's head, so the turn is its own still, and its lease no longer than before: ask again soon. */
  readonly isExtended: boolean;
}

export interface Question {
  /** Unique in the session; asked again by a later attempt it is the same question. */
  readonly approval: string;
  /** Further members of the event `approval.required`: `tool`, `args`, `reason`, `call`. */
  readonly data: Readonly<Record<string, unknown>>;
}

export interface TurnError {
  readonly code: string;
  readonly message: string;
}

/** How an attempt was settled: the session's state behind it, and the event that says so. */
export interface Settled {
  readonly state: TurnState;
  readonly status: TurnStatus;
  readonly sequence: Sequence | undefined;
}

/** A step that a person must resolve. */
export interface Doubt {
  readonly step: number;
  readonly tool: string;
  readonly effect: EffectClass;
}

export interface TurnSummary {
  readonly session: string;
  /** Undefined: it is queued and no worker has begun it. */
  readonly turn: string | undefined;
  readonly attempt: number | undefined;
  readonly status: TurnStatus | 'queued';
  readonly state: TurnState;
  readonly worker: string | undefined;
  readonly tries: number;
  readonly maxAttempts: number | undefined;
  /** Since when it is as it is: `2026-11-30T04:00:00.000Z`. */
  readonly since: string;
  readonly error: TurnError | undefined;
  /** Of a turn in doubt, in order; none when all are resolved, and it may be retried. */
  readonly doubts: readonly Doubt[];
}

export interface TurnFigures {
  readonly ready: number;
  /** Seconds; 0 when nothing is ready. */
  readonly oldestReadySeconds: number;
  readonly running: number;
  readonly waiting: number;
  readonly inDoubt: number;
  readonly failed: number;
}

/**
 * Refusals are `LedgerlineError`s: `session_unknown`, `session_closed`, `session_deleted`, `session_busy`, `unavailable`
 * anywhere; further ones are named beside each. Whatever rejects changed nothing, but that an `unavailable` around a
 * commit may have: repeat it, all of these are safe to repeat.
 */
export interface Turns {
  /** Stores a message and its turn request in one transaction. `request_conflict`, `turn_busy` (onBusy `reject`). */
  request(message: Message): Promise<AcceptedMessage>;
  /** Never more than asked for; empty when nothing came in time, or `signal` aborted. */
  claim(request: ClaimRequest, signal?: AbortSignal): Promise<readonly ClaimedTurn[]>;
  renew(attempts: readonly Attempt[]): Promise<readonly Renewed[]>;
  /**
   * Takes the steering messages into the running turn. `after`: the last input that its worker has, so that a repeat brings
   * once more what the answer before it lost. `fenced`.
   */
  steer(attempt: Attempt, after?: Sequence): Promise<readonly Input[]>;
  /**
   * Ends the turn: appends `events`, then `turn.completed` (or `turn.cancelled`, only after a stop was asked; else
   * `turn_over`). `fenced`.
   */
  finish(attempt: Attempt, outcome: 'completed' | 'cancelled', events: readonly NewEvent[]): Promise<Settled>;
  /** Ends the attempt, and the turn unless it may be retried. `fenced`. */
  fail(attempt: Attempt, error: TurnError, isRetryable: boolean): Promise<Settled>;
  /** Ends the attempt until every question is decided. `fenced`, `approval_conflict`. */
  wait(attempt: Attempt, questions: readonly Question[]): Promise<Settled>;
  /** Gives the turn back untried, for another worker. `fenced`. */
  release(attempt: Attempt): Promise<Settled>;
  /** `approval_unknown`; `approval_decided` unless it is the same decision by the same person, which is a repeat. */
  decide(
    session: string,
    decision: Omit<Decision, 'sequence'>,
  ): Promise<{ readonly sequence: Sequence; readonly isRepeat: boolean; readonly state: TurnState }>;
  /** `turn`: only if that one is under way. `isStopping`: a worker was told; `isStopped`: it is over. */
  stop(
    session: string,
    by: string,
    turn?: string,
  ): Promise<{ readonly isStopping: boolean; readonly isStopped: boolean; readonly state: TurnState }>;

  // operators
  /** The first `limit` by `since`: what needs a person, or everything that is under way. */
  list(which: 'attention' | 'active', limit: number, sessions: SessionFilter): Promise<readonly TurnSummary[]>;
  /**
   * A turn that failed, or was in doubt and is so no more, once more, with the same inputs and its journal. `turn_unknown`,
   * `turn_over` (it did not fail, or is still in doubt), `turn_busy`.
   */
  retry(session: string, turn: string, by: string): Promise<TurnNow>;
  /**
   * A new turn with the inputs of one that is over. `turn_unknown`, `turn_over` (it is not over; or it has had effects, and it is
   * not forced), `turn_busy`.
   */
  rerun(session: string, turn: string, by: string, isForced?: boolean): Promise<TurnNow>;
  /** A person took note of a failure: it is listed no more. `turn_unknown`, `turn_over`. */
  acknowledge(session: string, turn: string): Promise<void>;
  figures(): Promise<TurnFigures>;
}
