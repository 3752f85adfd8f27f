/** Why an attempt ends before its agent is done: the reason of its signal, and what every call on it throws from then on. */

const sentences = {
  /** A person asked; what was written stays. */
  stopped: 'the turn was stopped',
  /** A newer message asked for room; what was written stays. */
  interrupted: 'a newer message interrupts the turn',
  /** The turn's own, apart from the lease. */
  deadline: 'the turn has passed its deadline',
  /** The worker is going away; another one goes on. */
  draining: 'the worker is going away, and gave the turn back',
  /** Another attempt owns the turn, or nobody any more. */
  lost: 'the turn belongs to another attempt, or to none any more',
  /** The lease could not be renewed for so long that another attempt may begin. */
  lapsed: 'the lease could not be renewed, so that another attempt may begin',
  /** For a person's decision; a later attempt gets it. */
  waiting: 'the turn waits for a decision',
  /** The journal cannot tell whether a call happened; a person resolves it. */
  in_doubt: 'a step of the turn is in doubt, until a person resolves it',
  /** It is open what a call has done; another attempt settles it. */
  unsettled: 'it is open what a call has done, so that the attempt ends',
  /** `run` has returned, or thrown. */
  settled: 'the turn was settled when run ended',
} as const;

export type AbortWhy = keyof typeof sentences;

export class TurnAborted extends Error {
  override name = 'TurnAborted';
  readonly why: AbortWhy;

  constructor(why: AbortWhy, cause?: unknown) {
    super(sentences[why], cause === undefined ? undefined : { cause });
    this.why = why;
  }
}
