/** What an agent's `run` gets: the turn that it answers, and everything that it may do about it. */
import type { AgentSteps } from './agent-steps.ts';

/** A message that the turn answers. */
export interface AgentInput {
  readonly sequence: number;
  /** `2026-11-30T04:00:00.000Z`. */
  readonly at: string;
  /** The sender's own. */
  readonly key: string;
  /** A text, or a list of parts as the AI SDK has them. */
  readonly content: string | readonly unknown[];
  /** Whose token sent it. */
  readonly by: string;
}

export interface AgentDecision {
  readonly decision: 'approved' | 'denied';
  readonly by: string;
  readonly comment: string | undefined;
  readonly sequence: number;
}

export interface HistoryEvent {
  readonly sequence: number;
  readonly type: string;
  readonly at: string;
  readonly turn?: string;
  readonly attempt?: number;
  readonly data: unknown;
}

/** An event of the transaction that ends the turn. */
export interface FinalEvent {
  readonly type: string;
  readonly data: unknown;
}

/** What a person sees of a question. */
export interface ApprovalRequest {
  readonly tool?: string;
  readonly args?: unknown;
  readonly reason?: string;
  /** The tool call that it is about. */
  readonly call?: string;
}

/**
 * Once the attempt is over, every call rejects with a {@link TurnAborted}, and nothing more is written. An agent need not
 * catch any of these errors: let them end `run`.
 */
export interface AgentTurn extends AgentSteps {
  readonly session: string;
  /** The same at every attempt. */
  readonly turn: string;
  /** The fence: which attempt of the session it is. */
  readonly attempt: number;
  /** From 1: which try at this turn. */
  readonly tryNumber: number;
  /** The messages that it answers, the same at every attempt; what was steered into it comes by `steering`. */
  readonly inputs: readonly AgentInput[];
  /**
   * The W3C's trace context of the first of these messages that came with one, the same at every attempt: hand it on, or make a span
   * under it, and what the agent asks of others is found in the sender's trace.
   */
  readonly traceparent: string | undefined;
  /** What was decided so far, by question: what stands before one of these was done by an earlier attempt. */
  readonly decisions: ReadonlyMap<string, AgentDecision>;
  /**
   * Aborts when the turn is stopped, interrupted or lost, its deadline passes, its lease lapses, or the worker goes away;
   * its reason is a {@link TurnAborted} that says which. Hand it to the model and to every tool. After `stopped` and
   * `interrupted` what was begun may still be appended.
   */
  readonly signal: AbortSignal;
  /**
   * Takes an event; its place in the order is fixed by this call. Deltas (`….delta`, `…-delta`) wait up to 33 ms for
   * others; every other type leaves at once. The promise is about room, not about storage: await it, and the model waits
   * while the database is slow. Throws, and takes nothing, if the event is not acceptable.
   */
  append(type: string, data: unknown, options?: { readonly isDelta?: boolean }): Promise<void>;
  /** Resolves when all that was appended is stored. */
  flush(): Promise<void>;
  /** A page of the session's events in ascending order: those after a sequence, or the last before one, or the last. */
  history(range?: HistoryRequest): Promise<readonly HistoryEvent[]>;
  /** Takes the messages into the turn that were sent to steer it, if any wait. */
  steering(): Promise<readonly AgentInput[]>;
  /**
   * A person's decision. If there is none yet, the question is asked and the attempt ends here, by a rejection; when it is
   * decided, `run` begins anew with the same inputs, and this call resolves. So what stands before it runs again: make it
   * cheap, or look into `decisions` and `history` what is done. `approval` must be unique in the session, and the same at every attempt.
   * Questions that are asked at the same time (`Promise.all`) are shown together, up to 16; one that is asked twice is one.
   */
  approve(approval: string, request: ApprovalRequest): Promise<AgentDecision>;
}

export interface HistoryRequest {
  readonly after?: number;
  readonly before?: number;
  /** 100 if left out, at most 1,000. */
  readonly limit?: number;
}
