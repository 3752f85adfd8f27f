/** One call of a tool, from the model's wish to what is certain of it: by the tool's class, and by what the journal has. */
import type { Clock } from '../base/clock.ts';
import { LedgerlineError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { stepKey } from '../step/step.ts';
import type { Intent, JournaledStep, NewDelivery, StepError, StepStart } from '../step/step.ts';
import type { ModelCall, Steps } from '../turn/steps.ts';
import type { Attempt } from '../turn/turns.ts';
import { AgentError } from './agent-error.ts';
import { ToolError, effectOf, isToolError } from './tool.ts';
import type { OutsideCall, OutsideTool, Tools, TransactionalTool } from './tool.ts';
import { faultsOf } from './tool-faults.ts';

/** What is certain of a call; or that only a person can tell. */
export type Carried =
  | { readonly kind: 'done'; readonly result: string }
  | { readonly kind: 'failed'; readonly error: StepError }
  | { readonly kind: 'in_doubt' };

export interface ToolCallOptions {
  readonly attempt: Attempt;
  readonly clock: Clock;
  readonly tools: Tools;
  readonly steps: Pick<Steps, 'journal' | 'start' | 'settle' | 'transactional'>;
  /** Asks the journal, again if need be, for as long as the attempt lives. */
  readonly ask: <T>(request: () => Promise<T>) => Promise<T>;
  /** Tells the journal what happened: it takes that from an attempt that is over, too. */
  readonly tell: <T>(request: () => Promise<T>) => Promise<T>;
  /** Throws if the attempt is over. */
  readonly guard: () => void;
  /** The turn's own. */
  readonly signal: AbortSignal;
  /** Aborts when the worker can wait no longer. */
  readonly cutting: AbortSignal;
}

/** Rejects when it is open what happened, and when the journal will not have the call: no agent can cope with that. */
export async function carryOut(options: ToolCallOptions, index: number, call: ModelCall): Promise<Carried> {
  const tool = Object.hasOwn(options.tools, call.tool) ? options.tools[call.tool] : undefined;
  if (tool === undefined) {
    return refused(options, index, call, { code: 'unknown_tool', message: `There is no tool named ${call.tool}.` });
  }
  const { success, data, error } = await tool.args.safeParseAsync(call.args);
  if (!success) return refused(options, index, call, { code: 'invalid_arguments', message: faultsOf(error.issues) });
  const intent: Intent = { tool: call.tool, effect: effectOf(tool), args: data };
  return tool.effect === 'transactional'
    ? inTransaction(options, index, intent, tool)
    : outside(options, index, intent, tool);
}

const failed = ({ code, message }: StepError) => ({ kind: 'failed', error: { code, message } }) as const;

/**
 * Before anything is written; but an attempt with an older release may have made the call. Then it came to what the journal has, and
 * while that is open, no model hears that it has failed: it would ask for it again.
 */
async function refused(
  options: ToolCallOptions,
  index: number,
  { tool }: ModelCall,
  error: StepError,
): Promise<Carried> {
  const found = await readRow(options, index);
  if (found === undefined) return failed(error);
  if (found.tool !== tool) {
    throw new LedgerlineError('step_conflict', `the journal has another call at the index ${index}`, {
      state: found.state,
    });
  }
  if (found.state === 'done') return { kind: 'done', result: found.result ?? 'null' };
  if (found.error !== undefined) return failed(found.error);
  throw new Error(`a call that was begun cannot be carried on: ${error.message}`);
}

async function readRow({ attempt, steps, ask }: ToolCallOptions, index: number): Promise<JournaledStep | undefined> {
  const journal = await ask(() => steps.journal(attempt.session, attempt.turn));
  return journal.find((step) => step.index === index);
}

/** One commit, or none: a tool that throws, or that takes too long, has done nothing. */
async function inTransaction(
  options: ToolCallOptions,
  index: number,
  intent: Intent,
  tool: TransactionalTool,
): Promise<Carried> {
  const { attempt, clock, steps, ask, tell } = options;
  let late: ToolError | undefined;
  /** Not `unavailable`, which is asked again: it would take as long again, until the turn is over. */
  const inTime = (running: Promise<unknown>): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const timer = clock.after(limits.toolMs, () => reject((late = tooSlow(intent.tool))));
      running.finally(() => timer.cancel()).then(resolve, reject);
    });
  try {
    const { result } = await ask(() => {
      // It was rolled back, though its own statement may have kept that from being heard.
      if (late !== undefined) throw late;
      return steps.transactional(attempt, index, intent, async (tx, key) => {
        const deliveries: NewDelivery[] = [];
        const deliver = (topic: string, payload: unknown): void => void deliveries.push({ topic, payload });
        return { result: await inTime(tool.run(intent.args, { tx, key, deliver })), deliveries };
      });
    });
    return { kind: 'done', result };
  } catch (thrown) {
    if (isSettled(thrown)) return failedBefore(options, index, thrown);
    if (!isToolError(thrown) && !isUnkeepable(thrown)) throw thrown;
    // The model hears of it, and may ask for something else instead: at a later attempt it must not succeed after all.
    const { kind, error } = failed(thrown);
    await tell(() => steps.settle(attempt, index, intent, { error }));
    return { kind, error };
  }
}

const tooSlow = (tool: string): ToolError =>
  new ToolError('too_slow', `${tool} took longer than ${limits.toolMs / 1_000} s, and was rolled back.`);

/** The journal has no result, for the call had failed: it has the error. */
async function failedBefore(options: ToolCallOptions, index: number, refusal: LedgerlineError): Promise<Carried> {
  const error = (await readRow(options, index))?.error;
  if (error === undefined) throw refusal;
  return failed(error);
}

const isSettled = (thrown: unknown): thrown is LedgerlineError =>
  thrown instanceof LedgerlineError && thrown.code === 'step_settled';

async function outside(options: ToolCallOptions, index: number, intent: Intent, tool: OutsideTool): Promise<Carried> {
  const { steps, attempt, ask, guard } = options;
  const keySeconds = tool.effect === 'keyed' ? tool.keySeconds : undefined;
  const start = await ask(() => steps.start(attempt, index, intent, keySeconds));
  if (start.kind === 'done' || start.kind === 'failed' || start.kind === 'in_doubt') return start;
  // The answer may have come late. To run it in a turn that is stopped is right: the next attempt could not tell that it was not.
  guard();
  return perform(options, index, intent, tool, start.kind);
}

async function perform(
  options: ToolCallOptions,
  index: number,
  intent: Intent,
  tool: OutsideTool,
  start: StepStart['kind'],
): Promise<Carried> {
  const { steps, attempt, tell } = options;
  const isHarmless = tool.effect === 'read' || tool.effect === 'idempotent';
  const call: OutsideCall = {
    key: stepKey(attempt.turn, index),
    signal: isHarmless ? options.signal : options.cutting,
  };
  let result: unknown;
  let text: string;
  try {
    // In one attempt a call has one caller, so what is in progress is our own start whose answer was lost: it said run, or find.
    const isSought = tool.effect === 'lookup' && start !== 'run';
    const found = isSought ? await sought(() => tool.find(intent.args, call)) : undefined;
    result = found === undefined ? await tool.run(intent.args, call) : found.result;
    text = textOf(result);
  } catch (thrown) {
    if (!isToolError(thrown)) throw isHarmless ? thrown : open(thrown);
    const { kind, error } = failed(thrown);
    await tell(() => steps.settle(attempt, index, intent, { error }));
    return { kind, error };
  }
  try {
    await tell(() => steps.settle(attempt, index, intent, { result }));
  } catch (thrown) {
    if (!isUnkeepable(thrown)) throw thrown;
    if (tool.effect !== 'read') throw unkept(intent.tool, thrown);
    const { kind, error } = failed(thrown);
    await tell(() => steps.settle(attempt, index, intent, { error }));
    return { kind, error };
  }
  return { kind: 'done', result: text };
}

/** The journal takes no such result, at this attempt or at any other. */
const isUnkeepable = (thrown: unknown): thrown is LedgerlineError =>
  thrown instanceof LedgerlineError && ['too_large', 'too_deep', 'malformed'].includes(thrown.code);

/** The call was made, and its result would be lost: the turn ends with it open, which is for a person to see. */
const unkept = (tool: string, refusal: LedgerlineError): AgentError =>
  new AgentError(refusal.code, `${tool} was called, and its result cannot be kept: ${refusal.message}`, {
    isRetryable: false,
    cause: refusal,
  });

/** Whatever it says of itself, it is worth another attempt, which settles the call by its class. */
const open = (thrown: unknown): Error => new Error('it is open what a tool has done', { cause: thrown });

/** Who could not ask cannot tell, however it says so: that is no failure of the call. */
async function sought<T>(find: () => Promise<T>): Promise<T> {
  try {
    return await find();
  } catch (thrown) {
    throw open(thrown);
  }
}

/** As the journal keeps it: what JSON has no word for is nothing. */
const textOf = (result: unknown): string => JSON.stringify(result) ?? 'null';
