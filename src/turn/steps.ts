/** What the journal promises to workers: an effect happens once, whatever dies in between. */
import type { Statements } from '../db/postgres.ts';
import type { Sequence } from '../event/sequence.ts';
import type { DeliveryPage, DeliveryRange } from '../outbox/session-deliveries.ts';
import type { Intent, JournaledStep, NewDelivery, StepError, StepSettled, StepStart } from '../step/step.ts';
import type { Attempt } from './turns.ts';

/** A call that a model asked for; `call` is the model's own name for it. */
export interface ModelCall {
  readonly call: string;
  readonly tool: string;
  readonly args: unknown;
}

/** A model's answer as it is kept: what a resume needs to go on without asking again. */
export interface ModelAnswer {
  /** JSON text, at most 1 MiB. */
  readonly result: string;
  readonly calls: readonly ModelCall[];
}

export interface TransactionalResult {
  readonly result: unknown;
  readonly deliveries?: readonly NewDelivery[];
}

/** A step that nobody can tell of, for a person. */
export interface DoubtfulStep extends JournaledStep {
  readonly session: string;
  readonly turn: string;
}

/**
 * Every operation but the reads, `settle` and `resolve` belongs to the attempt that owns the turn, and is `fenced` otherwise. A step whose intent is
 * not the one in the journal is `step_conflict`; the journal keeps what it has. Whatever rejects changed nothing; all are safe to repeat.
 */
export interface Steps {
  /** The turn's journal, in order: what a worker reads before it asks a model anything. */
  journal(session: string, turn: string): Promise<readonly JournaledStep[]>;
  /**
   * Keeps a model's answer at the next free index, which must be `index`, and reserves one index behind it for each call. Appends `step.done`. The same
   * answer again is a repeat; another one is `step_conflict`. It is progress: the turn's tries begin anew.
   */
  model(attempt: Attempt, index: number, request: unknown, answer: ModelAnswer): Promise<StepSettled>;
  /**
   * Begins an outside call: the intent is committed before the call is made. By the class and by what the journal has, the answer says what to do
   * (`step/effect` has the table). A step in doubt ends the attempt: the turn is `in_doubt`, the session goes on with what waits.
   */
  start(attempt: Attempt, index: number, intent: Intent, keySeconds?: number): Promise<StepStart>;
  /**
   * Records what came of a call. A fact: taken late, too, from an attempt that lost its lease, while the row stands as started with the same intent, and from the one that made the call while it
   * stands in doubt; then without an event. Appends `step.done` or `step.failed` with the tool's result for screens. What the journal had before stays, and is
   * told by `state` without a `sequence`. A transactional tool that failed, and so was rolled back, is settled with its error.
   */
  settle(
    attempt: Attempt,
    index: number,
    intent: Intent,
    outcome: { readonly result: unknown; readonly deliveries?: readonly NewDelivery[] } | { readonly error: StepError },
  ): Promise<StepSettled>;
  /**
   * A transactional tool: `work` gets a transaction of this database, and its writes, the journal, the event and the deliveries are one commit. Run at most
   * once to the commit; who comes second gets the first's result. `work` must not touch other sessions' heads, nor wait for anything outside.
   */
  transactional(
    attempt: Attempt,
    index: number,
    intent: Intent,
    work: (tx: Statements, key: string) => Promise<TransactionalResult>,
  ): Promise<{ readonly result: string; readonly isFromJournal: boolean; readonly sequence: Sequence | undefined }>;

  /** What its effects have others told, the newest first. */
  deliveries(session: string, range: DeliveryRange): Promise<DeliveryPage>;

  // operators
  doubts(limit: number): Promise<readonly DoubtfulStep[]>;
  /**
   * A person says what happened: done, with the result and with what others are to be told of it, for the tool's own deliveries went with its
   * outcome; or not done, and then it may run. With `isResumed` the turn is made ready again. `step_unknown`, `step_settled`.
   */
  resolve(
    session: string,
    turn: string,
    index: number,
    verdict:
      | { readonly outcome: 'done'; readonly result: unknown; readonly deliveries?: readonly NewDelivery[] }
      | { readonly outcome: 'not_done' },
    by: string,
    isResumed: boolean,
  ): Promise<void>;
}
