/** What an agent does step by step: it asks its model, and runs what the model asks for, each once however often `run` begins anew. */
import type { StepError } from '../step/step.ts';
import type { ModelCall } from '../turn/steps.ts';

/** What a model said, for the journal: as JSON. */
export interface ModelSaid<Result> {
  readonly result: Result;
  /** What it asks for, each by an id of its own within the answer. */
  readonly calls?: readonly ModelCall[];
}

/** A model's answer as the journal has it, at this attempt and at every later one. */
export interface ModelStep<Result = unknown> {
  readonly index: number;
  readonly result: Result;
  readonly calls: readonly ModelCall[];
  /** An earlier attempt asked for it. */
  readonly isFromJournal: boolean;
}

/** What came of a call, for the model to read: for certain, and the same at every attempt. */
export type CallOutcome =
  | { readonly call: ModelCall; readonly state: 'done'; readonly result: unknown }
  | { readonly call: ModelCall; readonly state: 'failed'; readonly error: StepError };

/**
 * `run` begins anew at every attempt. What it does by these is in the journal, so that a later attempt goes on where an earlier one
 * ended: it gets the same answers and the same results, and no effect happens twice.
 */
export interface AgentSteps {
  /**
   * A model's answer. The first call of an attempt gets the turn's first answer, the second its second, whatever the request
   * says now; only when the journal has no more, `ask` is run, and its answer is kept before anything that it asks for is done.
   * One at a time: await it before the next.
   */
  model<Result>(request: unknown, ask: () => Promise<ModelSaid<Result>>): Promise<ModelStep<Result>>;
  /**
   * Runs one of the answer's calls with the tool of its name, as far as the tool's class and the journal demand it. What the
   * model got wrong (no such tool, arguments that do not fit) and a {@link ToolError} are outcomes; when it is open what happened,
   * the attempt ends here, and `run` with it: no model is told of a failure that may be none.
   */
  call(answer: ModelStep, call: ModelCall): Promise<CallOutcome>;
  /** All of an answer's calls side by side, in the order of the answer. */
  calls(answer: ModelStep): Promise<readonly CallOutcome[]>;
}
