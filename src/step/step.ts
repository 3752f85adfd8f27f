/** What a step is: its kinds, its classes of effect, its states, and what is known of one. */
import type { Sequence } from '../event/sequence.ts';

/** A model's answer; a tool's call; what came from outside while the turn was under way (a decision, a steering message). */
export const stepKinds = ['model', 'tool', 'input'] as const;
export type StepKind = (typeof stepKinds)[number];

/**
 * What a tool promises. `read`: no effect. `idempotent`: the same arguments lead to the same end state. `transactional`: in this
 * database, in our transaction. `keyed`: the provider deduplicates by our key, for a time. `lookup`: the provider can be asked for
 * our key. `once`: nothing; of an undeclared tool.
 */
export const effectClasses = ['read', 'idempotent', 'transactional', 'keyed', 'lookup', 'once'] as const;
export type EffectClass = (typeof effectClasses)[number];

export const stepStates = ['started', 'done', 'failed', 'in_doubt'] as const;
export type StepState = (typeof stepStates)[number];

/** A step of a turn, as the journal has it. JSON texts stay texts. */
export interface JournaledStep {
  readonly index: number;
  readonly kind: StepKind;
  readonly state: StepState;
  readonly tool: string | undefined;
  readonly effect: EffectClass | undefined;
  /** The indices `index + 1` … `index + reserved` are those of a model's calls. */
  readonly reserved: number;
  /** Hex. */
  readonly requestHash: string;
  /** Of a tool `{"v":1,"tool","args"}`; of a model what it was asked, unless that is large; of an input what the turn asked. */
  readonly request: string | undefined;
  /**
   * Of a tool its result; of a model `{"result":…,"calls":[{"call","tool","args"}]}`; of an input
   * `{"decision":{"approval","decision","by","comment","sequence"}}` or `{"steered":[sequence, …]}`.
   */
  readonly result: string | undefined;
  readonly error: StepError | undefined;
  /** The attempt that began it. */
  readonly fence: number;
  /** By the database's clock, at the read. */
  readonly isKeyExpired: boolean;
  readonly startedAt: string;
  readonly endedAt: string | undefined;
}

export interface StepError {
  readonly code: string;
  readonly message: string;
}

/** What a call is to do: the tool by name, and its arguments as they were validated. */
export interface Intent {
  readonly tool: string;
  readonly effect: EffectClass;
  readonly args: unknown;
}

/** A delivery that belongs to an effect. */
export interface NewDelivery {
  /** One NATS subject token: `[A-Za-z0-9_-]{1,64}` joined by dots, at most 128 characters. */
  readonly topic: string;
  readonly payload: unknown;
}

/** The key of a step's effect, the same at every attempt: `v1:<turn>:<index>`. */
export const stepKey = (turn: string, index: number): string => `v1:${turn}:${index}`;

/** What a worker that comes to a step is to do. */
export type StepStart =
  /** `isAgain`: an earlier attempt may have done it; the class says that it may be done again. */
  | { readonly kind: 'run'; readonly key: string; readonly isAgain: boolean }
  /** Ask the provider whether it happened, and then record it or run it. */
  | { readonly kind: 'find'; readonly key: string }
  /**
   * This very attempt has begun it: another call is at it, so ask again in a moment; or the answer to its own start was lost, and
   * whoever knows that nobody else of the attempt is at it may run it.
   */
  | { readonly kind: 'in_progress' }
  | { readonly kind: 'done'; readonly result: string }
  | { readonly kind: 'failed'; readonly error: StepError }
  /** Nobody can tell: a person resolves it, and the attempt ends here. */
  | { readonly kind: 'in_doubt' };

export interface StepSettled {
  readonly state: StepState;
  /** The event that says so; undefined when the journal had an outcome before, or the turn was not its attempt's own any more. */
  readonly sequence: Sequence | undefined;
}
